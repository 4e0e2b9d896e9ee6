"""Balls: a radius that makes sense, and a report that says from where it is."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.domains.ball import Ball


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf, 1e-160])
def test_a_bad_radius_is_refused_with_its_value_and_a_remedy(radius: float) -> None:
    with pytest.raises(ValueError, match=r"between 1e-150 and 1e\+150, got .*Give the largest"):
        Ball([0.0], radius)


@pytest.mark.parametrize(
    ("middle", "place"),
    [
        (np.zeros(9), "the origin"),
        ([3.0, -4.5], "the point (3, -4.5)"),
        (np.ones(9), "the point (1, 1, 1, 1, 1, 1, and 3 more)"),
    ],
)
def test_report_says_from_where_the_radius_is(middle: list[float], place: str) -> None:
    assert Ball(middle, 2.5).describe(None) == [(f"distance from {place}", ["0", "2.5"])]


def test_radius_is_a_parameter_only_if_it_is_from_the_origin() -> None:
    assert Ball([0.0, 0.0], 2.5).parameters("none", None) == {"radius": 2.5}
    assert Ball([0.0, 1.0], 2.5).parameters("none", None) == {"radius": None}
