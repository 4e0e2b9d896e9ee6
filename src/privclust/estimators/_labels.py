"""Nearest centres of rows, and distances to all: for the holder of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privclust.estimators._input import on_each_part
from privclust.kernels.grid import GRID, FloatArray, to_grid
from privclust.kernels.nearest import nearest

if TYPE_CHECKING:
    from privclust.estimators.base import PrivateClusterer


def label_parts(
    fitted: PrivateClusterer, X: Any, keep: Callable[[NDArray[np.int64]], None]
) -> None:
    """Hand labels to `keep`, part by part, so that they need not fit in memory."""
    centers = _centers(fitted)

    def work(rows: FloatArray) -> FloatArray:
        keep(nearest(rows, centers))
        return np.empty(0)

    on_each_part(work, fitted, X)


def labels(fitted: PrivateClusterer, X: Any) -> NDArray[np.int64]:
    """Return the index of the nearest centre for each row, as the fit itself would vote."""
    centers = _centers(fitted)
    return on_each_part(lambda rows: nearest(rows, centers), fitted, X)  # type: ignore[no-any-return]


def distances(fitted: PrivateClusterer, X: Any) -> FloatArray:
    """Return the distance of each row to each centre, in radii of the domain."""
    centers = _centers(fitted)

    def work(rows: FloatArray) -> FloatArray:
        return np.column_stack(
            [np.sqrt(((rows - center) ** 2).sum(axis=1)) / GRID for center in centers]
        )

    return on_each_part(work, fitted, X)  # type: ignore[no-any-return]


def _centers(fitted: PrivateClusterer) -> FloatArray:
    return to_grid(fitted.model_.domain.to_ball(fitted.model_.cluster_centers))
