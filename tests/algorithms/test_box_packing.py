"""Centres spread over a box, and folded back into it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privclust.algorithms._box_packing import domain_packing, fold
from privclust.algorithms._packing import sphere_packing
from privclust.kernels.grid import FloatArray

WIDTHS = np.array([0.6, 0.1, 0.7])


@pytest.mark.parametrize(
    ("n_points", "widths", "sampling_exponent"),
    [
        (1, WIDTHS, 0),
        (2, WIDTHS, 0),
        (30, WIDTHS, 1),
        (1, np.ones(1), 0),
        (2, np.ones(1), 2),
        (30, np.ones(1), 6),
        (64, np.full(64, 1 / 8), 1),
    ],
)
def test_points_keep_their_distance(
    n_points: int, widths: FloatArray, sampling_exponent: int
) -> None:
    """Which is the narrowest half width, halved no more often than it had to be."""
    points = domain_packing(n_points, widths, np.random.default_rng(0))
    proximity = widths.min() / 2**sampling_exponent
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(n_points, 1)]
    assert points.shape == (n_points, len(widths))
    assert (np.abs(points) <= widths - proximity + 1e-12).all()
    assert gaps.min(initial=np.inf) >= 2 * proximity


def test_of_a_box_larger_than_the_ball_the_ball_is_packed() -> None:
    points = domain_packing(9, np.ones(3), np.random.default_rng(5))
    assert (points == sphere_packing(9, 3, np.random.default_rng(5))).all()


def test_the_packing_follows_its_seed() -> None:
    one, same, other = (domain_packing(5, WIDTHS, np.random.default_rng(s)) for s in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


@settings(deadline=None)
@given(arrays(np.float64, (4, 3), elements=st.floats(-1e6, 1e6)))
def test_folded_points_lie_in_the_box(points: FloatArray) -> None:
    assert (np.abs(fold(points, WIDTHS)) <= WIDTHS + 1e-12).all()


def test_points_inside_stay_and_points_outside_are_reflected() -> None:
    inside = np.array([[0.5, -0.05, 0.1], [-0.6, 0.1, 0.7]])
    np.testing.assert_allclose(fold(inside, WIDTHS), inside, atol=1e-12)
    outside = np.array([[0.7, 0.15, -0.8], [2.4 + 0.5, 0.0, 0.0]])
    expected = [[0.5, 0.05, -0.6], [0.5, 0.0, 0.0]]
    np.testing.assert_allclose(fold(outside, WIDTHS), expected, atol=1e-12)


def test_points_of_the_box_outside_the_ball_are_shortened() -> None:
    np.testing.assert_allclose(fold(np.array([[0.9, -0.9]]), np.ones(2)), [[0.5**0.5, -(0.5**0.5)]])
