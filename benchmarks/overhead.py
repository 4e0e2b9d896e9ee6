"""What a durable ledger costs: fits of 100,000 rows with and without one, by turns.

Five times over; the median of the five ratios is what counts.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.speed import radius, table
from privclust import Ledger, PrivateKMeans

TARGET = 1.05
SERIES, REPEATS = 5, 9
COLUMNS, CLUSTERS = 16, 16


def main(quick: bool) -> None:
    """Print CPU seconds, seconds on the clock, and the ratio of their medians."""
    rows = table(f"overlapping_{COLUMNS}_{CLUSTERS}_{20_000 if quick else 100_000}")
    ratios = [_ratio(rows, repeats=1 if quick else REPEATS) for _ in range(1 if quick else SERIES)]
    if not quick:
        ratio = float(np.median(ratios))
        print(f"overhead {ratio:.3f} {TARGET} {'PASS' if ratio <= TARGET else 'NOT MET'}")


def _ratio(rows: NDArray[np.float32], repeats: int) -> float:
    """Return CPU time with a new ledger over that without one, medians of fits by turns."""
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "budget.db")
        Ledger.create(place, "rows", epsilon=64.0, delta=1e-6)
        model = PrivateKMeans(CLUSTERS, delta=1e-6, radius=radius(COLUMNS), random_state=0)
        recorded = PrivateKMeans(**model.get_params()).set_params(ledger=place, dataset="rows")
        turns = [[_seconds(turn, rows) for turn in (model, recorded)] for _ in range(1 + repeats)]
    (cpu, clock), (cpu_recorded, clock_recorded) = np.median(np.array(turns[1:]), axis=0)
    ratio = float(cpu_recorded / cpu)
    print(f"without a ledger {cpu:.2f} CPU s, {clock:.2f} s; with one {cpu_recorded:.2f}", end="")
    print(f" CPU s, {clock_recorded:.2f} s; ratio {ratio:.3f}", end="")
    print(f", on the clock {clock_recorded / clock:.3f}")
    return ratio


def _seconds(model: PrivateKMeans, rows: NDArray[np.float32]) -> tuple[float, float]:
    cpu, clock = time.process_time(), time.perf_counter()
    model.fit(rows)
    return time.process_time() - cpu, time.perf_counter() - clock
