"""Cells of rows: where each is, how wide, how many rows it holds, and what lies far out.

All rows belong to the nearest cell. One query (`ShellMoments`) measures every cell's count, mean
and width, and the same of the shells around it, so that a few far rows neither set a cell's
width nor are lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, ndtri

from privclust.algorithms._shrinkage import sampling_variance, weigh_means
from privclust.kernels.grid import FloatArray
from privclust.kernels.projection import Projection
from privclust.models.clustering import Coreset, Precision
from privclust.privacy.curator import Curator
from privclust.queries.shells import (
    CORE_RADII,
    FAR_COUNT,
    FAR_RESIDUAL,
    SHELL_RATIO,
    ShellMoments,
    ShellValues,
    shells_needed,
)

BoolArray: TypeAlias = NDArray[np.bool_]

WEIGHT = 0.6
SQUARE_WEIGHT = 0.4
CLIP = 0.9
"""Residuals are clipped at this part of a cell's root mean square."""
SMALLEST = 2.0**-19
CAUTION = 3.0
"""How much a cell's width leans towards that of cells alike, in standard deviations of a count."""
OCTAVES = 1.0
"""Cells are alike whose radii differ by no more than about this many factors of two."""
GROWTH_MAX = 1.5
"""A radius grows by at most this factor in one step, unless most rows lie beyond the core."""
BEYOND = 2.0
"""Standard deviations by which rows must be seen beyond a core before it is widened."""
HINT = 3.0
"""A shell with so many standard deviations of rows is worth a cell, which then is measured."""
FALSE_SHELLS = 0.01
"""How many empty shells a measurement may take for certain, on average."""


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
    variance : array of shape (M, J)
        Of the noise on each coordinate of a mean.
    certain : array of shape (M, J)
        Whether the shell holds rows beyond doubt, and not just more than noise mostly explains.
    """

    centers: FloatArray
    counts: FloatArray
    inertia: FloatArray
    within: FloatArray
    variance: FloatArray
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
    variance : array of shape (M,)
        Variance of the noise on each of a centre's coordinates.
    count_sigma : float
        Standard deviation of the noise on a count.
    tails : Tails, optional
        None before cells are measured.
    """

    centers: FloatArray
    radii: FloatArray
    counts: FloatArray
    inertia: FloatArray
    variance: FloatArray
    count_sigma: float
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
            self.count_sigma,
            tails,
        )


def one_cell(center: FloatArray, radius: float) -> Cells:
    """Return a single cell that holds all rows, nothing of which has been measured."""
    unknown = np.ones(1)
    return Cells(center[None], np.array([radius]), unknown, unknown, unknown, np.inf)


def measure_cells(
    curator: Curator, slot: str, cells: Cells, projection: Projection | None = None
) -> Cells:
    """Measure every cell, move it to its mean and learn its radius and what lies around it."""
    clips = np.clip(CLIP * cells.radii, SMALLEST, 1.0)
    n_shells = shells_needed(float(clips.min()))
    query = ShellMoments(cells.centers, clips, WEIGHT, SQUARE_WEIGHT, n_shells, projection)
    release = curator.measure(slot, query)
    found, sigma = query.split(release.values), release.sigma
    tails = _tails(cells.centers, found, query.outer, sigma)
    far = np.where(tails.certain, tails.counts, 0.0)
    held = np.maximum(found.counts, 0.0)
    core = np.maximum(held - far.sum(axis=1), 0.0)
    step = weigh_means(found.sums, core, sigma, clips, WEIGHT)
    squares = np.maximum(found.squares, 0.0)
    radii = np.minimum(_radii(squares, held, clips, sigma, cells), GROWTH_MAX * cells.radii)
    beyond = found.far_counts[:, :2].sum(axis=1)
    widened = beyond > np.maximum(held / 2, BEYOND * sigma / FAR_COUNT * math.sqrt(2))
    radii = np.where(widened, CORE_RADII * clips, radii)
    squares = np.maximum(squares - far.sum(axis=1) * clips**2, 0.0) * (core > 0)
    # Where most rows are far, the middle of all of them is where the cell should be.
    outside = far.sum(axis=1) > core
    whole = np.maximum(core + far.sum(axis=1), 1.0)
    pull = ((tails.centers - cells.centers[:, None]) * far[:, :, None]).sum(axis=1)
    mean = (pull + core[:, None] * step.moves) / whole[:, None]
    inertia = squares + np.where(tails.certain, tails.inertia, 0.0).sum(axis=1)
    wide = np.sqrt(np.maximum(inertia / whole - (mean**2).sum(axis=1), squares / whole))
    return Cells(
        into_ball(cells.centers + np.where(outside[:, None], mean, step.moves)),
        np.clip(np.where(outside, np.maximum(wide, radii), radii), SMALLEST, 1.0),
        core,
        squares,
        step.variance,
        sigma / WEIGHT,
        tails,
    )


def _radii(
    squares: FloatArray, counts: FloatArray, clips: FloatArray, sigma: float, cells: Cells
) -> FloatArray:
    """Estimate root mean square distances from clipped ones, leaning towards cells alike."""
    octaves = np.log2(clips)
    alike = np.exp2(-(((octaves[:, None] - octaves) / OCTAVES) ** 2))
    noise = sigma / SQUARE_WEIGHT
    # Noise must not make all cells seem to be points: nothing narrower than it can be seen.
    visible = 2 * noise * np.sqrt((alike**2).sum(axis=1))
    typical = np.maximum(alike @ (squares / clips**2), visible) / np.maximum(alike @ counts, 1.0)
    doubt = CAUTION * noise
    parts = (squares / clips**2 + doubt * np.minimum(typical, 1.0)) / (counts + doubt)
    estimated: FloatArray = clips * np.sqrt(unclipped(parts, cells.centers.shape[1]))
    return estimated


def unclipped(parts: FloatArray, n_columns: int) -> FloatArray:
    """Return the mean square of a Gaussian cluster by its mean square clipped at 1.

    Examples
    --------
    >>> squares = (np.random.default_rng(0).normal(0.0, 0.5, (100_000, 4)) ** 2).sum(axis=1)
    >>> float(squares.mean().round(2)), float(unclipped(np.minimum(squares, 1).mean(), 4).round(2))
    (1.0, 1.0)
    """
    squares = np.exp2(np.linspace(-20.0, 6.0, 521))
    inside = n_columns / squares / 2
    clipped = squares * gammainc(n_columns / 2 + 1, inside) + 1 - gammainc(n_columns / 2, inside)
    found: FloatArray = np.exp2(np.interp(parts, clipped, np.log2(squares)))
    return found


def _tails(centers: FloatArray, found: ShellValues, outer: FloatArray, sigma: float) -> Tails:
    """Tell shells that hold rows from those that hold noise."""
    beyond_doubt = float(-ndtri(FALSE_SHELLS / outer.size))
    within_ball = outer < 2 * SHELL_RATIO
    least, certain = (
        (found.far_counts > max(z * sigma / FAR_COUNT, 0.5)) & within_ball
        for z in (HINT, beyond_doubt)
    )
    counts = np.where(least, found.far_counts, 0.0)
    held = np.maximum(counts, 1.0)
    noise = (sigma * outer / FAR_RESIDUAL) ** 2
    lengths = (found.far_sums**2).sum(axis=2)
    n_columns = centers.shape[1]
    gain = np.maximum(1 - n_columns * noise / np.maximum(lengths, 1e-300), 0.0) * least
    means = found.far_sums * (gain / held)[:, :, None]
    inner = outer / SHELL_RATIO
    inertia = np.clip(found.far_squares, counts * inner**2, counts * outer**2)
    within = np.maximum(inertia - counts * (means**2).sum(axis=2), counts * (inner / 8) ** 2)
    variance = np.maximum(gain, 0.25) * noise / held**2
    return Tails(centers[:, None] + means, counts, inertia, within, variance, certain)


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
