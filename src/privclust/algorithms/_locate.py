"""Find where all rows are, their centre and how far from it they reach: bounds may be loose.

A first step, cheap and with nothing known, counts the rows. Each further step measures how far rows
are from the centre, then their mean, clipped as those distances suggest, and so sees the rows from
closer by. The last step is the one after which moving the centre brings them no nearer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privclust.algorithms._cells import SMALLEST, Cells, measure_cells, unmeasured
from privclust.algorithms._refine import Centers, distances_to, refine
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot
from privclust.queries.shells import numbers_changed

LOCATE_STEPS = 8
LOCATE_SHARE, LOCATE_SHARE_MAX = 0.005, 0.06
LOCATE_ROWS = 55.0
"""Steps after the first get the share at which all rows are this many standard deviations."""
FIRST_RADIUS = 0.6
RANGE = 64.0
"""Rows may turn out to lie this many times closer to the centre than one step before."""
FIRST_SLOT = "locate 1"


def locate_roughly(curator: Curator, n_columns: int) -> Cells:
    """Measure for the first time how many rows there are, and where."""
    start = unmeasured(np.zeros((1, n_columns)), np.array([FIRST_RADIUS]))
    return measure_cells(curator, FIRST_SLOT, start)


def locate(curator: Curator, seen: Cells, n_rows: int) -> Centers:
    """Measure until rows come no closer; return their centre and the radius most lie within."""
    steps = [(f"radius {number}", f"locate {number}") for number in range(2, LOCATE_STEPS + 1)]
    noise = curator.rows_per_unit * curator.noise_ratio
    needed = (LOCATE_ROWS * noise / (n_rows * curator.plan.reserve.mu)) ** 2
    share = float(np.clip(needed, LOCATE_SHARE, LOCATE_SHARE_MAX))
    wide = numbers_changed(seen.centers.shape[1])
    slots = [
        slot
        for distances, mean in steps
        for slot in (Slot(distances, share / 2), Slot(mean, share, wide))
    ]
    curator.refine([*slots, Slot("rest", curator.left - 1.5 * share * len(steps), wide)])
    centers = Centers(seen.centers, seen.variance, seen.radii, seen.radii)
    radius, before = float(seen.radii[0]), np.inf
    for distances, mean in steps:
        scale = max(radius / RANGE, SMALLEST)
        centers = replace(centers, radii=np.array([scale]))
        histogram = distances_to(curator, distances, centers.points, centers.radii)
        # Most rows may be alike: then only the far ones tell how wide all of them are.
        widest = max(histogram.quantile(0.8), histogram.root_mean_square)
        radius = min(radius, scale * widest)
        if radius > before / 2:
            break
        centers = refine(curator, mean, centers, histogram, np.array([float(n_rows)]))
        before = radius
    return replace(centers, radii=np.array([max(radius, SMALLEST)]))
