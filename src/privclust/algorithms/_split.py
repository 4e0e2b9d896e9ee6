"""Find many small cells: split, measure, move, and split again.

Cells move to their means, and those of largest inertia are split, until there are enough; cells
that turn out to be empty give their place to parts of others. Cells that hold many rows need little
of the budget, so nearly all of it goes to the last splits. In the end those cells are kept that
noise could not pass off as a cluster, and what certainly lies around a cell becomes one.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from privclust.algorithms._cells import (
    CONFIRMED_FALSE_HINTS,
    FAINT_GROWTH_MAX,
    FALSE_HINTS,
    GROWTH_MAX,
    SMALLEST,
    Cells,
    Tails,
    in_chunks,
    into_ball,
    measure_cells,
)
from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import BoolArray, FloatArray, IntArray
from privclust.kernels.projection import Projection
from privclust.privacy.curator import Curator

STEP = 0.5
"""How far from their cell's centre parts are put, in its radii over the root of the dimension."""
GROWTH = 2.0
"""Shares of the budget grow by this factor while the number of cells doubles."""
PARTS_MAX = 4
"""A cell is split into at most this many at once, unless hardly any other holds rows."""
EMPTY = 1.0
"""A cell with fewer standard deviations of rows gives its place to a part of another."""
PROOF = 2.0
"""Standard deviations of rows that a cell far from all others must hold, alone or with those
around it: noise could win it a centre."""
ASIDE = 0.75
"""Rows of a shell lie aside of its cell if no larger part of their inertia is left about their own
mean. A shell that only noise filled has its mean in the middle of the cell."""
PULL = 0.25
"""How much of a cluster's average loss noise on a cell's count may look like."""
NEARBY = 0.25
"""Cells stand together whose squared distance is this part of that to any certain one."""


def schedule(n_cells: int, repeats: int) -> list[int]:
    """Return the number of cells at each step: doubling, `repeats` steps each.

    Examples
    --------
    >>> schedule(6, 2)
    [1, 2, 2, 4, 4, 6, 6]
    """
    sizes = [1]
    while sizes[-1] < n_cells:
        sizes += [min(2 * sizes[-1], n_cells)] * repeats
    return sizes


def shares(steps: list[int]) -> FloatArray:
    """Return the part of the budget each step gets."""
    parts = (np.array(steps) / steps[-1]) ** np.log2(GROWTH)
    return np.asarray(parts / parts.sum())


def find_cells(
    curator: Curator,
    slots: list[str],
    steps: list[int],
    start: Cells,
    rng: np.random.Generator,
    projection: Projection | None = None,
    confirmed_later: bool = False,
) -> Cells:
    """Measure once for each slot and return the last cells.

    What only noise hints at costs no cluster where lone cells will be confirmed.
    """
    cells = start
    false_hints = CONFIRMED_FALSE_HINTS if confirmed_later else FALSE_HINTS
    # Each number of cells is measured once where clusters are faint.
    growth_max = FAINT_GROWTH_MAX if len(set(steps)) == len(steps) else GROWTH_MAX
    for slot, n_cells in zip(slots, steps, strict=True):
        if n_cells > len(cells.centers):
            parts = split(cells, n_cells, rng)
            cells = measure_cells(curator, slot, parts, projection, growth_max, false_hints)
        else:
            most = 2 * n_cells - len(cells.centers)
            cells = _measure_again(curator, slot, cells, most, projection, false_hints)
    return cells


def _measure_again(
    curator: Curator,
    slot: str,
    cells: Cells,
    most: int,
    projection: Projection | None,
    false_hints: float,
) -> Cells:
    """Measure cells a second time, with what seems to lie aside of them as cells of their own.

    There are at most `most` of these. The count of a cell becomes the mean of both measurements,
    unless a part of it is a cell now. A new cell has only the second, and is kept if that proves
    it: the first one chose it, among many, for its noise.
    """
    before, tails = len(cells.counts), cells.tails
    if tails is None:
        return measure_cells(curator, slot, cells, projection, false_hints=false_hints)
    aside = (tails.counts > 0) & (tails.within < ASIDE * tails.inertia)
    seen = _largest_shells(tails, aside, most)
    joined = _with_shells(cells, tails, seen)
    again = measure_cells(curator, slot, joined, projection, false_hints=false_hints)
    kept = again.counts > PROOF * again.count_sigma
    kept[:before] = True
    counts, sigma = again.counts.copy(), again.count_sigma.copy()
    same = np.flatnonzero(~seen.any(axis=1))
    counts[same] = (cells.counts[same] + counts[same]) / 2
    sigma[same] = np.hypot(cells.count_sigma[same], sigma[same]) / 2
    return replace(again, counts=counts, count_sigma=sigma)[kept]


def split(cells: Cells, n_cells: int, rng: np.random.Generator) -> Cells:
    """Replace cells of large inertia by several, and empty ones by none.

    Parts lie a little aside of their cell's centre, or in its tail if that has more inertia. Where
    few cells hold rows there may be fewer than `n_cells` then, but no fewer than half.
    """
    held = cells.counts > EMPTY * cells.count_sigma
    if cells.tails is not None and held.any():
        cells = cells[held]
    tails = cells.tails
    beside = np.zeros_like(cells.inertia) if tails is None else tails.inertia.sum(axis=1)
    parent = _apportion(cells.inertia + beside, n_cells)
    n_columns = cells.centers.shape[1]
    directions = rng.normal(size=(len(parent), n_columns))
    directions *= STEP / np.sqrt(n_columns) / np.linalg.norm(directions, axis=1, keepdims=True)
    radii = cells.radii[parent]
    asides = directions * radii[:, None]
    added = cells.centers[parent] - asides
    if tails is not None:
        shell = tails.inertia[parent].argmax(axis=1)
        widths = np.sqrt(tails.within[parent, shell] / np.maximum(tails.counts[parent, shell], 1.0))
        in_tail = beside[parent] > cells.inertia[parent]
        tail = tails.centers[parent, shell] - directions * widths[:, None]
        added = np.where(in_tail[:, None], tail, added)
        radii = np.where(in_tail, np.maximum(widths, radii), radii)
        asides[in_tail] = 0.0
    centers = np.vstack([cells.centers, added])
    halved, first = np.unique(parent, return_index=True)
    centers[halved] += asides[first]
    both = np.concatenate([np.arange(len(cells.centers)), parent])
    return Cells(
        into_ball(centers),
        np.concatenate([cells.radii, radii]),
        cells.counts[both],
        cells.inertia[both],
        cells.variance[both],
        cells.count_sigma[both],
    )


def _apportion(inertia: FloatArray, n_cells: int) -> IntArray:
    """Return which cells get one more part, so that the inertia of a part is nowhere large.

    Examples
    --------
    >>> _apportion(np.array([10.0, 1.0, 4.0]), 6).tolist()
    [0, 0, 2]
    """
    before = len(inertia)
    # Half of the cells are enough for as many clusters, and fewer are not.
    parts = np.arange(1.0, max(PARTS_MAX, math.ceil(n_cells / 2 / before)))
    order = np.argsort(-(inertia[:, None] / parts), axis=None, kind="stable")
    return np.asarray(order[: n_cells - before] // len(parts))


def settled(cells: Cells, n_clusters: int) -> Cells:
    """Return the cells that noise could not pass off as a cluster, and certain tails as cells."""
    return with_certain_tails(cells[_trusted(cells, n_clusters)])


def with_certain_tails(cells: Cells) -> Cells:
    """Return cells, and what certainly lies in shells around them as cells of their own."""
    tails = cells.tails
    if tails is None:
        return cells
    return _with_shells(cells, tails, _largest_shells(tails, tails.certain, len(cells.counts)))


def _largest_shells(tails: Tails, shells: BoolArray, most: int) -> BoolArray:
    """Tell which of some shells are the `most` ones of largest inertia.

    There were never more. If there are, queries still measure no more numbers than was said before
    the first charge.
    """
    order = np.argsort(-np.where(shells, tails.inertia, -1.0), axis=None, kind="stable")
    largest = shells.copy()
    largest.flat[order[most:]] = False
    return largest


def _with_shells(cells: Cells, tails: Tails, chosen: BoolArray) -> Cells:
    """Return cells, and some of the shells around them as cells of their own."""
    counts, within = tails.counts[chosen], tails.within[chosen]
    return Cells(
        into_ball(np.vstack([cells.centers, tails.centers[chosen]])),
        np.clip(np.concatenate([cells.radii, np.sqrt(within / counts)]), SMALLEST, 1.0),
        np.concatenate([cells.counts, counts]),
        np.concatenate([cells.inertia, within]),
        np.concatenate([cells.variance, tails.variance[chosen]]),
        np.concatenate([cells.count_sigma, tails.count_sigma[chosen]]),
    )


def _trusted(cells: Cells, n_clusters: int) -> BoolArray:
    """Tell which cells to keep: far from all others, an empty one would win a centre by noise."""
    certain = cells.counts > PROOF * cells.count_sigma
    if not certain.any():
        return np.ones(len(certain), dtype=np.bool_)
    alone = squared_gaps_to(cells, certain)
    alone[certain] = 0.0
    proven = np.zeros(len(certain), dtype=np.bool_)
    for part in in_chunks(len(certain)):
        gaps = squared_gaps(cells.centers[part], cells.centers)
        together = (gaps <= NEARBY * alone[part, None]).astype(np.float64)
        noise = np.sqrt(together @ cells.count_sigma**2)
        proven[part] = together @ cells.counts > PROOF * noise
    trusted = certain | proven | ~looks_like_a_cluster(cells, certain, alone, n_clusters)
    trusted[np.argsort(-cells.counts, kind="stable")[: n_clusters + 1]] = True
    return np.asarray(trusted)


def squared_gaps_to(cells: Cells, others: BoolArray) -> FloatArray:
    """Return each cell's squared distance to the nearest of some of them."""
    gaps = np.empty(len(others))
    for part in in_chunks(len(others)):
        gaps[part] = squared_gaps(cells.centers[part], cells.centers[others]).min(axis=1)
    return gaps


def looks_like_a_cluster(
    cells: Cells, certain: BoolArray, gaps: FloatArray, n_clusters: int
) -> BoolArray:
    """Tell where noise on a cell's count, so far from certain ones, is worth a centre."""
    loss_per_cluster = float(cells.counts[certain] @ cells.radii[certain] ** 2) / n_clusters
    return np.asarray(cells.count_sigma * gaps >= PULL * loss_per_cluster)
