"""How far centres lie elsewhere in other fits of the same rows, where clusters are not apart."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from threadpoolctl import threadpool_limits

from privclust.kernels.grid import FloatArray
from privclust.models._matching import matched
from privclust.models._refit_points import refit_cells
from privclust.models.cluster_model import ClusterModel
from privclust.models.stability import Repeats, is_quick, nearest_centers, repeats

STEADY = 0.9
"""From this stability on, fits of the same rows are taken to draw the same borders."""


@dataclass(frozen=True, eq=False)
class SoftBorders:
    """How other fits of the same rows differ: roots of mean squares over a few imitated ones.

    Attributes
    ----------
    stability : float
        The adjusted Rand index between two of these fits.
    centers : array of shape (k, d)
        How far each coordinate of a centre lies elsewhere, in the user's units. It is 0, as are
        `sizes`, if fits agree.
    sizes : array of shape (k,)
        How many rows more or fewer a cluster has.
    """

    stability: float
    centers: FloatArray
    sizes: FloatArray


_KNOWN: WeakKeyDictionary[ClusterModel, SoftBorders | None] = WeakKeyDictionary()


def soft_borders(model: ClusterModel) -> SoftBorders | None:
    """Return how other fits of the same rows would differ, as `stability` imitates these.

    None if a model has no coreset, or one that takes long to cluster. A model is worked out once.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rows = np.repeat([[20.0], [60.0]], 5000, axis=0)
    >>> soft_borders(PrivateKMeans(2, delta=1e-6, bounds=(0, 100)).fit(rows).model_).sizes.tolist()
    [0.0, 0.0]
    """
    if model not in _KNOWN:
        _KNOWN[model] = _imitated(model) if is_quick(model) else None
    return _KNOWN[model]


def _imitated(model: ClusterModel) -> SoftBorders:
    centers = model.domain.to_ball(model.cluster_centers)
    with threadpool_limits(1):
        found = repeats(refit_cells(model), len(centers))
    if found.index >= STEADY:
        return SoftBorders(found.index, np.zeros(centers.shape), np.zeros(len(centers)))
    pairs = [matched(centers, again)[:, 1] for again in found.centers]
    squares = [
        (again[other] - centers) ** 2 for again, other in zip(found.centers, pairs, strict=True)
    ]
    own = _shares(found, centers)
    shares = [
        (_shares(found, again)[other] - own) ** 2
        for again, other in zip(found.centers, pairs, strict=True)
    ]
    lengths = model.domain.slopes(model.cluster_centers) * model.domain.scales
    rows = max(float(model.cluster_sizes.sum()), 0.0)
    return SoftBorders(
        found.index,
        np.asarray(np.sqrt(np.mean(squares, axis=0)) * lengths),
        np.asarray(np.sqrt(np.mean(shares, axis=0)) * rows),
    )


def _shares(found: Repeats, centers: FloatArray) -> FloatArray:
    """Return which part of the made-up rows each centre is nearest to."""
    labels = nearest_centers(found.rows, centers)
    return np.bincount(labels, minlength=len(centers)) / len(found.rows)
