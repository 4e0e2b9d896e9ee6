"""How much memory one fit of ten million rows takes beside the rows themselves."""

from __future__ import annotations

import resource
from pathlib import Path

from benchmarks.speed import RADIUS, table
from privclust import PrivateKMeans

TARGET = 1.0


def main(quick: bool) -> None:
    """Print what a fit holds at most, beyond what the process held before it."""
    rows = table("overlapping_64_20000" if quick else "overlapping_64_10000000")
    PrivateKMeans(2, delta=1e-6, radius=RADIUS).fit(rows[:1000])  # what it imports
    before = _held()
    PrivateKMeans(64, delta=1e-6, radius=RADIUS, random_state=0).fit(rows)
    beside = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9 - before
    print(
        f"{len(rows):,} rows of {rows.nbytes / 1e9:.2f} GB: {beside:.2f} GB beside {before:.2f} GB"
    )
    if not quick:
        print(f"memory {beside:.3f} {TARGET} {'PASS' if beside <= TARGET else 'NOT MET'}")


def _held() -> float:
    """Return what this process holds now, in GB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e9
