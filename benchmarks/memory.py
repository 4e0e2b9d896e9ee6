"""How much memory one fit of ten million rows takes beside the rows themselves."""

from __future__ import annotations

import resource
from pathlib import Path

from benchmarks.speed import radius, table
from privclust import PrivateKMeans

TARGET = 1.0
COLUMNS, CLUSTERS = 16, 64


def main(quick: bool) -> None:
    """Print what a fit holds at most, beyond what the process held before it."""
    rows = table(f"overlapping_{COLUMNS}_{CLUSTERS}_{20_000 if quick else 10_000_000}")
    PrivateKMeans(2, delta=1e-6, radius=radius(COLUMNS)).fit(rows[:1000])  # what it imports
    before = _held()
    PrivateKMeans(CLUSTERS, delta=1e-6, radius=radius(COLUMNS), random_state=0).fit(rows)
    beside = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9 - before
    print(
        f"{len(rows):,} rows of {rows.nbytes / 1e9:.2f} GB: {beside:.2f} GB beside {before:.2f} GB"
    )
    if not quick:
        print(f"memory {beside:.3f} {TARGET} {'PASS' if beside <= TARGET else 'NOT MET'}")


def _held() -> float:
    """Return what this process holds now, in GB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * resource.getpagesize() / 1e9
