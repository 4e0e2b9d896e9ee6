"""Run one measurement by name: ``python -m benchmarks NAME [--quick | --report]``."""

from __future__ import annotations

import argparse

from benchmarks import blobs, cost, reproduce, utility


def main() -> None:
    """Run the measurement named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=("blobs", "cost", "reproduce", "utility"))
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="a few seconds, nothing is kept")
    how.add_argument("--report", action="store_true", help="print from the results that are kept")
    given = parser.parse_args()
    kept = {"reproduce": reproduce, "utility": utility}.get(given.name)
    if kept is not None:
        if given.report:
            raise SystemExit(0 if kept.report() else 1)
        kept.main(given.quick)
        return
    if given.report:
        parser.error(f"{given.name} keeps no results; run it without --report")
    {"blobs": blobs.main, "cost": cost.main}[given.name](given.quick)


if __name__ == "__main__":
    main()
