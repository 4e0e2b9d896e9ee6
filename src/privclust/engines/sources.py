"""Tables that are read again and again as Arrow batches, because they do not fit in memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from privclust.engines.base import guarded
from privclust.engines.cells import intact
from privclust.engines.files import BATCH_ROWS, is_path, open_files
from privclust.engines.frames import arrow_schema, polars_schema
from privclust.engines.schema import Schema

_GUESSED = re.compile(r"(csv|json) scan|read_(csv|json|ndjson)|scan (csv|json|xml)", re.IGNORECASE)
_TYPES_GUESSED = (
    "X reads CSV, JSON or XML, whose types are guessed from values, so that one row could change "
    "them for all. Give the paths of CSV files instead, or convert them to Parquet."
)
_DECLARED = ("ParquetFileFormat", "IpcFileFormat", "OrcFileFormat")
"""Formats of files that say what types their columns have."""


@dataclass(frozen=True, eq=False)
class Source:
    """A table elsewhere.

    Attributes
    ----------
    schema : Schema
        Its columns, which are public.
    stream : callable
        Reads it once more: from names of columns to Arrow batches of any size that have them.
    """

    schema: Schema
    stream: Callable[[Sequence[str]], Iterator[Any]]

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
    library = type(table).__module__.split(".")[0]
    if is_path(table):
        return Source(*open_files(table))
    if library == "pyarrow" and hasattr(table, "scanner"):
        return Source(_dataset_schema(table), lambda columns: _scanned(table, columns))
    if library == "polars" and hasattr(table, "collect_schema") and hasattr(table, "collect"):
        check_plan(table.explain(optimized=False))
        return Source(_lazy_schema(table), lambda columns: _collected(table, columns))
    if library in ("duckdb", "_duckdb") and hasattr(table, "to_arrow_reader"):
        check_plan(table.explain())
        return Source(_relation_schema(table), lambda columns: _queried(table, columns))
    if callable(table) and not hasattr(table, "__array__"):
        return Source(_first_schema(table), lambda columns: _streamed(table, columns))
    return None


def check_plan(plan: str) -> None:
    """Refuse a query that reads files whose types are guessed."""
    if _GUESSED.search(plan):
        raise TypeError(_TYPES_GUESSED)


@guarded
def _lazy_schema(frame: Any) -> Schema:
    return polars_schema(frame.collect_schema())


@guarded
def _relation_schema(relation: Any) -> Schema:
    # Without rows: only what types they would have.
    return arrow_schema(relation.limit(0).to_arrow_table().schema)


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


def _scanned(dataset: Any, columns: Sequence[str]) -> Iterator[Any]:
    scanner = dataset.scanner(
        columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=4, fragment_readahead=2
    )
    for batch in scanner.to_batches():
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
    # A projection is a new relation, so that the query is asked anew.
    yield from relation.project(quoted).to_arrow_reader(BATCH_ROWS)


def _streamed(factory: Callable[[], Any], columns: Sequence[str]) -> Iterator[Any]:
    for batch in _reader(factory()):
        yield batch.select(list(columns))


def _first_schema(factory: Callable[[], Any]) -> Schema:
    stream = _called(factory)
    kind, is_stream = type(stream), hasattr(stream, "__arrow_c_stream__")
    same = hasattr(stream, "read_next_batch") and stream is _called(factory)
    if is_stream and not same:
        return _schema_of(stream)
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
def _schema_of(stream: Any) -> Schema:
    return arrow_schema(_reader(stream).schema)


def _reader(stream: Any) -> Any:
    import pyarrow as pa

    return pa.RecordBatchReader.from_stream(stream)
