"""Find where all rows are, their centre and how far from it they reach: bounds may be loose.

A first look, cheap and with nothing known, counts the rows. Each further look asks how far rows
are from the centre, then for their mean, clipped as those distances suggest, and so sees the rows
from closer by. It ends when moving the centre no longer brings them nearer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privclust.algorithms._refine import Centers, distances_to, refine
from privclust.algorithms._split import Cells, measured, one_cell
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, numbered

LOCATE_STEPS = 8
LOCATE_SHARE, LOCATE_SHARE_MAX = 0.005, 0.06
LOCATE_ROWS = 55.0
"""Looks after the first get the share at which all rows are this many standard deviations."""
FIRST_RADIUS = 0.6
RANGE = 64.0
"""Rows may turn out to lie this many times closer to the centre than one look before."""
FIRST_SLOT = "locate 1"


def look(curator: Curator, n_columns: int) -> Cells:
    """Look at all rows for the first time: how many are there, and where, roughly."""
    return measured(curator, FIRST_SLOT, one_cell(np.zeros(n_columns), FIRST_RADIUS))


def locate(curator: Curator, seen: Cells, n_rows: int) -> Centers:
    """Look again until rows come no closer; return their centre and the radius most lie within."""
    reaches, looks = numbered("radius", LOCATE_STEPS)[1:], numbered("locate", LOCATE_STEPS)[1:]
    needed = (LOCATE_ROWS / (n_rows * curator.plan.reserve.mu)) ** 2
    share = float(np.clip(needed, LOCATE_SHARE, LOCATE_SHARE_MAX))
    wide = seen.centers.shape[1] + 2
    slots = [
        slot
        for reach, look in zip(reaches, looks, strict=True)
        for slot in (Slot(reach, share / 2), Slot(look, share, wide))
    ]
    curator.refine([*slots, Slot("rest", curator.left - 1.5 * share * len(looks), wide)])
    centers = Centers(seen.centers, seen.variance, seen.radii)
    radius, before = float(seen.radii[0]), np.inf
    for reach, look in zip(reaches, looks, strict=True):
        distances = distances_to(curator, reach, centers.points, radius / RANGE)
        radius = min(radius, distances.quantile(0.8))
        if radius > before / 2:
            break
        centers = refine(curator, look, centers, distances, n_rows)
        before = radius
    return replace(centers, radii=np.array([radius]))
