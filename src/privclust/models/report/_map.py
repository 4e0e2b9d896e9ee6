"""The report's map: centres, and the coreset behind them, in two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from privclust.models._canvas import BLUE, ORANGE, new_axes, png
from privclust.models.cluster_model import ClusterModel


def draw_map(model: ClusterModel, hidden: NDArray[np.bool_]) -> bytes | None:
    """Draw centres, and the coreset behind them, along their two main directions."""
    names = model.coordinate_names
    coreset = model.coreset
    if len(names) < 2 or coreset is None:
        return None
    weights = np.maximum(coreset.weights, 0.0)
    points, centers = (
        model.domain.to_ball(some) for some in (coreset.points, model.cluster_centers)
    )
    if len(names) == 2 and model.domain.is_linear:
        labels = list(names)
        flat, flat_centers = coreset.points, model.cluster_centers
    else:
        middle = np.average(points, axis=0, weights=weights + 1e-9)
        apart = points - middle
        _, directions = np.linalg.eigh((weights * apart.T) @ apart)
        labels = [f"direction {number} (in radii of the bounds)" for number in (1, 2)]
        flat, flat_centers = ((some - middle) @ directions[:, :-3:-1] for some in (points, centers))
    figure, axes = new_axes(6.4, 5.2)
    largest = max(float(weights.max(initial=0.0)), 1e-9)
    axes.scatter(
        flat[:, 0], flat[:, 1], s=20 + 400 * weights / largest, color=BLUE, alpha=0.25, linewidth=0
    )
    crosses = flat_centers[~hidden]
    axes.scatter(crosses[:, 0], crosses[:, 1], marker="x", color=ORANGE, s=60)
    for number in np.flatnonzero(~hidden):
        across, up = flat_centers[number]
        beside: dict[str, Any] = {"xytext": (6, 6), "textcoords": "offset points"}
        axes.annotate(str(number), (across, up), fontsize=10, weight="bold", **beside)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    return png(figure)
