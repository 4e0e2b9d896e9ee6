"""What fits on Spark cost beside what `plan --engine spark` expects of them.

CPU seconds are those of this process, Spark's JVM and all its workers; starting them and making the
files does not count. Fits of 10^6 rows are made three times, since what Spark itself costs varies.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.digest import code_digest
from benchmarks.lake import cpu_seconds, spark_session, written
from benchmarks.methods import METHODS
from benchmarks.pieces import Piece, load, run
from benchmarks.rivals import FLAGSHIP
from privclust import PrivateKMeans, forecast, on_spark
from privclust.planning.spark_cost import Kind, spark_cost

TABLES = {
    "1000000_8_16": 3,
    "1000000_64_64": 3,
    "1000000_384_256": 1,
    "10000000_8_16": 1,
    "10000000_64_64": 1,
}
"""Rows, columns and clusters, and how many fits of each kind."""
FRAMES = ("1000000_8_16", "1000000_64_64", "10000000_8_16")
"""Those which are also fitted as a DataFrame, which costs much more."""
HALF_WIDTH, DEVIATION, TARGET = 30.0, 2.0, 0.3


@dataclass(frozen=True)
class Spent:
    """CPU seconds of a fit."""

    cpu_seconds: float
    code: str


def pieces() -> list[Piece]:
    """Return the fits: of files and of DataFrames, small ones first."""
    return [
        Piece(kind, table, 1.0, seed)
        for table, repeats in TABLES.items()
        for kind in ("files", "frame")
        if kind == "files" or table in FRAMES
        for seed in range(repeats)
    ]


def code_of(kind: str) -> str:
    """Return the digest of the code that fits."""
    return code_digest(*METHODS[FLAGSHIP].algorithms)


def expected(piece: Piece) -> float:
    """Return the CPU seconds that `plan` expects of a fit."""
    n_rows, n_columns, n_clusters = map(int, piece.dataset.split("_"))
    planned = forecast(n_rows, n_columns, n_clusters, delta=1e-9)
    return spark_cost(planned, cast("Kind", piece.method)).core_hours * 3600


def measure(piece: Piece) -> Spent:
    """Make a table and fit it on a Spark whose workers run already."""
    n_rows, n_columns, n_clusters = map(int, piece.dataset.split("_"))
    session = spark_session()
    try:
        with tempfile.TemporaryDirectory() as folder:
            blobs = partial(_blobs, n_columns, n_clusters)
            lake = written(Path(folder) / "lake", n_rows, blobs)
            few = written(Path(folder) / "few", 1000, blobs)
            tables = [
                on_spark(session, place)
                if piece.method == "files"
                else session.read.parquet(str(place))
                for place in (few, lake)
            ]
            _fit(tables[0], n_columns, 2, piece.seed)
            spent = cpu_seconds(partial(_fit, tables[1], n_columns, n_clusters, piece.seed))
    finally:
        session.stop()
    return Spent(spent, code_of(piece.method))


def main(quick: bool) -> None:
    """Make the fits that are missing; with `quick` one of few rows, which is not kept."""
    if quick:
        piece = Piece("files", "150000_8_16", 1.0, 0)
        print(f"{measure(piece).cpu_seconds:.1f} CPU s, {expected(piece):.1f} expected")
        return
    run("spark_cost", pieces(), measure, code_of, workers=1, kind=Spent)
    report()


def report() -> bool:
    """Print what is kept, and return whether every fit costs what was expected."""
    results = load("spark_cost", Spent)
    found = [piece for piece in pieces() if piece in results]
    stale = sum(results[piece].code != code_of(piece.method) for piece in found)
    print(f"{len(found)} of {len(pieces())} fits, {stale} of them by older code\n")
    print_table()
    off = [abs(expected(piece) / fit.cpu_seconds - 1) for piece, fit in results.items()]
    met = len(found) == len(pieces()) and max(off) <= TARGET
    verdict = "PASS" if met else "NOT MET"
    print(f"\nspark_cost: furthest off by {max(off):.2f}, target {TARGET:g}: {verdict}")
    return met


def print_table() -> None:
    """Print a line for each table and kind."""
    results = load("spark_cost", Spent)
    print("| rows | columns | k | from | CPU s | expected | off by |")
    print("|---" * 7 + "|")
    for table in TABLES:
        for kind in ("files", "frame"):
            some = [one for one in pieces() if (one.dataset, one.method) == (table, kind)]
            fits = [results[piece].cpu_seconds for piece in some if piece in results]
            if fits:
                _print_fits(some[0], fits)


def _print_fits(piece: Piece, fits: list[float]) -> None:
    size = [f"{int(number):,}" for number in piece.dataset.split("_")]
    spent = ", ".join(f"{seconds:.1f}" for seconds in fits)
    off = ", ".join(f"{abs(expected(piece) / seconds - 1):.0%}" for seconds in fits)
    print(f"| {' | '.join([*size, piece.method, spent, f'{expected(piece):.1f}', off])} |")


def _fit(table: Any, n_columns: int, n_clusters: int, seed: int) -> None:
    bounds = {f"x{column}": (-HALF_WIDTH, HALF_WIDTH) for column in range(n_columns)}
    PrivateKMeans(n_clusters, delta=1e-9, bounds=bounds, random_state=seed).fit(table)


def _blobs(n_columns: int, n_clusters: int, number: int, n_rows: int) -> NDArray[np.float32]:
    """Return one file's rows: overlapping blobs around the same centres in all files."""
    centers = np.random.default_rng(1).uniform(-10, 10, (n_clusters, n_columns))
    rng = np.random.default_rng([2, number])
    rows = rng.standard_normal((n_rows, n_columns), dtype=np.float32) * np.float32(DEVIATION)
    rows += centers[rng.integers(0, n_clusters, n_rows)].astype(np.float32)
    return rows
