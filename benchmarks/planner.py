"""Whether a fit gives what `privclust plan` forecast."""

from __future__ import annotations

import warnings

from privclust import forecast, simulate
from privclust.planning.forecast import FOUND

WITHIN = 1.25
SETTINGS = [
    (columns, clusters, rows, epsilon)
    for (columns, clusters), epsilon in zip(
        [(2, 4), (4, 8), (8, 8), (4, 32), (16, 16), (12, 5), (24, 10), (48, 8), (96, 12), (3, 20)],
        [0.5, 1.0, 2.0, 1.0, 0.5, 4.0, 1.0, 2.0, 1.0, 0.25],
        strict=True,
    )
    for rows in (100 * clusters // max(1, int(epsilon)), 3000 * clusters)
]


def main(quick: bool) -> None:
    """Compare forecasts and simulations; one that says 'not found' must be right, too."""
    warnings.simplefilter("ignore")  # that clusters are hard to find is the point here
    right = 0
    settings = SETTINGS[:4] if quick else SETTINGS
    for columns, clusters, rows, epsilon in settings:
        expected = forecast(rows, columns, clusters, epsilon=epsilon, delta=1e-6)
        measured = simulate(rows, columns, clusters, epsilon=epsilon, delta=1e-6, repeats=5)
        if expected.found:
            agrees = 1 / WITHIN <= measured.ratio / expected.ratio <= WITHIN
        else:
            agrees = measured.ratio > FOUND
        right += agrees
        print(
            f"{columns} columns, {clusters} clusters, {rows} rows, epsilon {epsilon:g}: expected "
            f"{expected.ratio:.3f}, measured {measured.ratio:.3f}{'' if agrees else '  WRONG'}"
        )
    if not quick:
        verdict = "PASS" if right == len(settings) else "NOT MET"
        print(f"planner {right} of {len(settings)}: {verdict}")
