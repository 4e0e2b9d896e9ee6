"""Errors of refits beside noise: points of a coreset stand for rows on both sides of borders."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models.clustering import Coreset

SPREAD = 1.25
"""How far a point's rows are taken to spread: so many times its radius along a line and half the
distance to the next point, together. Chosen by fits of six tables, of which five are real."""
_BLOCK_CELLS = 2**22


class BorderErrors(NamedTuple):
    """Standard errors of clusters' sizes, and of each coordinate of their centres."""

    sizes: FloatArray
    centers: FloatArray


def border_errors(coreset: Coreset, centers: FloatArray) -> BorderErrors:
    """Return what not knowing on which side rows lie does to the clusters around given centres.

    Of a point's rows some part is expected beyond the border to another centre. That part of its
    weight may belong to either: both clusters have it as an error, and where their means lie
    changes by it, too. Points err independently of each other.

    Parameters
    ----------
    coreset : Coreset
        Points of the unit ball.
    centers : array of shape (k, d)
        Centres that its points were divided among.

    Examples
    --------
    >>> from privclust.models.clustering import Precision
    >>> known = Precision(np.zeros(3), np.zeros(3), np.full(3, 0.1))
    >>> coreset = Coreset(np.array([[-0.5], [-0.1], [0.6]]), np.full(3, 100.0), known)
    >>> border_errors(coreset, np.array([[-0.5], [0.5]])).sizes.round().tolist()
    [37.0, 37.0]
    """
    seen = coreset.weights > 0
    points, weights = coreset.points[seen], coreset.weights[seen]
    k, d = centers.shape
    deviations = SPREAD * np.hypot(coreset.precision.radii[seen] / np.sqrt(d), _gaps(points) / 2)
    own = nearest(to_grid(points), to_grid(centers))
    from_own = ((points - centers[own]) ** 2).sum(axis=1)
    held = np.maximum(np.bincount(own, weights, k), 1.0)
    sizes, moments = np.zeros(k), np.zeros(k)
    for other, center in enumerate(centers):
        apart = np.sqrt(((centers[own] - center) ** 2).sum(axis=1))
        from_other = ((points - center) ** 2).sum(axis=1)
        moved = (weights * _beyond(from_own, from_other, apart, deviations)) ** 2
        sizes[other] += moved.sum()
        moments[other] += moved @ from_other
        sizes += np.bincount(own, moved, k)
        moments += np.bincount(own, moved * from_own, k)
    return BorderErrors(np.sqrt(sizes), np.sqrt(moments / d) / held)


def _beyond(
    from_own: FloatArray, from_other: FloatArray, apart: FloatArray, deviations: FloatArray
) -> FloatArray:
    """Return which part of each point's rows lies nearer to the other centre; of its own, none."""
    different = apart > 0
    to_border = (from_other - from_own) / (2 * np.where(different, apart, 1.0))
    part = ndtr(-to_border / np.maximum(deviations, 1e-300))
    return np.asarray(np.where(different, part, 0.0))


def _gaps(points: FloatArray) -> FloatArray:
    """Return how far the next point lies from each; 0 if there is none."""
    if len(points) < 2:
        return np.zeros(len(points))
    rows = max(1, _BLOCK_CELLS // len(points))
    gaps = np.empty(len(points))
    for begin in range(0, len(points), rows):
        distances = cdist(points[begin : begin + rows], points)
        distances[np.arange(len(distances)), np.arange(begin, begin + len(distances))] = np.inf
        gaps[begin : begin + rows] = distances.min(axis=1)
    return gaps
