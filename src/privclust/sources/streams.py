"""Tables that are read again and again as Arrow batches, because they do not fit in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from privclust.sources.cells import intact
from privclust.sources.dialects import Files
from privclust.sources.files import BATCH_ROWS, empty_files, is_path, list_files, read_files
from privclust.sources.frames import arrow_schema, polars_schema
from privclust.sources.guard import guarded
from privclust.sources.hugging_face import is_dataset, read_dataset, types_of
from privclust.sources.lake_paths import names_lake, open_lake
from privclust.sources.lakehouse import DeltaSnapshot, IcebergSnapshot, LakeSnapshot
from privclust.sources.refused_tables import refuse_unrepeatable
from privclust.sources.schema import Schema
from privclust.sources.snapshot import Snapshot
from privclust.sources.sql.table import SqlTable
from privclust.sources.versions import Pinned, pin_files, unchanged

_GUESSED = re.compile(r"(csv|json) scan|read_(csv|json|ndjson)|scan (csv|json|xml)", re.IGNORECASE)
_TYPES_GUESSED = (
    "X reads CSV, JSON or XML, whose types are guessed from values, so that one row could change "
    "them for all. Give the paths of CSV files instead, or convert them to Parquet."
)
_DECLARED = ("ParquetFileFormat", "IpcFileFormat", "OrcFileFormat")
"""Formats of files that say what types their columns have."""


@dataclass(frozen=True, eq=False)
class Source:
    """A table that is read as a stream.

    Attributes
    ----------
    schema : Schema
        Its columns, which are public.
    stream : callable
        Reads it once more: from names of columns to Arrow batches of any size that have them.
    empty : callable
        From names of columns to batches of no rows, one of each set of types that rows have.
    snapshot : Snapshot or None
        What holds the state of the table that all passes read, where something does.
    """

    schema: Schema
    stream: Callable[[Sequence[str]], Iterator[Any]]
    empty: Callable[[Sequence[str]], Iterable[Any]] = lambda columns: ()
    snapshot: Snapshot | None = None

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read some columns of all rows once more, a limited number of rows at a time."""
        for arrived in self.stream(columns):
            for begin in range(0, arrived.num_rows, BATCH_ROWS):
                yield arrived.slice(begin, BATCH_ROWS)


def source_of(table: Any) -> Source | None:
    """Return how to read `table` again and again, or None if it is in memory.

    Examples
    --------
    >>> import pyarrow as pa
    >>> source = source_of(lambda: pa.table({"age": [40, 50]}))
    >>> source.schema.names, sum(batch.num_rows for batch in source.batches(["age"]))
    (('age',), 2)
    """
    refuse_unrepeatable(table)
    if names_lake(table):
        table = open_lake(table)
    library = type(table).__module__.split(".")[0]
    if isinstance(table, Source):
        return table
    if isinstance(table, SqlTable):
        session = table.open()
        return Source(session.schema, session.stream, partial(_empty, session.types), session)
    if is_path(table) or isinstance(table, Files):
        schema, files = list_files(table)
        return Source(schema, partial(read_files, files), partial(empty_files, files))
    if library == "deltalake" and hasattr(table, "to_pyarrow_dataset"):
        return _of_version(DeltaSnapshot(table))
    if library == "pyiceberg" and hasattr(table, "current_snapshot"):
        return _of_version(IcebergSnapshot(table))
    if is_dataset(table):
        types = types_of(table)
        return Source(arrow_schema(types), partial(read_dataset, table), partial(_empty, types))
    if library == "pyarrow" and hasattr(table, "scanner"):
        pinned = pin_files(table)
        read = partial(_scanned, table, pinned)
        return Source(_dataset_schema(table), read, partial(_empty, table.schema))
    if library == "polars" and hasattr(table, "collect_schema") and hasattr(table, "collect"):
        check_plan(table.explain(optimized=False))
        types = _lazy_types(table)
        return Source(polars_schema(types), partial(_collected, table), partial(_no_rows, types))
    if library in ("duckdb", "_duckdb") and hasattr(table, "to_arrow_reader"):
        check_plan(table.explain())
        types = _relation_types(table)
        return Source(arrow_schema(types), partial(_queried, table), partial(_empty, types))
    if callable(table) and not hasattr(table, "__array__"):
        types = _first_types(table)
        return Source(arrow_schema(types), partial(_streamed, table), partial(_empty, types))
    return None


def _of_version(version: LakeSnapshot) -> Source:
    types = version.types
    return Source(arrow_schema(types), version.stream, partial(_empty, types), version)


def check_plan(plan: str) -> None:
    """Refuse a query that reads files whose types are guessed."""
    if _GUESSED.search(plan):
        raise TypeError(_TYPES_GUESSED)


@guarded
def _lazy_types(frame: Any) -> Any:
    return frame.collect_schema()


@guarded
def _relation_types(relation: Any) -> Any:
    # Without rows: only what types they would have.
    return relation.limit(0).to_arrow_table().schema


def _empty(types: Any, columns: Sequence[str]) -> list[Any]:
    """Return a batch of no rows that has columns of an Arrow schema."""
    import pyarrow as pa

    chosen = [types.field(name) for name in columns]
    arrays = [pa.array([], field.type) for field in chosen]
    return [pa.record_batch(arrays, schema=pa.schema(chosen))]


def _no_rows(types: Any, columns: Sequence[str]) -> list[Any]:
    """Return a batch of no rows that has columns of a schema of Polars."""
    import polars as pl

    chosen = pl.DataFrame(schema={name: types[name] for name in columns})
    return _empty(chosen.to_arrow().schema, columns)


def _dataset_schema(dataset: Any) -> Schema:
    """Return the columns that all files declare; keys of folders have guessed types."""
    kept = arrow_schema(dataset.schema)
    declared = _declared(dataset)
    columns = zip(kept.names or (), kept.kinds, strict=True)
    some = [(name, kind) for name, kind in columns if declared is None or name in declared]
    return Schema(tuple(name for name, _ in some), tuple(kind for _, kind in some), kept.lengths)


def _declared(dataset: Any) -> set[str] | None:
    """Return the columns that files have, all with the dataset's own types; None without files."""
    names: set[str] | None = None
    for child in getattr(dataset, "children", ()):
        names = (names or set()) | (_declared(child) or set(child.schema.names))
    for path in getattr(dataset, "files", ()):
        if type(dataset.format).__name__ not in _DECLARED:
            raise TypeError(_TYPES_GUESSED)
        names = names or set()
        for field in dataset.format.make_fragment(path, dataset.filesystem).physical_schema:
            names.add(field.name)
            place = dataset.schema.get_field_index(field.name)
            if place >= 0 and dataset.schema.field(place).type != field.type:
                # Casting to a common type could fail on a value.
                raise TypeError(
                    f"column {field.name!r} of the dataset is {dataset.schema.field(place).type}, "
                    f"but {field.type} in one of its files. Give the paths of the files instead, "
                    "which are then read with their own types, or a dataset with one type."
                )
    return names


def _scanned(dataset: Any, pinned: Sequence[Pinned], columns: Sequence[str]) -> Iterator[Any]:
    scanner = dataset.scanner(
        columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=4, fragment_readahead=2
    )
    for batch in unchanged(pinned, scanner.to_batches()):
        for column in batch.columns:
            intact(column)
        yield batch


def _collected(frame: Any, columns: Sequence[str]) -> Iterator[Any]:
    from polars import selectors

    chosen = frame.select(selectors.by_name(*columns))  # a plain text may be a pattern
    for part in chosen.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
        yield from part.to_arrow().to_batches()


def _queried(relation: Any, columns: Sequence[str]) -> Iterator[Any]:
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    # A projection is a new relation, so that the query runs anew.
    yield from relation.project(quoted).to_arrow_reader(BATCH_ROWS)


def _streamed(factory: Callable[[], Any], columns: Sequence[str]) -> Iterator[Any]:
    for batch in _reader(factory()):
        yield batch.select(list(columns))


def _first_types(factory: Callable[[], Any]) -> Any:
    stream = _called(factory)
    kind, is_stream = type(stream), hasattr(stream, "__arrow_c_stream__")
    same = hasattr(stream, "read_next_batch") and stream is _called(factory)
    if is_stream and not same:
        return _types_of(stream)
    del stream  # so that no traceback shows what it holds
    if same:
        raise TypeError(
            "the function given as X must return a new Arrow stream each time it is called; this "
            "one returns the same reader, which would be empty the second time."
        )
    raise TypeError(
        "the function given as X must return an Arrow stream, that is something with "
        f"__arrow_c_stream__, each time it is called; got {kind!r}."
    )


@guarded
def _called(factory: Callable[[], Any]) -> Any:
    # Guarded, because the function may read rows and fail on one.
    return factory()


@guarded
def _types_of(stream: Any) -> Any:
    return _reader(stream).schema


def _reader(stream: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(stream)
