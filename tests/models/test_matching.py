"""Clusters of two models that belong together, found in little memory."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.peak_memory import peak_bytes
from scipy.optimize import linear_sum_assignment

from privclust.models._matching import matched


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 5, 3), (7, 4, 9), (3, 8, 130)])
def test_pairs_move_least_together(shape: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    before, after = (rng.normal(size=(count, shape[2])) for count in shape[:2])
    at_once = ((before[:, None] - after) ** 2).sum(axis=2)
    np.testing.assert_array_equal(
        matched(before, after), np.column_stack(linear_sum_assignment(at_once))
    )


def test_memory_does_not_grow_with_clusters_times_clusters_times_columns() -> None:
    centers = np.random.default_rng(0).normal(size=(200, 300))
    assert peak_bytes(lambda: matched(centers, centers)) < 20 * centers.nbytes
