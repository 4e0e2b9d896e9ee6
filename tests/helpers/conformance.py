"""What every engine must do: give the NumPy engine's integers, and say nothing about rows.

A new engine joins with one line in `ENGINES`: how to build it over the rows of an Arrow table.
"""

from __future__ import annotations

import gzip
import logging
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from helpers.spark_sessions import local

from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.engines.base import Engine
from privclust.engines.federated.federation import Federation
from privclust.engines.memory import NumpyEngine
from privclust.engines.spark.engine import SparkEngine, SparkUnitsEngine
from privclust.engines.spark.table import on_spark, spark_table_of
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.errors import EngineError
from privclust.kernels.projection import gaussian_projection
from privclust.queries.base import Count, Query
from privclust.queries.cells import CellCounts, CellSums, SignCells
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.columns import ColumnHistograms
from privclust.queries.covariance import SecondMoment
from privclust.queries.shells import ShellMoments
from privclust.queries.squared_distances import SquaredDistanceVotes
from privclust.queries.unit import ROW, Unit
from privclust.sources.streams import Source, source_of

Make = Callable[[Any, Sequence[str], Domain, Unit, Path], Engine]
"""From an Arrow table, the columns to cluster, their domain, the unit and a folder to an engine."""

CANARY = 1234567.8901234
TRACE = "1234567"
"""What the canary leaves in any text that shows it."""

KEY = bytes(range(32))
COLUMNS = ["z", "x", "y"]
DOMAIN = Box([0, -50, 0], [1, 50, 100], weights=[1.0, 2.0, 1.0])
UNITS = {
    "row": ROW,
    "integers": Unit("number"),
    "integers, 3 rows": Unit("number", 3),
    "texts": Unit("name"),
    "texts, 3 rows": Unit("name", 3),
}

_RNG = np.random.default_rng(1)
_POINTS, _FLAT = _RNG.uniform(-0.5, 0.5, (5, 3)), _RNG.uniform(-0.5, 0.5, (5, 2))
_PROJECTION = gaussian_projection(3, 2, _RNG)
_RADII, _EDGES = np.geomspace(0.05, 0.5, 5), np.array([0.1, 0.3])
_CELLS = SignCells(_POINTS, ("00", "010", "1"))
QUERIES: list[Query] = [
    Count(),
    NearestVotes(_POINTS),
    NearestVotes(_FLAT, _PROJECTION),
    ClusterSums(_POINTS, _POINTS, 0.5, 0.7),
    ClusterSums(_FLAT, _POINTS, 0.5, 0.7, _PROJECTION),
    ClusterMoments(_POINTS, _RADII, 0.6, 0.4),
    ClusterMoments(_FLAT, _RADII, 0.6, 0.4, _PROJECTION),
    DistanceHistogram(_POINTS, _EDGES),
    DistanceHistogram(_FLAT, _EDGES, _RADII, _PROJECTION),
    CellCounts(_CELLS),
    CellSums(_CELLS, 3, 0.25),
    SecondMoment(3),
    ColumnHistograms(np.array([0.2, 0.5, 0.9]), 8),
    SquaredDistanceVotes(_POINTS, np.array([0.0, 0.1, 0.5, 4.0])),
    ShellMoments(_POINTS, _RADII / 4, 0.6, 0.4, 2),
    ShellMoments(_FLAT, _RADII / 4, 0.6, 0.4, 1, _PROJECTION),
]
MOMENTS = QUERIES[5:6]
"""Hardly two tables have the same result for this query."""


# Tables ------------------------------------------------------------------------------------------


def people(n_rows: int, seed: int = 0) -> Any:
    """Return rows of some ids with many rows and many with few; no id, NaN, null and ±inf occur."""
    rng = np.random.default_rng(seed)
    values = rng.normal(0.0, 0.4, (n_rows, 3)) * [50, 50, 0.5] + [0, 50, 0.5]
    for strange in (np.nan, np.inf, -np.inf):
        values[rng.random((n_rows, 3)) < 0.02] = strange
    number = np.where(rng.random(n_rows) < 0.2, 7, rng.integers(-9, 1 + n_rows // 4, n_rows))
    unknown = rng.random(n_rows) < 0.1
    return pa.table(
        {
            "x": pa.array(values[:, 0], mask=rng.random(n_rows) < 0.05),
            "number": pa.array(number, pa.int64(), mask=unknown),
            "y": values[:, 1],
            "name": pa.array([f"pérson {n % 20}" for n in number], pa.string(), mask=unknown),
            "z": values[:, 2],
        }
    )


def with_columns(table: Any, **columns: Any) -> Any:
    """Return a table with other columns of these names in place of its own."""
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


# Engines -----------------------------------------------------------------------------------------


def source(table: Any) -> Source:
    """Return the source of a streamed table."""
    found = source_of(table)
    assert found is not None
    return found


def streamed(
    table: Any,
    columns: Sequence[str] = COLUMNS,
    domain: Domain = DOMAIN,
    unit: Unit = ROW,
    threads: int | None = None,
) -> ArrowEngine | SpilledEngine:
    """Return the engine for a table that is not in memory."""
    if unit.column is None:
        return ArrowEngine(source(table), columns, domain, threads)
    return SpilledEngine(source(table), columns, domain, unit, threads)


def in_spark(
    table: Any, columns: Sequence[str] = COLUMNS, domain: Domain = DOMAIN, unit: Unit = ROW
) -> SparkEngine | SparkUnitsEngine:
    """Return the engine for a table that Spark reads."""
    found = spark_table_of(table)
    assert found is not None
    if unit.column is None:
        return SparkEngine(found, columns, domain)
    return SparkUnitsEngine(found, columns, domain, unit)


def in_memory(
    table: Any, columns: Sequence[str] = COLUMNS, domain: Domain = DOMAIN, unit: Unit = ROW
) -> NumpyEngine:
    """Return the engine that all others must agree with."""
    used = [*columns] if unit.column is None else [*columns, unit.column]
    return NumpyEngine(table.select(used), domain, unit=unit)


def results(engine: Engine, queries: Sequence[Query] = QUERIES) -> list[list[int]]:
    """Measure all queries."""
    return [list(engine.aggregate(query)) for query in queries]


def write_parquet(table: Any, file: Path, row_group: int | None = None) -> Path:
    """Write a Parquet file, and the folder it lies in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file, row_group_size=row_group)
    return file


def write_csv(table: Any, file: Path) -> Path:
    """Write a CSV file, gzipped if its name says so."""
    pyarrow.csv.write_csv(table, file)
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(file.read_bytes()))
    return file


def write_arrow(table: Any, file: Path) -> Path:
    """Write an Arrow file in small batches."""
    pyarrow.feather.write_feather(table, file, compression="uncompressed", chunksize=17)
    return file


def thirds(table: Any) -> list[Any]:
    """Cut a table into three parts, of which one or more may be empty."""
    size = table.num_rows // 3
    return [table.slice(0, size), table.slice(size, size), table.slice(2 * size)]


def _many_files(table: Any, folder: Path) -> list[Path]:
    return [
        write_parquet(part, folder / f"deep{place}" / "part.parquet", 7)
        for place, part in enumerate(thirds(table))
    ]


def _hive(table: Any, folder: Path) -> Path:
    for ward in range(3):
        chosen = pa.array(np.arange(table.num_rows) % 3 == ward)
        write_parquet(table.filter(chosen), folder / "hive" / f"ward={ward}" / "part.parquet")
    return folder / "hive"


def _formats(table: Any, folder: Path) -> list[Path]:
    first, second, third = thirds(table)
    return [
        write_parquet(first, folder / "first.parquet"),
        write_csv(second, folder / "second.csv"),
        write_arrow(third, folder / "third.arrow"),
    ]


def _among_others(table: Any, folder: Path) -> Path:
    """Write the rows among others that a filter must leave out."""
    kept, left = (
        part.append_column("keep", pa.repeat(keep, part.num_rows))
        for part, keep in ((table, True), (table.slice(0, 30), False))
    )
    mixed = pa.concat_tables([left, kept.slice(0, 11), left, kept.slice(11)])
    return write_parquet(mixed, folder / "mixed.parquet", 10)


def _relation(file: Path, condition: str = "true") -> Any:
    return duckdb.sql(f"select * from read_parquet('{file}') where {condition}")


def _laid_out(lay: Callable[[Any, Path], Any]) -> Make:
    def make(
        table: Any, columns: Sequence[str], domain: Domain, unit: Unit, folder: Path
    ) -> Engine:
        return streamed(lay(table, folder), columns, domain, unit)

    return make


def _framed(convert: Callable[[Any], Any]) -> Make:
    def make(
        table: Any, columns: Sequence[str], domain: Domain, unit: Unit, folder: Path
    ) -> Engine:
        used = [*columns] if unit.column is None else [*columns, unit.column]
        return NumpyEngine(convert(table.select(used)), domain, unit=unit)

    return make


def _in_spark(session: Callable[[], Any], lay: Callable[[Any, Any, Path], Any]) -> Make:
    """Return how to build an engine over a table that is laid out for a session of Spark."""

    def make(
        table: Any, columns: Sequence[str], domain: Domain, unit: Unit, folder: Path
    ) -> Engine:
        return in_spark(lay(session(), table, folder), columns, domain, unit)

    return make


def spark_frame(session: Any, table: Any, folder: Path) -> Any:
    """Return a DataFrame of several partitions."""
    files = [str(file) for file in _many_files(table, folder)]
    return session.read.parquet(*files)


def spark_files(session: Any, table: Any, folder: Path) -> Any:
    """Return files that are read in parts by Spark's workers; one is named twice."""
    files = _many_files(table, folder)
    return on_spark(session, [*files, files[0]])


def clients(table: Any, unit: Unit, n_clients: int) -> list[Any]:
    """Deal rows out to clients, unevenly, all rows of a unit to one of them; the last has none."""
    if unit.column is None:
        place = np.arange(table.num_rows) ** 2 // max(1, table.num_rows)
    else:
        ids = table.column(unit.column).to_pylist()
        place = np.array([crc32(str(one).encode()) ** 2 for one in ids], dtype=np.uint64)
    client = place % (n_clients - 1)
    return [table.filter(pa.array(client == number)) for number in range(n_clients)]


def _federated(n_clients: int) -> Make:
    def make(
        table: Any, columns: Sequence[str], domain: Domain, unit: Unit, folder: Path
    ) -> Engine:
        tables: dict[str, Any] = {}
        for number, part in enumerate(clients(table, unit, n_clients)):
            # Clients differ in how they keep their rows.
            as_file = number % 3 == 1
            kept = write_parquet(part, folder / f"{number}.parquet") if as_file else part
            tables[f"client {number}"] = kept
        return Federation.in_process(tables, columns).open_engine(None, domain, unit)

    return make


ENGINES: dict[str, Make] = {
    "pandas frame": _framed(lambda table: table.to_pandas(types_mapper=pd.ArrowDtype)),
    "Polars frame": _framed(pl.from_arrow),
    "Parquet file": _laid_out(lambda table, folder: write_parquet(table, folder / "one.parquet")),
    "Parquet file, row groups of one row": _laid_out(
        lambda table, folder: write_parquet(table, folder / "one.parquet", 1)
    ),
    "path as text": _laid_out(lambda table, folder: str(write_parquet(table, folder / "a.pq", 99))),
    "folder of folders": _laid_out(lambda table, folder: _many_files(table, folder)[0].parents[1]),
    "list of files": _laid_out(_many_files),
    "pattern": _laid_out(
        lambda table, folder: _many_files(table, folder) and f"{folder}/deep[0-9]/*.parquet"
    ),
    "hive folders": _laid_out(_hive),
    "CSV file": _laid_out(lambda table, folder: write_csv(table, folder / "one.csv")),
    "gzipped CSV file": _laid_out(lambda table, folder: write_csv(table, folder / "one.csv.gz")),
    "Arrow file": _laid_out(lambda table, folder: write_arrow(table, folder / "one.arrow")),
    "files of three formats": _laid_out(_formats),
    "dataset": _laid_out(lambda table, folder: ds.dataset(_many_files(table, folder))),
    "dataset in memory": _laid_out(lambda table, folder: ds.dataset(table)),
    "filtered dataset": _laid_out(
        lambda table, folder: ds.dataset(_among_others(table, folder)).filter(pc.field("keep"))
    ),
    "LazyFrame": _laid_out(lambda table, folder: pl.DataFrame(pl.from_arrow(table)).lazy()),
    "LazyFrame of files, filtered": _laid_out(
        lambda table, folder: pl.scan_parquet(_among_others(table, folder)).filter(pl.col("keep"))
    ),
    "DuckDB relation": _laid_out(
        lambda table, folder: _relation(write_parquet(table, folder / "one.parquet", 50))
    ),
    "DuckDB relation, filtered": _laid_out(
        lambda table, folder: _relation(_among_others(table, folder), "keep")
    ),
    "function that returns a table": _laid_out(lambda table, folder: lambda: table),
    "function that returns a Polars frame": _laid_out(
        lambda table, folder: lambda: pl.from_arrow(table)
    ),
    "stream of single rows": _laid_out(
        lambda table, folder: (
            lambda: pa.RecordBatchReader.from_batches(
                table.schema, table.to_batches(max_chunksize=1)
            )
        )
    ),
    "Spark DataFrame": _in_spark(local, spark_frame),
    "files in Spark": _in_spark(local, spark_files),
    "federation of 5 clients": _federated(5),
}
REORDERING = {"hive folders", "Spark DataFrame", "files in Spark"}
"""Rows come in another order than in the table."""
OWN_BITS = {"federation of 5 clients"}
"""Each client has a key of its own, so that samples differ;
tests/engines/federated/test_federation.py."""
AS_TEXT = {"CSV file", "gzipped CSV file", "files of three formats"}
"""Cells are texts, of which only numbers are read as numbers."""


# Silence -----------------------------------------------------------------------------------------


def fails_in_silence(
    act: Callable[[], object],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    error: type[Exception] = EngineError,
) -> None:
    """Check that `act` fails, and that no error, warning, log or output shows the canary."""
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(error) as failed:
            act()
    # The test's own frame may hold the canary: only what lies below it is looked at.
    below = failed.value.__traceback__.tb_next if failed.value.__traceback__ else None
    report = traceback.TracebackException(
        type(failed.value), failed.value, below, capture_locals=True
    )
    output = capfd.readouterr()
    texts = [*report.format(), repr(failed.value), output.out, output.err, caplog.text]
    assert TRACE not in "".join(texts)
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    assert not caught
    assert output == ("", "")
    assert not caplog.records
