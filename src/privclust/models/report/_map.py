"""The report's map: centres, and the coreset behind them, in two dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privclust.models import _drawing
from privclust.models._canvas import new_axes, png
from privclust.models.cluster_model import ClusterModel


def draw_map(model: ClusterModel, hidden: NDArray[np.bool_]) -> bytes | None:
    """Draw centres, and the coreset behind them; None if there is nothing to draw in a plane."""
    if len(model.coordinate_names) < 2 or model.coreset is None:
        return None
    figure, axes = new_axes(6.4, 5.2)
    _drawing.draw_map(axes, model, hidden)
    return png(figure)
