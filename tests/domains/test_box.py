"""Boxes: columns that count equally, and bounds that nobody can change."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.domains.box import Box
from privclust.kernels.grid import GRID

BOX = Box([0.0, -10.0, 5.0], [120.0, 30.0, 5.5])


def test_corners_of_a_box_reach_the_sphere_and_come_back() -> None:
    corners = np.array([BOX.lower, BOX.upper, [0.0, 30.0, 5.0]])
    unit = BOX.to_grid(corners) / GRID
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.ones(3), abs=1e-7)
    assert np.abs(BOX.from_ball(unit) - corners).max() < 1e-5


def test_columns_of_a_box_count_equally() -> None:
    ends = np.array([[120.0, 10.0, 5.25], [60.0, 30.0, 5.25], [60.0, 10.0, 5.5]])
    unit = BOX.to_grid(ends) / GRID
    assert unit == pytest.approx(np.eye(3) / np.sqrt(3), abs=1e-7)


def test_bounds_are_copied_and_frozen() -> None:
    lower = np.zeros(2)
    box = Box(lower, [1.0, 1.0])
    lower[0] = 0.5
    assert box.lower.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="read-only"):
        box.lower[0] = 3.0


def test_bounds_of_different_lengths_are_refused_with_both_counts() -> None:
    with pytest.raises(ValueError, match="one lower and one upper value per column, got 2 lower"):
        Box([0.0, 0.0], [1.0, 1.0, 1.0])


@pytest.mark.parametrize("upper", [0.0, -1.0, 5e-324])
def test_a_column_without_width_is_refused_with_a_remedy(upper: float) -> None:
    with pytest.raises(ValueError, match=r"lower bound must be below .* leave a column"):
        Box([0.0, 0.0], [1.0, upper])
