"""Intervals of ratios hold the truth as often as they say, also where the divisor is small."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from privclust.models._ratio_intervals import ratio_ends

Z = 1.959963984540054
DRAWS = 200_000


@pytest.mark.parametrize("below", [1.0, 3.0, 10.0, 1000.0])
@pytest.mark.parametrize("ratio", [0.0, 0.1, 1.0])
def test_95_in_100_intervals_hold_the_truth(below: float, ratio: float) -> None:
    # Unbounded intervals count as holding; so do those that would have been the outside of two
    # ends. False alarms: at most 1e-6 for each side.
    rng = np.random.default_rng(int(below + 10 * ratio))
    covariance = 0.25
    noise = rng.multivariate_normal([0, 0], [[1, covariance], [covariance, 0.5]], DRAWS)
    above, divisor = ratio * below + noise[:, 0], below + noise[:, 1]
    lower, upper = ratio_ends(above, divisor, 1.0, 0.5, covariance, Z)
    covered = int(np.count_nonzero((lower <= ratio) & (ratio <= upper)))
    assert covered >= binom.ppf(1e-6, DRAWS, 0.95)
    if below >= 10:
        assert covered <= binom.ppf(1 - 1e-6, DRAWS, 0.95)


def test_the_ratio_lies_between_its_ends() -> None:
    rng = np.random.default_rng(0)
    above, below = rng.normal(0, 50, 10_000), rng.normal(20, 20, 10_000)
    lower, upper = ratio_ends(above, below, 4.0, 2.0, 1.0, Z)
    assert (lower <= above / below).all()
    assert (above / below <= upper).all()
    assert (np.isinf(lower) == np.isinf(upper)).all()
    assert 0.05 < np.isinf(lower).mean() < 0.5
