"""Tables of Delta and Iceberg, of which a fit reads one version without the rows erased in it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from privclust.domains.origin import Origin, printable
from privclust.errors import ColumnTypeError, SnapshotError, UnreadableFileError
from privclust.sources.cells import kind_of
from privclust.sources.files import BATCH_ROWS
from privclust.sources.snapshot import Snapshot


class LakeSnapshot(Snapshot):
    """One version of a table, whose files stay as they are until somebody removes them.

    Attributes
    ----------
    types : pyarrow.Schema
        The types of its columns, which the table declares.
    """

    types: Any
    _is_lost = False

    def stream(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read some columns of this version once more."""
        if self._is_lost:
            raise SnapshotError("lost")
        try:
            yield from self._batches(columns)
        except Exception:
            # Found by names of files alone, unlike what the error would say.
            if not self._has_all_files():
                raise SnapshotError("gone") from None
            raise

    def close(self) -> None:
        """Nothing is held: versions are kept by whoever keeps the table."""

    @abstractmethod
    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read some columns of this version."""

    @abstractmethod
    def _has_all_files(self) -> bool:
        """Tell whether all files of this version are there."""


class DeltaSnapshot(LakeSnapshot):
    """The version of a ``deltalake.DeltaTable`` that was loaded when the fit began.

    Parameters
    ----------
    table : DeltaTable
        The table; that others load or write another version later changes nothing.
    """

    def __init__(self, table: Any) -> None:
        self._place = table.table_uri
        self._options = getattr(table, "_storage_options", None)
        self._pin(table)

    def _pin(self, table: Any) -> None:
        import pyarrow.dataset as ds

        read = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")  # Spark writes such times
        cause = ""
        try:
            dataset = table.to_pyarrow_dataset(parquet_read_options=read)
            _check_files(dataset)
        except ColumnTypeError:
            raise
        except Exception as error:
            # Its text may hold a cell: the log keeps the smallest and largest of each column.
            cause = "gone" if isinstance(error, FileNotFoundError) else type(error).__name__
        if cause == "gone":
            raise SnapshotError("gone")
        if cause:
            raise UnreadableFileError(
                "this Delta table cannot be read as a dataset by deltalake, as when it has "
                "deletion vectors or dates that Python does not know. Why is withheld, because "
                "its log holds values. Give a DataFrame of Spark, which leaves out erased rows."
            )
        self._dataset, self._id = dataset, str(table.metadata().id)
        self._name = printable(table.metadata().name or unquote(PurePosixPath(self._place).name))
        self._version = int(table.version())
        self.types = dataset.schema

    @property
    def origin(self) -> Origin:
        """Which rows these are, for a statement."""
        return Origin("Delta", self._name, "one version")

    @property
    def identity(self) -> str:
        """The table, by an id that was drawn at random, and the version of it."""
        return f"{self._id} version {self._version}"

    def identities(self) -> Iterator[str]:
        """Yield the identities of all versions, this one first."""
        yield self.identity
        for version in range(self._newest(), -1, -1):
            yield f"{self._id} version {version}"

    def _newest(self) -> int:
        from deltalake import DeltaTable

        return int(DeltaTable(self._place, storage_options=self._options).version())

    def restore(self, identity: str | None) -> None:
        """Read the version that an earlier run began to read."""
        table, _, version = (identity or "").partition(" version ")
        if identity == self.identity:
            return
        self._is_lost = table != self._id or not version.isdecimal()
        if not self._is_lost:
            types = self.types
            self._load(int(version))
            self._is_lost = identity != self.identity or types != self.types

    def _load(self, version: int) -> None:
        from deltalake import DeltaTable

        with suppress(Exception):  # its log may be gone
            self._pin(DeltaTable(self._place, version=version, storage_options=self._options))

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        scanner = self._dataset.scanner(
            columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=4, fragment_readahead=2
        )
        yield from scanner.to_batches()

    def _has_all_files(self) -> bool:
        from pyarrow.fs import FileType

        found = self._dataset.filesystem.get_file_info(self._dataset.files)
        return all(info.type == FileType.File for info in found)


class IcebergSnapshot(LakeSnapshot):
    """The snapshot of a ``pyiceberg.table.Table`` that was current when the fit began.

    Parameters
    ----------
    table : Table
        The table; that others write more or refresh it changes nothing.
    """

    def __init__(self, table: Any) -> None:
        current = table.current_snapshot()
        if current is None:
            raise UnreadableFileError(
                "this Iceberg table has no snapshot yet: nothing was ever written to it. Write "
                "rows first."
            )
        self._table = table
        self._pin(current.snapshot_id)

    def _pin(self, snapshot_id: int) -> None:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        self._snapshot_id = snapshot_id
        self.types = schema_to_pyarrow(
            self._table.scan(snapshot_id=snapshot_id).projection(), include_field_ids=False
        )

    @property
    def origin(self) -> Origin:
        """Which rows these are, for a statement."""
        return Origin("Iceberg", printable(".".join(self._table.name())), "one snapshot")

    @property
    def identity(self) -> str:
        """The table, by an id that was drawn at random, and the snapshot of it."""
        return f"{self._table.metadata.table_uuid} snapshot {self._snapshot_id}"

    def identities(self) -> Iterator[str]:
        """Yield the identities of all snapshots that the table still has, this one first."""
        yield self.identity
        for snapshot in self._table.snapshots():
            yield f"{self._table.metadata.table_uuid} snapshot {snapshot.snapshot_id}"

    def restore(self, identity: str | None) -> None:
        """Read the snapshot that an earlier run began to read, if the table still has it."""
        table, _, number = (identity or "").partition(" snapshot ")
        if identity == self.identity:
            return
        known = str(self._table.metadata.table_uuid) == table and number.isdecimal()
        self._is_lost = not known or self._table.snapshot_by_id(int(number)) is None
        if not self._is_lost:
            types = self.types
            self._pin(int(number))
            self._is_lost = identity != self.identity or types != self.types

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

        types = pa.schema([self.types.field(name) for name in columns])
        reader = self._scan(columns).to_arrow_batch_reader()
        for batch in reader:
            yield batch.select(types.names).cast(types)

    def _scan(self, columns: Sequence[str]) -> Any:
        return self._table.scan(snapshot_id=self._snapshot_id, selected_fields=tuple(columns))

    def _has_all_files(self) -> bool:
        try:
            tasks = list(self._table.scan(snapshot_id=self._snapshot_id).plan_files())
        except Exception:  # its list of files is gone itself
            return False
        paths = {
            file.file_path for task in tasks for file in (task.file, *(task.delete_files or ()))
        }
        return all(self._table.io.new_input(path).exists() for path in paths)


def _check_files(dataset: Any) -> None:
    """Refuse files of other types than their table declares: a cast could fail on a value."""
    for path in dataset.files:
        for field in dataset.format.make_fragment(path, dataset.filesystem).physical_schema:
            place = dataset.schema.get_field_index(field.name)
            declared = field.type if place < 0 else dataset.schema.field(place).type
            if declared != field.type and {kind_of(declared), kind_of(field.type)} != {"text"}:
                raise ColumnTypeError(
                    f"column {field.name!r} of the table is {declared}, but {field.type} in one of "
                    "its files. Write the table anew, or give a DataFrame of Spark."
                )
