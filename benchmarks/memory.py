"""How much memory fits take: of ten million rows, and of a thousand clusters of a thousand columns.

Each fit has a process of its own, so that the most it ever held is the fit's.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.speed import radius, table
from privclust import PrivateKMeans

LONG, WIDE = "overlapping_16_64_10000000", "apart_1000_1000_100000"
"""Blobs, columns, clusters and rows."""
BESIDE, IN_ALL, MINUTES = 1.0, 4.0, 5.0
"""Targets: GB beside the rows of the long table; GB in all and minutes of the wide one."""


def main(quick: bool) -> None:
    """Print memory and time of the fits, each in a process of its own."""
    for name in ("overlapping_16_64_20000",) if quick else (LONG, WIDE):
        command = [sys.executable, "-m", "benchmarks.memory", name]
        subprocess.run(command, check=True)


def measure(name: str) -> None:
    """Print what a fit holds at most, and beyond what the process held before it."""
    rows = table(name)
    _, columns, clusters, _ = name.split("_")
    PrivateKMeans(2, delta=1e-6, radius=radius(1)).fit(rows[:1000, :1])  # what it imports
    before, start = _held(), (time.process_time(), time.perf_counter())
    private = PrivateKMeans(int(clusters), delta=1e-6, radius=radius(int(columns)), random_state=0)
    private.fit(rows)
    cpu, clock = time.process_time() - start[0], time.perf_counter() - start[1]
    in_all = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    size = f"{len(rows):,} rows of {columns} columns, {rows.nbytes / 1e9:.2f} GB"
    print(f"{size}, {clusters} clusters:")
    print(f"{in_all - before:.2f} GB beside {before:.2f} GB, {cpu:.0f} CPU s, {clock:.0f} s")
    if name == LONG:
        _judge("GB beside the rows", in_all - before, BESIDE)
    elif name == WIDE:
        _judge("GB in all", in_all, IN_ALL)
        _judge("minutes", clock / 60, MINUTES)


def _judge(what: str, figure: float, target: float) -> None:
    print(f"memory: {what} {figure:.3f} {target:g} {'PASS' if figure <= target else 'NOT MET'}")


def _held() -> float:
    """Return what this process holds now, in GB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize() / 1e9


if __name__ == "__main__":
    measure(sys.argv[1])
