"""How much faster two cores are than one, beside scikit-learn's k-means on the same machine.

Each fit has a process of its own that may use one core or two. Seconds are those of the clock, so
nothing else should run meanwhile; fits take turns, and the fastest of several counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.speed import radius, table

SIZES = (100_000, 1_000_000)
COLUMNS, CLUSTERS = 16, 64
REPEATS = 3
SCALING, PARQUET = 1.6, 0.9
"""Targets: speed with two cores over that with one; from Parquet over that from memory."""
SOURCES = ("PrivateKMeans", "PrivateKMeans, Parquet", "k-means, one start")
Cores = tuple[str, ...]
ONE: Cores = ("0",)
TWO: Cores = ("0,1",)
APART: Cores = ("0", "1")
"""Cores of each of the fits that run at the same time: one fit on one core or on two, or two fits
with nothing in common but the machine."""


def main(quick: bool) -> None:
    """Print seconds on one core and on two, and their ratios."""
    for n_rows in (20_000,) if quick else SIZES:
        clock = _fastest(f"overlapping_{COLUMNS}_{CLUSTERS}_{n_rows}", 1 if quick else REPEATS)
        for source in SOURCES:
            one, two = clock[source, ONE], clock[source, TWO]
            print(f"{n_rows:,} rows, {source}: {one:.2f} s, two cores {two:.2f} s")
            _verdict(f"two cores over one, {source}, {n_rows:,} rows", one / two, SCALING)
        machine = 2 * clock[SOURCES[0], ONE] / clock[SOURCES[0], APART]
        print(f"{n_rows:,} rows, two fits at once over one after another: {machine:.2f}")
        rate = clock["PrivateKMeans", TWO] / clock["PrivateKMeans, Parquet", TWO]
        _verdict(f"from Parquet over from memory, {n_rows:,} rows", rate, PARQUET)


def _fastest(name: str, repeats: int) -> dict[tuple[str, Cores], float]:
    """Return seconds by source and cores."""
    wanted = [(source, cores) for source in SOURCES for cores in (ONE, TWO)]
    wanted.append((SOURCES[0], APART))
    with tempfile.TemporaryDirectory() as folder:
        rows = table(name)
        columns = {f"x{number}": column for number, column in enumerate(rows.T)}
        file = Path(folder) / f"{name}.parquet"
        pq.write_table(pa.table(columns), file)
        turns = [{key: _in_processes(*key, file) for key in wanted} for _ in range(repeats)]
    return {key: min(turn[key] for turn in turns) for key in wanted}


def _in_processes(source: str, cores: Cores, file: Path) -> float:
    """Return the seconds of fits that begin together, each on cores of its own: of the longest."""
    command = [sys.executable, "-m", "benchmarks.cores", source]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with ExitStack() as stack:
        running: list[Any] = [
            stack.enter_context(subprocess.Popen([*command, own, str(file)], **pipes))
            for own in cores
        ]
        for process in running:
            process.stdout.readline()  # what it imports is loaded
        for process in running:
            process.stdin.write("\n")
            process.stdin.flush()
        return max(float(process.stdout.readline()) for process in running)


def _fit(source: str, file: Path) -> float:
    """Return the seconds of one fit; imports and the loading of compiled loops do not count."""
    from sklearn.cluster import KMeans

    from privclust import PrivateKMeans

    bounds = {f"x{number}": (-radius(1), radius(1)) for number in range(COLUMNS)}
    X: Any = file if source.endswith("Parquet") else pq.read_table(file)
    model: Any = PrivateKMeans(CLUSTERS, delta=1e-6, bounds=bounds, random_state=0)
    PrivateKMeans(2, delta=1e-6, bounds=bounds).fit(pq.read_table(file).slice(0, 1000))
    if source == "k-means, one start":
        model, X = KMeans(CLUSTERS, random_state=0), np.column_stack(X.columns)
    print("ready", flush=True)
    input()
    start = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - start


def _verdict(what: str, figure: float, target: float) -> None:
    print(f"cores: {what}: {figure:.2f}, target {target:g}: ", end="")
    print("PASS" if figure >= target else "NOT MET")


if __name__ == "__main__":
    name, cores, path = sys.argv[1:]
    os.sched_setaffinity(0, map(int, cores.split(",")))
    print(_fit(name, Path(path)))
