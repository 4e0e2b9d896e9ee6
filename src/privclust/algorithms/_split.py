"""Find many small cells: split, measure, move, and split again.

All rows belong to the nearest of a few cells. One query measures every cell's count, mean and
width; cells move to their means and the widest are split in two, until there are enough. Cells
that hold many rows need little of the budget, so nearly all of it goes to the last splits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.algorithms._shrinkage import sampling_variance, weigh_means
from privclust.kernels.grid import FloatArray
from privclust.kernels.projection import Projection
from privclust.models.clustering import Coreset, Precision
from privclust.privacy.curator import Curator
from privclust.queries.clusters import ClusterMoments

WEIGHT = 0.6
SQUARE_WEIGHT = 0.4
CLIP = 0.9
"""Residuals are clipped at this part of a cell's root mean square."""
STEP = 0.5
GROWTH = 2.0
"""Shares of the budget grow by this factor while the number of cells doubles."""
CAUTION = 6.0
"""How much a cell's width leans towards that of all, in standard deviations of its count."""
SMALLEST = 2.0**-19


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
) -> Cells:
    """Measure once for each slot and return the last cells."""
    cells = start
    for slot, n_cells in zip(slots, steps, strict=True):
        cells = measure_cells(curator, slot, split(cells, n_cells, rng), projection)
    return cells


def split(cells: Cells, n_cells: int, rng: np.random.Generator) -> Cells:
    """Replace the cells of largest inertia by two each, a little apart, until there are enough."""
    widest = np.argsort(-cells.inertia, kind="stable")[: n_cells - len(cells.centers)]
    n_columns = cells.centers.shape[1]
    directions = rng.normal(size=(len(widest), n_columns))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    aside = directions * (STEP * cells.radii[widest] / np.sqrt(n_columns))[:, None]
    centers = np.vstack([cells.centers, cells.centers[widest] - aside])
    centers[widest] += aside
    both = np.concatenate([np.arange(len(cells.centers)), widest])
    return Cells(
        into_ball(centers),
        cells.radii[both],
        cells.counts[both],
        cells.inertia[both],
        cells.variance[both],
        cells.count_sigma,
    )


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


def into_ball(points: FloatArray) -> FloatArray:
    """Clip public points to the unit ball."""
    inside: FloatArray = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0)
    return inside


def as_coreset(curator: Curator, cells: Cells) -> Coreset:
    """Return weighted points, which noise and the choice of the sample made uncertain."""
    n_columns = cells.centers.shape[1]
    around = sampling_variance(
        cells.radii, cells.counts, n_columns, curator.sampling_exponent, curator.rows_per_unit
    )
    left_out = curator.rows_per_unit * (2.0**curator.sampling_exponent - 1)
    precision = Precision(
        np.sqrt(cells.variance + around),
        np.sqrt(cells.count_sigma**2 + left_out * cells.counts),
        cells.radii,
    )
    return Coreset(cells.centers, cells.counts, precision)
