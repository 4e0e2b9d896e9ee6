"""How far centres lie elsewhere in other fits of the same rows, where clusters are not apart."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from privclust.kernels.grid import FloatArray
from privclust.models._matching import matched
from privclust.models._refit_points import refit_cells
from privclust.models.cluster_model import ClusterModel
from privclust.models.stability import is_quick, repeats

STEADY = 0.9
"""From this stability on, fits of the same rows are taken to draw the same borders."""


def soft_borders(model: ClusterModel) -> FloatArray | None:
    """Return how far each coordinate of centres lies elsewhere in other fits of the same rows.

    It is the root of the mean square over a few fits that `stability` imitates, in the user's
    units, and 0 if these agree; None if a model has no coreset, or one that takes long to cluster.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rows = np.repeat([[20.0], [60.0]], 5000, axis=0)
    >>> soft_borders(PrivateKMeans(2, delta=1e-6, bounds=(0, 100)).fit(rows).model_).tolist()
    [[0.0], [0.0]]
    """
    if not is_quick(model):
        return None
    centers = model.domain.to_ball(model.cluster_centers)
    with threadpool_limits(1):
        found = repeats(refit_cells(model), len(centers))
    if found.index >= STEADY:
        return np.zeros(centers.shape)
    squares = [(again[matched(centers, again)[:, 1]] - centers) ** 2 for again in found.centers]
    lengths = model.domain.slopes(model.cluster_centers) * model.domain.scales
    return np.asarray(np.sqrt(np.mean(squares, axis=0)) * lengths)
