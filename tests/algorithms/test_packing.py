"""Sphere packing: points keep their distance, and never see a row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from privclust.algorithms._packing import _pack, sphere_packing


@pytest.mark.parametrize(("n_points", "n_columns"), [(2, 1), (20, 1), (300, 2), (64, 16), (50, 65)])
def test_points_keep_away_from_the_sphere_and_each_other(n_points: int, n_columns: int) -> None:
    points = sphere_packing(n_points, n_columns, np.random.default_rng(1))
    assert points.shape == (n_points, n_columns)
    closest, longest = pdist(points).min(), np.linalg.norm(points, axis=1).max()
    # Balls of radius a around the points fit into the unit ball, for some a that is not wasteful.
    fitting = [
        a for a in 2.0 ** -np.arange(1, 15) if closest >= 2 * a - 1e-12 and longest <= 1 - a + 1e-12
    ]
    assert fitting
    assert fitting[0] >= n_points ** (-1 / n_columns) / 8


@pytest.mark.parametrize("proximity", [0.5, 0.25, 0.0625])
@pytest.mark.parametrize("n_columns", [1, 2, 16])
def test_packing_keeps_exactly_the_distances_it_was_given(n_columns: int, proximity: float) -> None:
    points = _pack(2, n_columns, proximity, np.random.default_rng(6))
    while points is None:
        points = _pack(2, n_columns, proximity := proximity / 2, np.random.default_rng(6))
    assert pdist(points).min() >= 2 * proximity - 1e-12
    assert np.linalg.norm(points, axis=1).max() <= 1 - proximity + 1e-12


def test_many_points_in_two_dimensions() -> None:
    points = sphere_packing(3000, 2, np.random.default_rng(2))
    assert len(np.unique(points, axis=0)) == 3000
    assert pdist(points).min() >= 2.0**-8


def test_one_point() -> None:
    assert np.linalg.norm(sphere_packing(1, 3, np.random.default_rng(3))) <= 0.5


def test_the_same_seed_gives_the_same_points_and_another_seed_others() -> None:
    first, again, other = (sphere_packing(40, 3, np.random.default_rng(s)) for s in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
