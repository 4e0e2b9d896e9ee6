"""Spark: what its workers cost beside the kernel alone, and beside k-means of Spark ML.

CPU seconds are those of this process, Spark's JVM and all its workers; starting them and making
the files does not count.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from threadpoolctl import threadpool_limits

from benchmarks.data import loss
from benchmarks.scale import CLUSTERS, NARROW, RADIUS, blobs
from privclust import PrivateKMeans, on_spark
from privclust.domains.ball import Ball
from privclust.engines._summing import total
from privclust.engines.spark.engine import SparkEngine
from privclust.engines.spark.table import spark_table_of
from privclust.engines.units import split_batches
from privclust.kernels.grid import FloatArray
from privclust.queries import ROW, Count, NearestVotes

CANDIDATES, WIDE = 2000, 16
FILE_ROWS, GROUP_ROWS = 1_000_000, 2**17
KERNEL_ROWS = 500_000
FILES_TARGET, FRAME_TARGET, LOSS_TARGET = 0.6, 0.25, 1.02


def main(quick: bool) -> None:
    """Print throughputs, and the comparison with Spark ML."""
    n_rows = 150_000 if quick else 10_000_000
    session = spark_session()
    try:
        with tempfile.TemporaryDirectory() as folder:
            _throughput(session, Path(folder), n_rows)
            _against_spark_ml(session, Path(folder), n_rows)
    finally:
        session.stop()


def _throughput(session: Any, folder: Path, n_rows: int) -> None:
    def rows_of(number: int, count: int) -> FloatArray:
        return np.random.default_rng([5, number]).normal(0.0, 0.2, (count, WIDE))

    lake = written(folder / "wide", n_rows, rows_of)
    rng = np.random.default_rng(0)
    query = NearestVotes(rng.normal(0.0, 0.2, (CANDIDATES, WIDE)))
    domain = Ball(np.zeros(WIDE), 1.0)
    known = split_batches(domain.to_grid(rows_of(0, min(n_rows, KERNEL_ROWS))), None)
    with threadpool_limits(1, "blas"):
        kernel = min(cpu_seconds(lambda: total(query, ROW, known)) for _ in range(3))
    kernel *= n_rows / min(n_rows, KERNEL_ROWS)
    tables = {"files": on_spark(session, lake), "frame": session.read.parquet(str(lake))}
    results = []
    for name, target in (("files", FILES_TARGET), ("frame", FRAME_TARGET)):
        source = spark_table_of(tables[name])
        assert source is not None
        engine = SparkEngine(source, [f"x{column}" for column in range(WIDE)], domain)
        engine.aggregate(Count())  # starts workers
        before = _tree_seconds()
        results.append(engine.aggregate(query))
        spent = _tree_seconds() - before
        print(
            f"votes of {n_rows:,} rows: kernel {kernel:.1f} CPU s, Spark {name} {spent:.1f} CPU s"
        )
        _verdict(
            f"throughput of {name}, of the kernel's own", kernel / spent, target, at_least=True
        )
    assert results[0] == results[1]


def _against_spark_ml(session: Any, folder: Path, n_rows: int) -> None:
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler

    lake = written(folder / "narrow", n_rows, blobs)
    names = [f"x{column}" for column in range(NARROW)]
    frame = VectorAssembler(inputCols=names, outputCol="features").transform(
        session.read.parquet(str(lake))
    )
    found: dict[str, Any] = {}
    plain = cpu_seconds(
        lambda: found.update(ml=KMeans(k=CLUSTERS, seed=1).fit(frame.select("features")))
    )
    private = cpu_seconds(lambda: found.update(ours=_fit(on_spark(session, lake))))
    held_out = blobs(10**6, min(n_rows, FILE_ROWS)).astype(np.float64)
    ratio = loss(held_out, found["ours"].cluster_centers_) / loss(
        held_out, np.array(found["ml"].clusterCenters())
    )
    turns = found["ml"].summary.numIter
    print(
        f"{n_rows:,} rows: Spark ML {plain:.1f} CPU s, {turns} turns; private {private:.1f} CPU s"
    )
    _verdict("CPU, of that of Spark ML's k-means", private / plain, 1.0)
    _verdict("loss, of that of Spark ML's k-means", ratio, LOSS_TARGET)


def _fit(table: Any) -> PrivateKMeans:
    bounds = {f"x{column}": (-RADIUS, RADIUS) for column in range(NARROW)}
    return PrivateKMeans(CLUSTERS, delta=1e-9, bounds=bounds, random_state=0).fit(table)


def written(lake: Path, n_rows: int, rows_of: Callable[[int, int], Any]) -> Path:
    """Write rows, made a million at a time, into Parquet files of a new folder."""
    lake.mkdir()
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        part = rows_of(number, min(FILE_ROWS, n_rows - start))
        table = pa.table({f"x{column}": values for column, values in enumerate(part.T)})
        pq.write_table(table, lake / f"{number:04}.parquet", row_group_size=GROUP_ROWS)
    return lake


def spark_session() -> Any:
    """Start Spark in this process, on two threads that listen on this machine alone."""
    from pyspark.sql import SparkSession

    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    settings: dict[str, Any] = {
        "spark.driver.memory": "6g",
        "spark.driver.maxResultSize": "3g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "16",
    }
    return SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()


def cpu_seconds(act: Callable[[], object]) -> float:
    """Return the CPU seconds that all processes of the tree spend on it."""
    before = _tree_seconds()
    act()
    time.sleep(0.5)  # a worker that ends is counted with its parent
    return _tree_seconds() - before


def _tree_seconds() -> float:
    """Return the CPU seconds of this process and all below it so far (Linux)."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            children.setdefault(int(fields[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = sum(map(int, fields[11:15]))
    total_ticks, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total_ticks += ticks.get(process, 0)
        waiting += children.get(process, [])
    return total_ticks / os.sysconf("SC_CLK_TCK")


def _verdict(what: str, figure: float, target: float, at_least: bool = False) -> None:
    met = figure >= target if at_least else figure <= target
    print(f"lake: {what}: {figure:.3f}, target {target:g}: {'PASS' if met else 'NOT MET'}")
