"""Tables larger than memory: what reading them costs, and a fit of a billion rows.

CPU seconds are those of all threads of one process; imports and making the files do not count.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.data import loss
from benchmarks.figures.scale import draw_memory, draw_seconds
from benchmarks.figures.style import PLACE, save
from benchmarks.methods import code_of
from benchmarks.pieces import Piece, load, run
from benchmarks.rivals import FLAGSHIP
from privclust import PrivateKMeans
from privclust.domains.ball import Ball
from privclust.engines._summing import total
from privclust.engines.streaming import ArrowEngine
from privclust.engines.units import split_batches
from privclust.queries import ROW, NearestVotes
from privclust.sources.streams import source_of

CANDIDATES, WIDE = 2000, 16
CLUSTERS, NARROW, RADIUS = 16, 4, 40.0
FILE_ROWS = 1_000_000
USER_ROWS = 10
GIGABYTES, PER_ROW, LOSS, THROUGHPUT, USERS = 1.0, 1.1, 1.02, 0.9, 1.1


SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000)


@dataclass(frozen=True)
class Sized:
    """Seconds and the peak of memory of one fit, the size of its table, and its loss."""

    cpu_seconds: float
    wall_seconds: float
    gigabytes: float
    table_gigabytes: float
    loss_ratio: float
    code: str


def main(quick: bool) -> None:
    """Print the throughput of the Arrow engine, then make the fits of ever larger tables."""
    _users(5_000 if quick else 100_000)
    with tempfile.TemporaryDirectory() as folder:
        _throughput(Path(folder), 20_000 if quick else 2_000_000)
    if quick:
        found = measure(_piece(100_000))
        print(f"100,000 rows: {found.cpu_seconds:.1f} CPU s, {found.gigabytes:.2f} GB")
        return
    run("scale", pieces(), measure, code_of, workers=1, kind=Sized)
    report()


def pieces() -> list[Piece]:
    """Return the fits of every size, small ones first."""
    return [_piece(n_rows) for n_rows in SIZES]


def _piece(n_rows: int) -> Piece:
    return Piece(FLAGSHIP, f"blobs_{NARROW}_{CLUSTERS}_{n_rows}", 1.0, 0)


def kept() -> dict[int, Sized]:
    """Return the fits that are kept, by their number of rows."""
    return {int(piece.dataset.split("_")[-1]): fit for piece, fit in load("scale", Sized).items()}


def report() -> bool:
    """Print seconds and memory from what is kept, draw them, and return whether targets are met."""
    fits = kept()
    stale = sum(fit.code != code_of(FLAGSHIP) for fit in fits.values())
    print(f"{len(fits)} of {len(SIZES)} sizes, {stale} of them by older code\n")
    print_table()
    draw()
    largest = max(fits)
    per_row = fits[largest].cpu_seconds / fits[largest // 100].cpu_seconds / 100
    peak = max(fit.gigabytes for fit in fits.values())
    ratio = max(fit.loss_ratio for fit in fits.values())
    met = [
        _verdict("CPU per row, of that at a hundredth", per_row, per_row <= PER_ROW, PER_ROW),
        _verdict("peak of memory, GB", peak, peak <= GIGABYTES, GIGABYTES),
        _verdict("loss, of k-means on a sample", ratio, ratio <= LOSS, LOSS),
    ]
    return all(met) and len(fits) == len(SIZES)


def print_table() -> None:
    """Print a line for each table whose fit is kept."""
    print("| rows | table, GB | CPU s | s | CPU s per million rows | peak, GB | loss |")
    print("|---" * 7 + "|")
    for n_rows, fit in sorted(kept().items()):
        print(
            f"| {n_rows:,} | {fit.table_gigabytes:.3g} | {fit.cpu_seconds:.3g} "
            f"| {fit.wall_seconds:.3g} | {fit.cpu_seconds / n_rows * 1e6:.3g} "
            f"| {fit.gigabytes:.2f} | {fit.loss_ratio:.3f} |"
        )


def draw(place: Path = PLACE) -> None:
    """Draw seconds and memory."""
    save(partial(draw_seconds, kept()), "scale", place)
    save(partial(draw_memory, kept()), "memory", place)


def _throughput(folder: Path, n_rows: int) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(0.0, 0.2, (n_rows, WIDE))
    names = [f"x{column}" for column in range(WIDE)]
    pq.write_table(pa.table(dict(zip(names, rows.T, strict=True))), folder / "wide.parquet")
    query, domain = (
        NearestVotes(rng.normal(0.0, 0.2, (CANDIDATES, WIDE))),
        Ball(np.zeros(WIDE), 1.0),
    )
    in_memory = split_batches(domain.to_grid(rows), None)
    source = source_of(folder / "wide.parquet")
    assert source is not None
    engine = ArrowEngine(source, names, domain)
    turns = []
    for _ in range(3):
        start = time.process_time()
        with threadpool_limits(1, "blas"):  # more than one would spin while idle
            expected = total(query, ROW, in_memory)
        middle = time.process_time()
        assert engine.aggregate(query) == expected.tolist()
        turns.append((middle - start, time.process_time() - middle))
    kernel, arrow = np.median(turns, axis=0)
    print(f"votes of {n_rows:,} rows: kernel {kernel:.2f} CPU s, from Parquet {arrow:.2f} CPU s")
    ratio = kernel / arrow
    _verdict("throughput, of the kernel's own", ratio, ratio >= THROUGHPUT, THROUGHPUT)


def _users(n_users: int) -> None:
    """Protect all ten rows of each user together; half of them lie anywhere."""
    rng = np.random.default_rng(3)
    home = rng.integers(0, CLUSTERS, (n_users, 1))
    away = rng.integers(0, CLUSTERS, (n_users, USER_ROWS))
    cluster = np.where(rng.random(away.shape) < 0.5, away, home).ravel()
    rows = _centers()[cluster] + rng.normal(0.0, 2.0, (len(cluster), NARROW))
    names = [f"x{column}" for column in range(NARROW)]
    table = pa.table(dict(zip(names, rows.T, strict=True)))
    table = table.append_column("who", pa.array(np.repeat(np.arange(n_users), USER_ROWS)))
    bounds = dict.fromkeys(names, (-RADIUS, RADIUS))
    model = PrivateKMeans(CLUSTERS, delta=1e-6, bounds=bounds, unit="who").fit(lambda: table)
    plain = KMeans(CLUSTERS, n_init=10, random_state=0).fit(rows[:100_000])
    ratio = loss(rows, model.cluster_centers_) / loss(rows, plain.cluster_centers_)
    _verdict(f"loss with {n_users:,} users, of k-means", ratio, ratio <= USERS, USERS)


def measure(piece: Piece) -> Sized:
    """Make a table and fit it in a process of its own, so that the peak of memory is the fit's."""
    n_rows = int(piece.dataset.split("_")[-1])
    with tempfile.TemporaryDirectory() as folder:
        for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
            part = blobs(number, min(FILE_ROWS, n_rows - start))
            columns = {f"x{column}": part[:, column] for column in range(NARROW)}
            file = Path(folder) / f"{number:04}.parquet"
            pq.write_table(pa.table(columns), file, compression="none", use_dictionary=False)
        size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e9
        command = [sys.executable, "-m", "benchmarks.scale", folder, str(min(FILE_ROWS, n_rows))]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, clock, gigabytes, ratio = map(float, printed.split())
    return Sized(seconds, clock, gigabytes, size, ratio, code_of(FLAGSHIP))


def _fit(folder: str, n_sample: int) -> None:
    """Fit all files of a folder; print seconds, the peak of memory, and the ratio of losses."""
    columns = {f"x{column}": (-RADIUS, RADIUS) for column in range(NARROW)}
    PrivateKMeans(2, delta=1e-9, radius=RADIUS).fit(np.zeros((10, 1)))  # what it imports
    start, clock = time.process_time(), time.perf_counter()
    model = PrivateKMeans(CLUSTERS, delta=1e-10, bounds=columns, random_state=0).fit(folder)
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    gigabytes = _peak()
    plain = KMeans(CLUSTERS, n_init=10, random_state=0).fit(blobs(0, n_sample))
    held_out = blobs(10**6, n_sample).astype(np.float64)
    ratio = loss(held_out, model.cluster_centers_) / loss(held_out, plain.cluster_centers_)
    print(seconds, clock, gigabytes, ratio)


def blobs(number: int, n_rows: int) -> NDArray[np.float32]:
    """Return one file's rows: overlapping blobs around the same centres in all files."""
    rng = np.random.default_rng([2, number])
    rows = rng.standard_normal((n_rows, NARROW), dtype=np.float32) * np.float32(2.0)
    rows += _centers()[rng.integers(0, CLUSTERS, n_rows)].astype(np.float32)
    return rows


def _centers() -> NDArray[np.float64]:
    return np.random.default_rng(1).uniform(-10, 10, (CLUSTERS, NARROW))


def _peak() -> float:
    """Return the most memory this process has held, in GB (Linux).

    `resource` would count what the process that started this one held.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024 / 1e9


def _verdict(what: str, figure: float, met: bool, target: float) -> bool:
    print(f"scale: {what}: {figure:.3f}, target {target:g}: {'PASS' if met else 'NOT MET'}")
    return met


if __name__ == "__main__":
    _fit(sys.argv[1], int(sys.argv[2]))
