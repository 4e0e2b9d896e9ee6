"""Cells of rows: where each is, how wide, how many rows it holds, and what lies far out.

All rows belong to the nearest cell. One query (`ShellMoments`) measures every cell's count, mean
and width, and the same of the shells around it, so that a few far rows neither set a cell's
width nor are lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import ndtri

from privclust.algorithms._clipping import unclipped
from privclust.algorithms._cost import Measured
from privclust.algorithms._shrinkage import sampling_variance, weigh_means
from privclust.kernels.grid import BoolArray, FloatArray
from privclust.kernels.projection import Projection
from privclust.models.clustering import Coreset, Precision
from privclust.privacy.curator import Curator
from privclust.queries.shells import (
    CORE_RADII,
    FAR_COUNT,
    FAR_RESIDUAL,
    SHELLS_MAX,
    ShellMoments,
    ShellValues,
    shells_needed,
)
from privclust.queries.unit import COORDINATES_MAX

WEIGHT = 0.6
SQUARE_WEIGHT = 0.4
CLIP = 0.9
"""Residuals are clipped at this part of a cell's radius."""
SMALLEST = 2.0**-19
"""No radius is less."""
CAUTION = 3.0
"""How much a cell's width leans towards that of cells alike, in standard deviations of a count."""
OCTAVES = 1.0
"""Cells are alike whose radii differ by no more than about this many factors of two."""
GROWTH_MAX, FAINT_GROWTH_MAX = 1.5, 1.0
"""A radius grows by at most this factor in one step, unless most rows lie beyond the core. Where
clusters are faint, what looks like growth is noise."""
BEYOND = 2.0
"""Standard deviations by which rows must be seen beyond a core before it is widened."""
FALSE_HINTS, CONFIRMED_FALSE_HINTS, FALSE_SHELLS = 0.25, 2.0, 0.01
"""How many empty shells a measurement may take for a hint, for a hint that will be confirmed, and
for certain, on average."""
HINT = 2.0
"""A hint has at least so many standard deviations of rows, however few shells there are."""
CHUNK = 256
"""Cells that are compared with all others at once."""
TYPICAL_SHELLS = 4
"""What estimates of a fit's cost count for each cell. Where most rows are equal there are more."""


@dataclass(frozen=True, eq=False)
class Tails:
    """What lies in the J shells around each cell; zeros where noise may explain it.

    Attributes
    ----------
    centers : array of shape (M, J, p)
        Means of the rows in each shell.
    counts, inertia : array of shape (M, J)
        Numbers of rows, and their summed squared distances to the cell.
    within : array of shape (M, J)
        Their summed squared distances to the shell's mean.
    variance, count_sigma : array of shape (M, J)
        Variance of the noise on each of a mean's coordinates, and standard deviation of that on the
        number of rows.
    certain : array of shape (M, J)
        Whether the shell holds rows beyond doubt, and not just more than noise mostly explains.
    """

    centers: FloatArray
    counts: FloatArray
    inertia: FloatArray
    within: FloatArray
    variance: FloatArray
    count_sigma: FloatArray
    certain: BoolArray


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
        Noisy numbers of rows, and their summed squared distances; without those of certain tails.
    variance, count_sigma : array of shape (M,)
        Variance of the noise on each of a centre's coordinates, and standard deviation of that on
        the count.
    tails : Tails, optional
        None before cells are measured.
    """

    centers: FloatArray
    radii: FloatArray
    counts: FloatArray
    inertia: FloatArray
    variance: FloatArray
    count_sigma: FloatArray
    tails: Tails | None = None

    def __getitem__(self, chosen: BoolArray) -> Cells:
        """Return some of the cells."""
        tails = self.tails
        if tails is not None:
            tails = Tails(*(getattr(tails, field.name)[chosen] for field in fields(tails)))
        return Cells(
            self.centers[chosen],
            self.radii[chosen],
            self.counts[chosen],
            self.inertia[chosen],
            self.variance[chosen],
            self.count_sigma[chosen],
            tails,
        )


def unmeasured(centers: FloatArray, radii: FloatArray) -> Cells:
    """Return cells of which nothing is known but where they are and how wide."""
    unknown = np.ones(len(centers))
    return Cells(centers, radii, unknown, unknown, unknown, np.inf * unknown)


def measure_cells(
    curator: Curator,
    slot: str,
    cells: Cells,
    projection: Projection | None = None,
    growth_max: float = GROWTH_MAX,
    false_hints: float = FALSE_HINTS,
) -> Cells:
    """Measure every cell, move it to its mean and learn its radius and what lies around it."""
    clips = np.clip(CLIP * cells.radii, SMALLEST, 1.0)
    n_shells = shells_needed(float(clips.min()), *cells.centers.shape)
    query = ShellMoments(cells.centers, clips, WEIGHT, SQUARE_WEIGHT, n_shells, projection)
    release = curator.measure(slot, query)
    found, sigma = query.split(release.values), release.sigma
    tails = _tails(cells.centers, query, found, sigma, false_hints)
    far = np.where(tails.certain, tails.counts, 0.0).sum(axis=1)
    core = np.maximum(np.maximum(found.counts, 0.0) - far, 0.0)
    step = weigh_means(found.sums, core, sigma, clips, WEIGHT)
    # In its core's squares a far row counts as one clipping radius.
    squares = np.maximum(np.maximum(found.squares, 0.0) - far * clips**2, 0.0) * (core > 0)
    radii = _radii(found, clips, sigma, cells, growth_max)
    # Where most rows are far, the middle of all of them is where the cell should be.
    outside = far > core
    means, widths = _with_tails(cells.centers, step.moves, core, squares, tails)
    return Cells(
        into_ball(cells.centers + np.where(outside[:, None], means, step.moves)),
        np.clip(np.where(outside, np.maximum(widths, radii), radii), SMALLEST, 1.0),
        core,
        squares,
        step.variance,
        # The rows of certain shells were taken off the count, and with them came their noise.
        sigma * np.sqrt(WEIGHT**-2 + tails.certain.sum(axis=1) * FAR_COUNT**-2),
        tails,
    )


def _radii(
    found: ShellValues, clips: FloatArray, sigma: float, cells: Cells, growth_max: float
) -> FloatArray:
    """Estimate root mean square distances from clipped ones, leaning towards cells alike."""
    squares, counts = np.maximum(found.squares, 0.0), np.maximum(found.counts, 0.0)
    noise = sigma / SQUARE_WEIGHT
    octaves = np.log2(clips)
    typical = np.empty(len(clips))
    for part in in_chunks(len(clips)):
        alike = np.exp2(-(((octaves[part, None] - octaves) / OCTAVES) ** 2))
        # Noise must not make all cells seem to be points: nothing narrower than it can be seen.
        visible = 2 * noise * np.sqrt((alike**2).sum(axis=1))
        seen = np.maximum(alike @ (squares / clips**2), visible)
        typical[part] = seen / np.maximum(alike @ counts, 1.0)
    doubt = CAUTION * noise
    parts = (squares / clips**2 + doubt * np.minimum(typical, 1.0)) / (counts + doubt)
    estimated = clips * np.sqrt(unclipped(parts, cells.centers.shape[1]))
    beyond = found.far_counts[:, :2].sum(axis=1)
    widened = beyond > np.maximum(counts / 2, BEYOND * sigma / FAR_COUNT * math.sqrt(2))
    grown = np.minimum(estimated, growth_max * cells.radii)
    return np.where(widened, CORE_RADII * clips, grown)


def _with_tails(
    centers: FloatArray, moves: FloatArray, counts: FloatArray, inertia: FloatArray, tails: Tails
) -> tuple[FloatArray, FloatArray]:
    """Return where cells' means are, from their centres, and how wide cells are, with all tails."""
    far = np.where(tails.certain, tails.counts, 0.0)
    whole = np.maximum(counts + far.sum(axis=1), 1.0)
    pull = ((tails.centers - centers[:, None]) * far[:, :, None]).sum(axis=1)
    means = (pull + counts[:, None] * moves) / whole[:, None]
    squares = inertia + np.where(tails.certain, tails.inertia, 0.0).sum(axis=1)
    around = squares / whole - (means**2).sum(axis=1)
    return means, np.sqrt(np.maximum(around, inertia / whole))


def _tails(
    centers: FloatArray,
    query: ShellMoments,
    found: ShellValues,
    sigma: float,
    false_hints: float,
) -> Tails:
    """Tell shells that hold rows from those that hold noise."""
    inner, outer = query.inner, query.outer
    inside = inner < outer
    hint, beyond_doubt = -ndtri(np.array([false_hints, FALSE_SHELLS]) / inside.size)
    # Without noise half a row is a row.
    least, certain = (
        (found.far_counts > max(z * sigma / FAR_COUNT, 0.5)) & inside
        for z in (max(hint, HINT), beyond_doubt)
    )
    counts = np.where(least, found.far_counts, 0.0)
    held = np.maximum(counts, 1.0)
    noise = (sigma * outer / FAR_RESIDUAL) ** 2
    lengths = (found.far_sums**2).sum(axis=2)
    n_columns = centers.shape[1]
    gain = np.maximum(1 - n_columns * noise / np.maximum(lengths, 1e-30), 0.0) * least
    means = found.far_sums * (gain / held)[:, :, None]
    inertia = np.clip(found.far_squares, counts * inner**2, counts * outer**2)
    # Noise must not make a shell's rows seem to be one point.
    within = np.maximum(inertia - counts * (means**2).sum(axis=2), counts * (inner / 8) ** 2)
    variance = np.maximum(gain, 0.25) * noise / held**2
    count_sigma = np.full(counts.shape, sigma / FAR_COUNT)
    return Tails(centers[:, None] + means, counts, inertia, within, variance, count_sigma, certain)


def in_chunks(n_cells: int) -> Iterator[slice]:
    """Return parts of all cells, so that comparing each with all takes little memory."""
    return (slice(first, first + CHUNK) for first in range(0, n_cells, CHUNK))


def into_ball(points: FloatArray) -> FloatArray:
    """Clip public points to the unit ball."""
    inside: FloatArray = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1.0)
    return inside


def cells_cost(n_cells: float, n_columns: float, times: float = 1.0) -> Measured:
    """Return what measuring so many cells costs, in a sample of a large table.

    Examples
    --------
    >>> cells_cost(10.0, 2.0).size, cells_cost(10.0, 2.0).largest
    (200.0, 880.0)
    """
    per_shell = n_cells * (n_columns + 2)
    # What lies aside of cells doubles them at most; beside each core one shell always fits.
    most = min(2 * per_shell * (1 + SHELLS_MAX), max(4 * per_shell, COORDINATES_MAX))
    typical = per_shell * (1 + TYPICAL_SHELLS)
    return Measured(typical, n_cells, n_columns, times, passes=0, largest=most)


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
