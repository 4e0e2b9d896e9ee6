"""Cells that stand alone far out: whether rows lie there, or noise alone put them there.

A cell far from all others wins a centre even if it holds few rows, and a cluster loses its own. How
many rows lie as far out as it does, of all directions, is one number, and shows rows better than
the cell's own count, one of many.
"""

from __future__ import annotations

import numpy as np

from privclust.algorithms._cells import Cells
from privclust.algorithms._distances import EDGES, Distances
from privclust.algorithms._refine import distances_to
from privclust.algorithms._split import looks_like_a_cluster, squared_gaps_to
from privclust.kernels.grid import BoolArray, FloatArray
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot

FAR_SLOT = Slot("far", 0.05)
SURE = 5.0
"""A cell holds rows beyond doubt with so many standard deviations of them."""
ALONE = 4.0
"""A cell is alone that lies farther from these than so many of their radii."""
CONFIRMED = 4.5
"""Standard deviations that a cell's own rows and those as far out have together, if it stays."""


def doubtful_cells(cells: Cells, n_clusters: int) -> BoolArray:
    """Tell which cells may be noise that would win a centre."""
    sure = _sure(cells)
    if not sure.any():
        return sure
    gaps = squared_gaps_to(cells, sure)
    alone = gaps > (ALONE * _width(cells, sure)) ** 2
    return ~sure & alone & looks_like_a_cluster(cells, sure, gaps, n_clusters)


def confirmed(curator: Curator, cells: Cells, doubtful: BoolArray, n_clusters: int) -> Cells:
    """Measure how far rows lie from cells beyond doubt, and return the cells that this confirms.

    All of them are returned if there would be too few for so many clusters.
    """
    sure = _sure(cells)
    width = _width(cells, sure)
    distances = distances_to(
        curator, FAR_SLOT.name, cells.centers[sure], np.full(int(sure.sum()), width)
    )
    away = np.sqrt(squared_gaps_to(cells, sure)[doubtful]) / width
    own = cells.counts[doubtful] / cells.count_sigma[doubtful]
    kept = np.ones(len(sure), dtype=np.bool_)
    kept[doubtful] = own + _farther(distances, away) > CONFIRMED
    return cells[kept] if kept.sum() > n_clusters else cells


def _farther(distances: Distances, away: FloatArray) -> FloatArray:
    """Return how many standard deviations of rows lie about as far out, or beyond.

    Noise may have put a cell farther out than its rows, so bins from one before its own count, and
    rows may fill few bins or many, so that those count which tell most.
    """
    first = np.searchsorted(EDGES, away, side="right") - 1
    found = np.empty(len(away))
    for number, start in enumerate(np.maximum(first, 1)):
        votes = np.cumsum(distances.votes[start:])
        found[number] = (votes / np.sqrt(np.arange(1.0, len(votes) + 1))).max()
    return found / distances.sigma


def _sure(cells: Cells) -> BoolArray:
    return np.asarray(cells.counts > SURE * cells.count_sigma)


def _width(cells: Cells, sure: BoolArray) -> float:
    return float(np.median(cells.radii[sure]))
