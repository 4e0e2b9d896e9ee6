"""Run one measurement by name."""

from __future__ import annotations

import sys

from benchmarks import blobs, cost

MEASUREMENTS = {"blobs": blobs.main, "cost": cost.main}


def main() -> None:
    """Run the measurement named on the command line."""
    if len(sys.argv) != 2 or sys.argv[1] not in MEASUREMENTS:
        raise SystemExit(f"usage: python -m benchmarks {{{'|'.join(MEASUREMENTS)}}}")
    MEASUREMENTS[sys.argv[1]]()


if __name__ == "__main__":
    main()
