"""Run measurements by name: ``python -m benchmarks NAME... [--quick | --report]``.

``python -m benchmarks figures`` draws all figures of measurements again, from what is kept,
and ``python -m benchmarks pages`` writes the tables of pages anew.
"""

from __future__ import annotations

import argparse

from benchmarks import (
    audit,
    blobs,
    cohorts,
    cores,
    coreset,
    cost,
    csv,
    elbow,
    embeddings,
    errorbars,
    faults,
    federated,
    lake,
    limits,
    lsh_calibration,
    memory,
    mixed,
    moves,
    overhead,
    planner,
    profiles,
    quality,
    refit,
    reproduce,
    robustness,
    scale,
    series,
    spark_cost,
    speed,
    stability,
    thesis,
    topics,
    utility,
)
from benchmarks.figures.redraw import redraw
from benchmarks.pages import renew


def _scale(quick: bool) -> None:
    """Measure tables on one machine, then on Spark."""
    scale.main(quick)
    lake.main(quick)


MEASUREMENTS = {
    "audit": audit.main,
    "blobs": blobs.main,
    "cohorts": cohorts.main,
    "cores": cores.main,
    "coreset": coreset.main,
    "cost": cost.main,
    "csv": csv.main,
    "elbow": elbow.main,
    "embeddings": embeddings.main,
    "errorbars": errorbars.main,
    "faults": faults.main,
    "federated": federated.main,
    "limits": limits.main,
    "lsh_calibration": lsh_calibration.main,
    "memory": memory.main,
    "mixed": mixed.main,
    "moves": moves.main,
    "overhead": overhead.main,
    "planner": planner.main,
    "profiles": profiles.main,
    "quality": quality.main,
    "refit": refit.main,
    "reproduce": reproduce.main,
    "robustness": robustness.main,
    "scale": _scale,
    "series": series.main,
    "spark_cost": spark_cost.main,
    "speed": speed.main,
    "stability": stability.main,
    "thesis": thesis.main,
    "topics": topics.main,
    "utility": utility.main,
}
REPORTS = {
    "audit": audit.report,
    "cohorts": cohorts.report,
    "federated": federated.report,
    "moves": moves.report,
    "quality": quality.report,
    "refit": refit.report,
    "reproduce": reproduce.report,
    "robustness": robustness.report,
    "scale": scale.report,
    "series": series.report,
    "spark_cost": spark_cost.report,
    "speed": speed.report,
    "stability": stability.report,
    "thesis": thesis.report,
    "utility": utility.report,
}


def main() -> None:
    """Run the measurements named on the command line, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="+", choices=[*MEASUREMENTS, "figures", "pages"], metavar="NAME"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="a few seconds, nothing is kept")
    how.add_argument("--report", action="store_true", help="print from the results that are kept")
    parser.add_argument(
        "--estimator", metavar="MODULE:CLASS", help="with utility: compare one of your own"
    )
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="with robustness: fit PrivateKMeans to the held-out half",
    )
    given = parser.parse_args()
    if given.held_out and (given.names != ["robustness"] or given.quick or given.report):
        parser.error("--held-out goes with robustness, without --quick and --report")
    if given.estimator is not None and (given.names != ["utility"] or given.report):
        parser.error("--estimator goes with utility, without --report")
    if given.report and not set(given.names) <= set(REPORTS):
        parser.error(f"results are kept of {', '.join(REPORTS)}; run others without --report")
    met = [_run(name, given) for name in given.names]
    if not all(met):
        raise SystemExit(1)


def _run(name: str, given: argparse.Namespace) -> bool:
    """Run one measurement; a report tells whether every target is met."""
    if given.report:
        return REPORTS[name]()
    if name == "figures":
        redraw()
    elif name == "pages":
        renew()
    elif given.held_out:
        robustness.main(quick=False, held_out=True)
    elif given.estimator is not None:
        utility.compare(given.estimator, given.quick)
    else:
        MEASUREMENTS[name](given.quick)
    return True


if __name__ == "__main__":
    main()
