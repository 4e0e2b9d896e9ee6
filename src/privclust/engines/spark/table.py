"""Tables that Spark reads: DataFrames, and plain Parquet files that its workers open themselves."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privclust.engines.spark._tasks import FilesReader, FrameReader, Reader
from privclust.engines.spark.engine import SparkTable
from privclust.errors import UnreadableFileError
from privclust.sources.cells import Kind
from privclust.sources.files import list_files
from privclust.sources.found_files import FORMATS
from privclust.sources.guard import guarded
from privclust.sources.schema import Schema
from privclust.sources.streams import check_plan

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "integer"),
    **dict.fromkeys(("float", "double", "decimal", "boolean", "void"), "number"),
    **dict.fromkeys(("string", "char", "varchar", "binary"), "text"),
}
_PARQUET = tuple(ending for ending, kind in FORMATS.items() if kind == "parquet")


@dataclass(frozen=True, eq=False)
class SparkFiles:
    """Parquet files that Spark's workers open themselves; made by `on_spark`."""

    session: Any
    paths: Any


def on_spark(session: Any, paths: Any) -> SparkFiles:
    """Return a table of plain Parquet files that Spark's workers read themselves.

    This is cheaper than a DataFrame of the same files. Every worker and the driver must find them
    under the same path. Tables with a catalogue, views, Delta, Iceberg and whatever has policies
    belong into a DataFrame: their files may hold rows that were erased.

    Parameters
    ----------
    session : SparkSession
        Classic or Connect.
    paths : path or list of paths
        Files, folders or patterns.

    Examples
    --------
    Nothing is read before a fit, so a table can be named without a session:

    >>> table = on_spark(None, "/data/visits")
    >>> table.paths
    '/data/visits'

    With one: ``PrivateKMeans(8, delta=1e-6, bounds=…).fit(on_spark(session, "/data/visits"))``.
    """
    return SparkFiles(session, paths)


def spark_table_of(table: Any) -> SparkTable | None:
    """Return how Spark reads `table`, or None if it is not Spark's to read."""
    if isinstance(table, SparkFiles):
        return _files_table(table.session, table.paths)
    if type(table).__module__.startswith("pyspark.sql.") and hasattr(table, "mapInArrow"):
        return _frame_table(table)
    return None


def _frame_table(frame: Any) -> SparkTable:
    if frame.isStreaming:
        raise TypeError(
            "X is a stream, which has other rows each time it is read. Write it to a table first."
        )
    check_plan(_plan_of(frame))
    names = tuple(frame.columns)
    kinds = tuple(_KINDS.get(field.dataType.typeName(), "other") for field in frame.schema.fields)

    def opened(columns: Sequence[str]) -> tuple[Any, Reader]:
        # By place: a name may have dots, and Spark takes "x" and "X" for one.
        by_place = frame.toDF(*(f"c{place}" for place in range(len(names))))
        chosen = by_place.select([f"c{names.index(name)}" for name in columns])
        return chosen, FrameReader(columns)

    return SparkTable(Schema(names, kinds), _partitions(frame.sparkSession), opened)


@guarded
def _plan_of(frame: Any) -> str:
    printed = io.StringIO()
    with redirect_stdout(printed):
        frame.explain()
    return printed.getvalue()


def _files_table(session: Any, paths: Any) -> SparkTable:
    schema, files = list_files(paths)
    for file in files:
        if not isinstance(file.path, Path):
            raise UnreadableFileError(
                "Spark's workers read files of their own machines. Give a DataFrame of what is in "
                "a store, such as session.read.parquet(address)."
            )
        if not file.path.name.lower().endswith(_PARQUET):
            raise UnreadableFileError(
                f"the file {file.path.name!r} has none of the endings {', '.join(_PARQUET)}. "
                "Spark's workers read Parquet files only: convert it, or fit it without Spark."
            )
    partitions = _partitions(session)
    parts = -(-partitions // len(files))

    def opened(columns: Sequence[str]) -> tuple[Any, Reader]:
        n_tasks = parts * len(files)
        return session.range(0, n_tasks, 1, n_tasks), FilesReader(files, parts, columns)

    return SparkTable(schema, partitions, opened)


def _partitions(session: Any) -> int:
    return int(session.conf.get("spark.sql.shuffle.partitions"))
