"""Attacks with real noise: they have teeth, no exported algorithm is refuted, a cheat is.

A sound algorithm is refuted with a chance of at most 5e-7 by each attacker, 1e-6 a test.
"""

from __future__ import annotations

import numpy as np
import pytest

from privclust import estimators
from privclust.audit.canaries import (
    DELTA,
    PLAIN_COUNT,
    AlgorithmFunctions,
    attacks,
    exported,
    sightings,
)
from privclust.audit.checks import SURE
from privclust.audit.epsilon_bound import refuted
from privclust.models.clustering import Clustering
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator

pytestmark = pytest.mark.real_noise


def refutations(
    algorithm: AlgorithmFunctions, budget: Budget, fits: int, confidence: float
) -> dict[str, float]:
    absent, present = (sightings(algorithm, budget, side, range(fits)) for side in (False, True))
    return {
        attacker: refuted(scores, budget.delta, confidence).epsilon_at(budget.delta)
        for attacker, scores in attacks(absent, present).items()
    }


def test_every_exported_estimator_is_attacked() -> None:
    assert set(exported()) == set(estimators.__all__)


@pytest.mark.parametrize("name", estimators.__all__)
def test_no_guarantee_is_refuted(name: str) -> None:
    found = refutations(exported()[name], Budget(1.0, DELTA), fits=10, confidence=SURE)
    assert all(epsilon <= 1.0 for epsilon in found.values()), found


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_an_attack_on_a_plain_count_has_teeth(delta: float) -> None:
    # Of epsilon 4, about 3 is refuted; less than 1 is more than six standard deviations off.
    found = refutations(PLAIN_COUNT, Budget(4.0, delta), fits=600, confidence=0.95)
    assert min(found.values()) > 1.0


def with_a_tenth_of_its_noise(
    curator: Curator, plan: object, rng: np.random.Generator
) -> Clustering:
    honest = curator._noise
    curator._noise = type(
        "Quiet", (), {"name": "quiet", "gaussian": lambda _, e, s: honest.gaussian(e, s / 10)}
    )()
    return PLAIN_COUNT.run(curator, plan, rng)


def test_too_little_noise_is_refuted_beyond_doubt() -> None:
    cheat = AlgorithmFunctions(PLAIN_COUNT.plan, with_a_tenth_of_its_noise)
    found = refutations(cheat, Budget(1.0, DELTA), fits=200, confidence=SURE)
    assert min(found.values()) > 1.0
