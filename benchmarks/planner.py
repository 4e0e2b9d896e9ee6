"""Whether a fit gives what `privclust plan` forecast."""

from __future__ import annotations

import warnings

from privclust import forecast, simulate

WITHIN = 1.25
NEEDED = 1.1
"""Where rows suffice, the loss is within 10 % of that of k-means."""
SETTINGS = [
    (columns, clusters, rows, epsilon, 1)
    for (columns, clusters), epsilon in zip(
        [(2, 4), (4, 8), (8, 8), (4, 32), (16, 16), (12, 5), (24, 10), (48, 8), (96, 12), (3, 20)],
        [0.5, 1.0, 2.0, 1.0, 0.5, 4.0, 1.0, 2.0, 1.0, 0.25],
        strict=True,
    )
    for rows in (100 * clusters // max(1, int(epsilon)), 3000 * clusters)
]
UNIT_SETTINGS = [
    (4, 8, 20_000, 1.0, 50),
    (4, 4, 7_000, 1.0, 10),
    (2, 3, 5_000, 2.0, 20),
    (16, 4, 20_000, 1.0, 10),
    (40, 3, 6_000, 4.0, 5),
    (3, 6, 60_000, 0.5, 20),
]
"""Columns, clusters, rows, epsilon and rows of a unit: 400 users of 50 rows, and others."""


def main(quick: bool) -> None:
    """Compare forecasts and simulations; one that says 'not found' must be right, too."""
    warnings.simplefilter("ignore")  # that clusters are hard to find is the point here
    right = 0
    settings = [*SETTINGS[:4], *UNIT_SETTINGS[:3]] if quick else [*SETTINGS, *UNIT_SETTINGS]
    for columns, clusters, rows, epsilon, rows_per_unit in settings:
        given = {"epsilon": epsilon, "delta": 1e-6, "max_rows_per_unit": rows_per_unit}
        expected = forecast(rows, columns, clusters, **given)  # type: ignore[arg-type]
        measured = simulate(rows, columns, clusters, repeats=5, **given)  # type: ignore[arg-type]
        if expected.found:
            agrees = 1 / WITHIN <= measured.ratio / expected.ratio <= WITHIN
        else:
            agrees = measured.ratio > NEEDED
        right += agrees
        units = "" if rows_per_unit == 1 else f" of units of {rows_per_unit}"
        print(
            f"{columns} columns, {clusters} clusters, {rows} rows{units}, epsilon {epsilon:g}: "
            f"{rows / expected.rows_needed:.2f} of the rows needed, expected {expected.ratio:.3f}"
            f"{'' if expected.found else ' (not found)'}, measured {measured.ratio:.3f}"
            f"{'' if agrees else '  WRONG'}"
        )
    if not quick:
        verdict = "PASS" if right == len(settings) else "NOT MET"
        print(f"planner {right} of {len(settings)}: {verdict}")
