"""Tables of Delta and Iceberg, of which a fit reads one version without the rows erased in it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from privclust.domains.origin import Origin, printable
from privclust.errors import ColumnTypeError, SnapshotError, UnreadableFileError
from privclust.sources.cells import intact, kind_of
from privclust.sources.files import BATCH_ROWS
from privclust.sources.snapshot import Snapshot
from privclust.sources.stores import StoredFile
from privclust.sources.versions import Pinned, Place, unchanged, version_of

_FIELD_ID = b"PARQUET:field_id"


class LakeSnapshot(Snapshot):
    """One version of a table, whose files stay as they are until somebody removes them.

    Attributes
    ----------
    types : pyarrow.Schema
        The types of its columns, which the table declares.
    """

    types: Any
    _is_lost = False
    _pinned: Sequence[Pinned] = ()
    """Its files: a table never writes to them again, but others may."""

    def stream(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read some columns of this version once more."""
        if self._is_lost:
            raise SnapshotError("lost")
        try:
            for batch in unchanged(self._pinned, self._batches(columns)):
                for column in batch.columns:
                    intact(column)
                yield batch
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
        import pyarrow as pa
        import pyarrow.dataset as ds

        read = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")  # Spark writes such times
        _check_plain_names(table.metadata().configuration)
        cause = ""
        try:
            types = pa.schema(table.schema().to_arrow())
            parts = set(table.metadata().partition_columns)
            # The log holds the smallest and largest of other columns; what it says of them may be
            # wrong, or nothing that Python knows.
            keys = pa.schema([field for field in types if field.name in parts])
            dataset = table.to_pyarrow_dataset(parquet_read_options=read, schema=keys)
            dataset = dataset.replace_schema(types)
            for path in dataset.files:
                file = dataset.format.make_fragment(path, dataset.filesystem)
                _check_types(_typed_pairs(file.physical_schema, types))
            self._pinned = _pin_delta(dataset, table.table_uri)
        except ColumnTypeError:
            raise
        except Exception as error:
            # Its text may hold a value of a key.
            cause = "gone" if isinstance(error, FileNotFoundError) else type(error).__name__
        if cause == "gone":
            raise SnapshotError("gone")
        if cause:
            raise UnreadableFileError(
                "this Delta table cannot be read as a dataset by deltalake, as when it has "
                "deletion vectors, or dates in names of folders that Python does not know. Why "
                "is withheld, because its log holds values. Give a DataFrame of Spark, which "
                "leaves out erased rows."
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
    def identity(self) -> str | None:
        """The table, by an id that was drawn at random, and the version of it."""
        return f"{self._id} version {self._version}" if _is_random(self._id) else None

    def identities(self) -> Iterator[str]:
        """Yield the identities of all versions, this one first."""
        if self.identity is not None:
            yield self.identity
            for version in range(self._newest(), -1, -1):
                yield f"{self._id} version {version}"

    def _newest(self) -> int:
        from deltalake import DeltaTable

        return int(DeltaTable(self._place, storage_options=self._options).version())

    def restore(self, identity: str | None) -> None:
        """Read the version that an earlier run began to read."""
        table, _, version = (identity or "").partition(" version ")
        if identity is not None and identity == self.identity:
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

        scan = self._table.scan(snapshot_id=snapshot_id)
        schema = scan.projection()
        types = schema_to_pyarrow(schema, include_field_ids=False)
        cause = ""
        try:
            data = {task.file.file_path for task in scan.plan_files()}
            for file in map(self._table.io.new_input, data):
                _check_types(_iceberg_pairs(file, schema, types))
            read = _files_of(scan) | _lists_of(self._table, snapshot_id)
            places = [_place_of(self._table.io.new_input(path)) for path in read]
            pinned = [Pinned(place, version_of(place)) for place in places if place is not None]
        except ColumnTypeError:
            raise
        except Exception as error:
            cause = "gone" if isinstance(error, FileNotFoundError) else "other"
        if cause == "gone":
            raise SnapshotError("gone")
        if cause:
            raise UnreadableFileError(
                "files of this Iceberg table cannot be read as Parquet. Why is withheld, because "
                "it may depend on rows. Write the table anew as Parquet."
            )
        self._snapshot_id, self.types, self._pinned = snapshot_id, types, pinned

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
            with suppress(Exception):  # its files may be gone
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
            paths = _files_of(self._table.scan(snapshot_id=self._snapshot_id))
        except Exception:  # its list of files is gone itself
            return False
        return all(self._table.io.new_input(path).exists() for path in paths)


def _is_random(table_id: str) -> bool:
    """Tell whether a table's id was drawn at random: another one can be guessed.

    Examples
    --------
    >>> _is_random("9f0e7c52-5f0c-4d7b-8a57-1f1f6f3f9a10"), _is_random("visits")
    (True, False)
    """
    with suppress(ValueError):
        return UUID(table_id).version == 4
    return False


def _check_plain_names(configuration: Mapping[str, str | None]) -> None:
    """Refuse a Delta table whose columns are called otherwise in its files: all would be missing.

    Examples
    --------
    >>> _check_plain_names({"delta.columnMapping.mode": "none"})
    """
    if (configuration.get("delta.columnMapping.mode") or "none").lower() != "none":
        raise UnreadableFileError(
            "this Delta table maps its columns to other names in its files "
            "(delta.columnMapping.mode), which deltalake does not read as a dataset. Give a "
            "DataFrame of Spark, or write the table anew without."
        )


def _pin_delta(dataset: Any, root: str) -> list[Pinned]:
    """Return the files of a Delta table as they are now; local ones by what the disk says."""
    is_local = "://" not in root or root.startswith("file://")
    folder = Path(unquote(root.removeprefix("file://")))
    places: list[Place] = [
        folder / path if is_local else StoredFile(dataset.filesystem, path)
        for path in dataset.files
    ]
    return [Pinned(place, version_of(place)) for place in places]


def _files_of(scan: Any) -> set[str]:
    """Return the paths of all files that an Iceberg scan reads, those of erased rows too."""
    return {
        file.file_path
        for task in scan.plan_files()
        for file in (task.file, *(task.delete_files or ()))
    }


def _lists_of(table: Any, snapshot_id: int) -> set[str]:
    """Return the paths of what says which files a snapshot has: each pass reads it anew."""
    snapshot = table.snapshot_by_id(snapshot_id)
    manifests = snapshot.manifests(table.io)
    return {snapshot.manifest_list, *(one.manifest_path for one in manifests)}


def _place_of(file: Any) -> Place | None:
    """Return where a file of pyiceberg is, or None if it is not pyarrow that reads it."""
    from pyarrow.fs import LocalFileSystem
    from pyiceberg.io.pyarrow import PyArrowFile

    if not isinstance(file, PyArrowFile):
        return None
    if isinstance(file._filesystem, LocalFileSystem):
        return Path(file._path)
    return StoredFile(file._filesystem, file._path)


def _typed_pairs(found: Any, declared: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield names of columns, and their types in a file and in its table."""
    for field in found:
        if field.name in declared.names:
            yield field.name, field.type, declared.field(field.name).type


def _iceberg_pairs(file: Any, schema: Any, types: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the same of a file of Iceberg, whose columns have numbers and may have other names."""
    import pyarrow.parquet as pq

    with file.open() as opened:
        found = pq.read_schema(opened)
    for field in found:
        number = (field.metadata or {}).get(_FIELD_ID)
        name = field.name if number is None else schema.find_column_name(int(number))
        if name in types.names:
            yield name, field.type, types.field(name).type


def _check_types(columns: Iterable[tuple[str, Any, Any]]) -> None:
    """Refuse a file of other types than its table declares: a cast could fail on a value."""
    for name, found, declared in columns:
        if not _is_harmless(found, declared):
            raise ColumnTypeError(
                f"column {name!r} of the table is {declared}, but {found} in one of its files. "
                "Write the table anew, or give a DataFrame of Spark."
            )


def _is_harmless(found: Any, declared: Any) -> bool:
    """Tell whether each cell of one type is the same in another, whatever it is, or never read.

    Examples
    --------
    >>> import pyarrow as pa
    >>> _is_harmless(pa.int32(), pa.int64()), _is_harmless(pa.uint64(), pa.int64())
    (True, False)
    >>> _is_harmless(pa.string(), pa.large_string()), _is_harmless(pa.binary(), pa.string())
    (True, False)
    """
    import pyarrow.types as types

    if found == declared or kind_of(declared) == "other":
        return True
    if {kind_of(found), kind_of(declared)} == {"text"}:
        return not _is_text(declared) or _is_text(found)
    for is_it in (types.is_signed_integer, types.is_floating):
        if is_it(found) and is_it(declared):
            return bool(found.bit_width < declared.bit_width)
    return False


def _is_text(declared: Any) -> bool:
    import pyarrow.types as types

    return bool(
        types.is_string(declared)
        or types.is_large_string(declared)
        or types.is_string_view(declared)
    )
