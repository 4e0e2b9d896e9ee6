"""How far to follow a noisy mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privclust.kernels.grid import FloatArray

_DOUBT = 0.25
"""Where nothing was known, a measurement leaves at least this part of its own variance."""


class Step(NamedTuple):
    """A move for each centre, and the variance per coordinate that is left after it."""

    moves: FloatArray
    variance: FloatArray


def weigh(offsets: FloatArray, noise: FloatArray, variance: FloatArray | float = 0.0) -> Step:
    """Weigh measured offsets against what was known, by inverse variance.

    A centre known to within `variance` per coordinate was measured to lie at an offset, with noise
    of variance `noise` per coordinate. Where the offset is longer than both explain, the centre is
    taken to be as uncertain as the offset says (positive-part James-Stein).

    Examples
    --------
    >>> step = weigh(np.array([[3.0, 4.0], [0.1, 0.1]]), np.array([1.0, 1.0]))
    >>> step.moves.round(2).tolist()
    [[2.76, 3.68], [0.0, 0.0]]
    """
    measured = (offsets**2).sum(axis=1) / offsets.shape[1] - noise
    known = np.maximum(measured, variance)
    gain = known / np.maximum(known + noise, 1e-300)
    left = np.where(np.asarray(variance) > 0, gain, np.maximum(gain, _DOUBT)) * noise
    return Step(offsets * gain[:, None], left)


def weigh_means(
    sums: FloatArray,
    counts: FloatArray,
    sigma: float,
    clips: FloatArray | float,
    weight: float,
    variance: FloatArray | float = 0.0,
) -> Step:
    """Weigh the means of noisy residual sums over noisy counts.

    Parameters
    ----------
    sums, counts : arrays
        Of each cluster, in units of the ball and in rows.
    sigma : float
        Noise of the query they come from, in clipping radii.
    clips : array or float
        Clipping radii.
    weight : float
        What one row counted, relative to one radius.
    variance : array or float
        Per coordinate, of what was known of the centres.

    Examples
    --------
    >>> weigh_means(np.array([[50.0]]), np.array([100.0]), 1.0, 1.0, 0.5).moves.round(2).tolist()
    [[0.5]]
    """
    held = rows_held(counts, sigma / weight)
    return weigh(sums / held[:, None], (sigma * clips / held) ** 2, variance)


def sampling_variance(
    radii: FloatArray,
    counts: FloatArray,
    n_columns: int,
    sampling_exponent: int,
    rows_per_unit: int = 1,
) -> FloatArray:
    """Return the variance per coordinate of a sample's means about those of all rows.

    Units are drawn with all their rows, which may be alike: so many then say no more than one.

    Examples
    --------
    >>> sampling_variance(np.array([2.0]), np.array([100.0]), 4, 1).tolist()
    [0.01]
    """
    left_out = rows_per_unit * (2.0**sampling_exponent - 1)
    return np.asarray(left_out * radii**2 / (n_columns * np.maximum(counts, 1.0)))


def rows_held(counts: FloatArray, sigma: float) -> FloatArray:
    """Return noisy counts that can be divided by: at least two standard deviations."""
    return np.maximum(counts, 2 * sigma)
