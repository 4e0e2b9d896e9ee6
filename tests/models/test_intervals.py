"""Intervals of numbers that lie between bounds."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.models.intervals import Intervals


@pytest.mark.parametrize("value", [-0.5, -0.05, 0.0, 0.05, 0.5, 0.97, 1.0, 1.4])
def test_an_interval_between_bounds_holds_all_that_is_possible_and_is_never_a_point(
    value: float,
) -> None:
    whole = Intervals.around(np.array([value]), 0.1)
    kept = whole.within(0.0, 1.0)
    assert 0.0 <= kept.lower[0] <= kept.values[0] <= kept.upper[0] <= 1.0
    assert kept.lower[0] <= np.clip(whole.lower[0], 0.0, 1.0)
    assert kept.upper[0] >= np.clip(whole.upper[0], 0.0, 1.0)
    assert kept.upper[0] - kept.lower[0] >= 0.195


def test_what_is_not_known_may_be_anything_possible() -> None:
    kept = Intervals(np.array([0.3]), np.array([-np.inf]), np.array([np.inf])).within(0.0, 1.0)
    assert (kept.lower[0], kept.upper[0]) == (0.0, 1.0)
