"""Histories keep their guarantees, and the attack sees every result of the real calls."""

from __future__ import annotations

import pytest
from helpers.histories import half_of, histories, together, watch

from privclust import estimators
from privclust.audit.canaries import DELTA
from privclust.privacy.accounting import mu_of

EVERYTHING = histories()
MORE = [name for name in EVERYTHING if name not in estimators.__all__]


def test_every_estimator_has_a_history_and_so_has_what_goes_with_it() -> None:
    assert set(estimators.__all__) <= set(EVERYTHING)
    for word in ("start", "scale", "person", "profile", "federation", "client"):
        assert any(word in name for name in EVERYTHING), word


@pytest.mark.parametrize("name", MORE)
def test_releases_reveal_the_canary_and_no_more_than_is_guaranteed(name: str) -> None:
    """By four histories on each side at epsilon 64, where mu is 9.3.

    The log ratio has the mean mu²/2 at most and the deviation mu, and no history here uses less
    than mu = 5 on the canary. False alarm: each mean is more than five of its deviations away.
    """
    mu = mu_of(64.0, DELTA)
    for present, sign in ((False, -1), (True, 1)):
        ratios = sign * watch(EVERYTHING[name], 64.0, present, range(4))["releases"]
        assert 0 < ratios.mean() <= mu**2 / 2 + 5 * mu / 2


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 8.0])
def test_two_halves_are_a_whole(epsilon: float) -> None:
    assert together(half_of(epsilon), half_of(epsilon)) == pytest.approx(epsilon)
    assert half_of(epsilon) < epsilon == pytest.approx(together(epsilon))
