"""Distances point by point are those of all points at once, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.peak_memory import peak_bytes

from privclust.kernels.distances import squared_gaps


@pytest.mark.parametrize("n_columns", [1, 2, 7, 8, 9, 100, 129, 384, 1000])
@pytest.mark.parametrize("shape", [(1, 1), (5, 1), (1, 5), (40, 40), (60, 7)])
def test_gaps_are_those_of_all_differences_at_once(n_columns: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    points, others = (rng.normal(size=(count, n_columns)) for count in shape)
    at_once = ((points[:, None] - others) ** 2).sum(axis=2)
    assert np.array_equal(squared_gaps(points, others), at_once)


def test_memory_does_not_grow_with_points_times_points_times_columns() -> None:
    points = np.zeros((300, 500))
    assert (
        peak_bytes(lambda: squared_gaps(points, points)) < 20 * points.nbytes < 300 * points.nbytes
    )
