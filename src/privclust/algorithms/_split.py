"""Find many small cells: split, measure, move, and split again.

All rows belong to the nearest of a few cells. One query measures every cell's count, mean and
width; cells move to their means and the widest are split in two, until there are enough. Cells
that hold many rows need little of the budget, so nearly all of it goes to the last splits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, ndtri

from privclust.algorithms._shrinkage import sampling_variance, weigh_means
from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import FloatArray, IntArray
from privclust.kernels.projection import Projection
from privclust.models.clustering import Coreset, Precision
from privclust.privacy.curator import Curator
from privclust.queries.clusters import ClusterMoments
from privclust.queries.shells import CORE_RADII, FAR_COUNT, FAR_RESIDUAL, SHELL_RATIO, ShellMoments

WEIGHT = 0.6
SQUARE_WEIGHT = 0.4
CLIP = 0.9
"""Residuals are clipped at this part of a cell's root mean square."""
STEP = 0.5
GROWTH = 2.0
"""Shares of the budget grow by this factor while the number of cells doubles."""
CAUTION = 3.0
"""How much a cell's width leans towards that of all, in standard deviations of its count."""
SMALLEST = 2.0**-19
PARTS_MAX = 4
"""A cell is split into at most this many at once."""
FALSE_SHELLS = 0.01
"""How many empty shells a measurement may take to hold rows, on average."""
SHELLS_MAX = 10
GROW = 2.0
OCTAVES = 1.0
HINT = 3.0
PRUNE = 1.0
GAUSS = True
GROWN = 1.5


@dataclass(frozen=True, eq=False)
class Cells:
    """What is known of every cell; all of it follows from Releases.

    Attributes
    ----------
    centers : array of shape (M, p)
        Points of the unit ball.
    radii : array of shape (M,)
        Root mean square distances, noisy.
    counts, inertia : array of shape (M,)
        Noisy numbers of rows, and their summed squared distances.
    variance : array of shape (M,)
        Variance of the noise on each of a centre's coordinates.
    count_sigma : float
        Standard deviation of the noise on a count.
    """

    centers: FloatArray
    radii: FloatArray
    counts: FloatArray
    inertia: FloatArray
    variance: FloatArray
    count_sigma: float
    tails: Tails | None = None


@dataclass(frozen=True, eq=False)
class Tails:
    centers: FloatArray
    counts: FloatArray
    inertia: FloatArray
    within: FloatArray
    variance: FloatArray
    sure: NDArray[np.bool_]


def one_cell(center: FloatArray, radius: float) -> Cells:
    """Return a single cell that holds all rows, nothing of which has been measured."""
    unknown = np.ones(1)
    return Cells(center[None], np.array([radius]), unknown, unknown, unknown, np.inf)


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
    n_clusters: int = 1,
) -> Cells:
    """Measure once for each slot and return the last cells."""
    cells = start
    for slot, n_cells in zip(slots, steps, strict=True):
        cells = measure_shells(curator, slot, split(cells, n_cells, rng), projection)
    return with_tails(cells, n_clusters)


def split(cells: Cells, n_cells: int, rng: np.random.Generator) -> Cells:
    """Replace cells of large inertia by several, until there are enough."""
    if PRUNE and cells.tails is not None:
        keep = cells.counts > PRUNE * cells.count_sigma
        if keep.any():
            cells = _chosen(cells, keep)
    tails = cells.tails
    whole = cells.inertia if tails is None else cells.inertia + tails.inertia.sum(axis=1)
    widest = _apportioned(whole, max(n_cells - len(whole), 0))
    n_columns = cells.centers.shape[1]
    directions = rng.normal(size=(len(widest), n_columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    aside = directions * (STEP * cells.radii[widest] / np.sqrt(n_columns))[:, None]
    added, radii = cells.centers[widest] - aside, cells.radii[widest]
    moved = aside
    if tails is not None:
        tailed = tails.inertia.sum(axis=1)[widest] > cells.inertia[widest]
        shell = tails.inertia[widest].argmax(axis=1)
        held = np.maximum(tails.counts[widest, shell], 1.0)
        wide = np.sqrt(tails.within[widest, shell] / held)
        apart = directions * (STEP * wide / np.sqrt(n_columns))[:, None]
        added = np.where(tailed[:, None], tails.centers[widest, shell] - apart, added)
        radii = np.where(tailed, np.maximum(wide, radii), radii)
        moved = np.where(tailed[:, None], 0.0, aside)
    centers = np.vstack([cells.centers, added])
    first = np.unique(widest, return_index=True)[1]
    centers[widest[first]] += moved[first]
    both = np.concatenate([np.arange(len(cells.centers)), widest])
    return Cells(
        into_ball(centers),
        np.concatenate([cells.radii, radii]),
        cells.counts[both],
        cells.inertia[both],
        cells.variance[both],
        cells.count_sigma,
    )


def _chosen(cells: Cells, keep: NDArray[np.bool_]) -> Cells:
    tails = cells.tails
    assert tails is not None
    return Cells(
        cells.centers[keep],
        cells.radii[keep],
        cells.counts[keep],
        cells.inertia[keep],
        cells.variance[keep],
        cells.count_sigma,
        Tails(
            tails.centers[keep],
            tails.counts[keep],
            tails.inertia[keep],
            tails.within[keep],
            tails.variance[keep],
            tails.sure[keep],
        ),
    )


def _apportioned(inertia: FloatArray, n_more: int) -> IntArray:
    """Return which cells get one more part, so that the inertia of a part is nowhere large.

    Examples
    --------
    >>> _apportioned(np.array([10.0, 1.0, 4.0]), 3).tolist()
    [0, 0, 2]
    """
    parts = np.arange(1.0, PARTS_MAX)
    each = inertia[:, None] / parts
    order = np.argsort(-each, axis=None, kind="stable")[:n_more]
    return np.asarray(order // len(parts))


def measure_cells(
    curator: Curator, slot: str, cells: Cells, projection: Projection | None = None
) -> Cells:
    """Measure every cell, move it to its mean and learn its radius."""
    clips = np.clip(CLIP * cells.radii, SMALLEST, 1.0)
    query = ClusterMoments(cells.centers, clips, WEIGHT, SQUARE_WEIGHT, projection)
    release = curator.measure(slot, query)
    sums, counts, squares = query.split(release.values)
    counts, squares = np.maximum(counts, 0.0), np.maximum(squares, 0.0)
    step = weigh_means(sums, counts, release.sigma, clips, WEIGHT)
    # Noise must not make all cells seem to be points: nothing narrower than it can be seen.
    visible = 2 * float(np.linalg.norm(release.sigma / SQUARE_WEIGHT * clips**2))
    typical = max(squares.sum(), visible) / max(counts.sum(), 1.0)
    doubt = CAUTION * release.sigma / SQUARE_WEIGHT
    radii = np.sqrt((squares + doubt * typical) / (counts + doubt)) / CLIP
    radii = np.minimum(radii, cells.radii)
    return Cells(
        into_ball(cells.centers + step.moves),
        np.maximum(radii, SMALLEST),
        counts,
        squares * (counts > 0),
        step.variance,
        release.sigma / WEIGHT,
    )


def measure_shells(
    curator: Curator, slot: str, cells: Cells, projection: Projection | None = None
) -> Cells:
    """Measure every cell's core and tail, move it to its core's mean and learn its radius."""
    clips = np.clip(CLIP * cells.radii, SMALLEST, 1.0)
    needed = math.log(2 / (CORE_RADII * float(clips.min()))) / math.log(SHELL_RATIO)
    n_shells = min(max(math.ceil(needed), 1), SHELLS_MAX)
    query = ShellMoments(cells.centers, clips, WEIGHT, SQUARE_WEIGHT, n_shells, projection)
    release = curator.measure(slot, query)
    found, sigma = query.split(release.values), release.sigma
    counts, squares = np.maximum(found.counts, 0.0), np.maximum(found.squares, 0.0)
    tails = _tails(cells.centers, found.far_sums, found.far_counts, found.far_squares, query.outer, sigma)
    certain = np.where(tails.sure, tails.counts, 0.0)
    core = np.maximum(counts - certain.sum(axis=1), 0.0)
    step = weigh_means(found.sums, core, sigma, clips, WEIGHT)
    visible = 2 * sigma / SQUARE_WEIGHT * np.sqrt(len(clips))
    octaves = np.log2(clips)
    alike = np.exp2(-(((octaves[:, None] - octaves) / OCTAVES) ** 2))
    noise_alike = 2 * sigma / SQUARE_WEIGHT * np.sqrt((alike**2).sum(axis=1))
    shrunk = np.maximum(alike @ (squares / clips**2), noise_alike) / np.maximum(alike @ counts, 1.0)
    typical = np.minimum(shrunk, 1.0) * clips**2
    doubt = CAUTION * sigma / SQUARE_WEIGHT
    if GAUSS:
        part = (squares / clips**2 + doubt * typical / clips**2) / np.maximum(counts + doubt, 1.0)
        radii = np.minimum(clips * np.sqrt(_spread(part, clips.size and cells.centers.shape[1])), GROWN * cells.radii)
    else:
        radii = np.sqrt((squares + doubt * typical) / np.maximum(counts + doubt, 1.0)) / CLIP
        radii = np.minimum(radii, cells.radii)
    beyond = found.far_counts[:, :2].sum(axis=1)
    grow = beyond > np.maximum(counts / 2, GROW * sigma / FAR_COUNT * 2**0.5)
    radii = np.where(grow, CORE_RADII * clips, radii)
    squares = np.maximum(squares - certain.sum(axis=1) * clips**2, 0.0)
    centers = cells.centers + step.moves
    # Where most rows are in the tail, it is the core.
    inside = certain.sum(axis=1)
    outside = inside > core
    if outside.any():
        whole = np.maximum(core + inside, 1.0)
        pull = ((tails.centers - cells.centers[:, None]) * certain[:, :, None]).sum(axis=1)
        mean = (pull + core[:, None] * step.moves) / whole[:, None]
        inertia = np.where(tails.sure, tails.inertia, 0.0).sum(axis=1)
        spread = (squares + inertia) / whole - (mean**2).sum(axis=1)
        wide = np.sqrt(np.maximum(spread, squares / whole))
        centers = np.where(outside[:, None], cells.centers + mean, centers)
        radii = np.where(outside, np.maximum(wide, radii), radii)
    return Cells(
        into_ball(centers),
        np.clip(radii, SMALLEST, 1.0),
        core,
        squares * (core > 0),
        step.variance,
        sigma / WEIGHT,
        tails,
    )


def _spread(part: FloatArray, n_columns: int) -> FloatArray:
    """Return the mean square that a Gaussian cluster has whose clipped mean square is `part`."""
    spread = np.exp2(np.linspace(-20.0, 6.0, 521))
    inside = n_columns / spread / 2
    clipped = spread * gammainc(n_columns / 2 + 1, inside) + 1 - gammainc(n_columns / 2, inside)
    return np.exp2(np.interp(part, clipped, np.log2(spread)))


def _tails(
    centers: FloatArray,
    sums: FloatArray,
    counts: FloatArray,
    squares: FloatArray,
    outer: FloatArray,
    sigma: float,
) -> Tails:
    """Tell shells that hold rows from those that hold noise."""
    clear = float(-ndtri(FALSE_SHELLS / counts.size))
    inside = outer < 2 * SHELL_RATIO
    sure = (counts > max(clear * sigma / FAR_COUNT, 0.5)) & inside
    seen = (counts > max(HINT * sigma / FAR_COUNT, 0.5)) & inside
    counts = np.where(seen, counts, 0.0)
    held = np.maximum(counts, 1.0)
    noise = (sigma * outer / FAR_RESIDUAL) ** 2
    n_columns = centers.shape[1]
    lengths = (sums**2).sum(axis=2)
    gain = np.maximum(1 - n_columns * noise / np.maximum(lengths, 1e-300), 0.0) * seen
    means = sums * (gain / held)[:, :, None]
    inertia = np.clip(squares, counts * (outer / SHELL_RATIO) ** 2, counts * outer**2)
    within = np.maximum(inertia - counts * (means**2).sum(axis=2), counts * (outer / SHELL_RATIO / 8) ** 2)
    return Tails(
        centers[:, None] + means, counts, inertia, within, np.maximum(gain, 0.25) * noise / held**2, sure
    )


def _trusted(cells: Cells, n_clusters: int) -> NDArray[np.bool_]:
    sure = cells.counts > PROOF * cells.count_sigma
    if not sure.any():
        return np.ones(len(sure), dtype=bool)
    apart = squared_gaps(cells.centers, cells.centers[sure])
    apart[sure] = 0.0
    each = float(cells.counts @ cells.radii**2) / n_clusters
    alone = apart.min(axis=1)
    group = (squared_gaps(cells.centers, cells.centers) <= GROUP * alone[:, None]).astype(float)
    proven = group @ cells.counts > PROOF * cells.count_sigma * np.sqrt(group.sum(axis=1))
    trusted = sure | proven | (cells.count_sigma * alone < PULL * each)
    order = np.argsort(-cells.counts, kind="stable")[: n_clusters + 1]
    trusted[order] = True
    return np.asarray(trusted)


PROOF = 2.0
PULL = 0.25
GROUP = 0.25


def with_tails(cells: Cells, n_clusters: int) -> Cells:
    """Return the cells, and each tail as a cell of its own."""
    tails = cells.tails
    if PROOF:
        cells = _chosen(cells, _trusted(cells, n_clusters))
    tails = cells.tails
    if tails is None or not tails.sure.any():
        return replace(cells, tails=None)
    seen = tails.sure
    counts, within = tails.counts[seen], tails.within[seen]
    return Cells(
        into_ball(np.vstack([cells.centers, tails.centers[seen]])),
        np.clip(np.concatenate([cells.radii, np.sqrt(within / counts)]), SMALLEST, 1.0),
        np.concatenate([cells.counts, counts]),
        np.concatenate([cells.inertia, within]),
        np.concatenate([cells.variance, tails.variance[seen]]),
        cells.count_sigma,
    )


def into_ball(points: FloatArray) -> FloatArray:
    """Clip public points to the unit ball."""
    inside: FloatArray = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0)
    return inside


def as_coreset(curator: Curator, cells: Cells) -> Coreset:
    """Return weighted points, which noise and the choice of the sample made uncertain."""
    n_columns = cells.centers.shape[1]
    around = sampling_variance(cells.radii, cells.counts, n_columns, curator.sampling_exponent)
    left_out = 2.0**curator.sampling_exponent - 1
    precision = Precision(
        np.sqrt(cells.variance + around),
        np.sqrt(cells.count_sigma**2 + left_out * cells.counts),
        cells.radii,
    )
    return Coreset(cells.centers, cells.counts, precision)
