"""What is refuted is false, up to the confidence; and an attack with power refutes a lot.

Scores come from seeded generators, so that no test raises a false alarm but by a change of code.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from privclust.audit.epsilon_bound import Refuted, Scores, linear_scores, refuted
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import epsilon_of, mu_of


def gaussian(mu: float, fits: int, seed: int = 0) -> Scores:
    rng = np.random.default_rng(seed)
    return Scores(rng.normal(0.0, 1.0, fits), rng.normal(mu, 1.0, fits))


def laplace(epsilon: float, fits: int, seed: int = 0) -> Scores:
    rng = np.random.default_rng(seed)
    return Scores(rng.laplace(0.0, 1.0, fits), rng.laplace(epsilon, 1.0, fits))


def test_a_guess_without_errors_refutes_what_clopper_and_pearson_say() -> None:
    found = refuted(Scores(np.zeros(200), np.ones(200)), delta=0.01)
    limit = 1 - 0.025 ** (1 / 100)  # no error in the 100 fits that are judged
    assert found.epsilon == pytest.approx(math.log((1 - 0.01 - limit) / limit))
    assert found.mu == pytest.approx(2 * 1.7959, abs=1e-3)


def test_nothing_is_refuted_where_nothing_shows() -> None:
    same = np.arange(1000.0)
    assert refuted(Scores(same, same), delta=0.0) == Refuted(0.0, 0.0)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_most_of_a_pure_guarantee_is_refuted_and_no_more(epsilon: float) -> None:
    found = refuted(laplace(epsilon, 40_000), delta=0.0)
    assert 0.85 * epsilon < found.epsilon < epsilon
    assert found.epsilon_at(0.0) == found.epsilon


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_most_of_a_gaussian_guarantee_is_refuted_and_no_more(epsilon: float) -> None:
    mu = mu_of(epsilon, 0.01)
    found = refuted(gaussian(mu, 40_000), delta=0.01)
    assert found.mu < mu
    assert 0.8 * epsilon < found.epsilon_at(0.01) < epsilon


def test_the_confidence_is_what_it_says() -> None:
    # Of 400 lower bounds at 90 % confidence, 40 may be too high. Half of the doubt goes to either
    # rate, which is cautious: many more would mean that the threshold saw the fits it is judged by.
    mu = mu_of(1.0, 0.01)
    too_high = sum(
        refuted(gaussian(mu, 400, seed), 0.01, confidence=0.9).mu > mu for seed in range(400)
    )
    assert too_high <= 40


def test_what_fails_with_probability_delta_refutes_nothing() -> None:
    seen = (np.random.default_rng(0).random(40_000) < 0.01).astype(float)
    scores = Scores(np.zeros(40_000), seen)
    assert refuted(scores, delta=0.0).epsilon > 3
    assert refuted(scores, delta=0.02).epsilon == 0.0


def test_errors_are_counted_on_fits_that_nothing_was_learnt_from() -> None:
    apart, same = np.tile([1.0, 0.0], 500), np.zeros(1000)
    assert refuted(Scores(same, apart), delta=0.0).epsilon == 0.0


def test_a_discriminant_is_learnt_from_the_same_half() -> None:
    rng = np.random.default_rng(0)
    absent, present = rng.normal(size=(2, 400, 6))
    judged = linear_scores(absent, present)
    absent[1::2], present[1::2] = 7.0, -7.0
    again = linear_scores(absent, present)
    assert np.array_equal(judged.absent[::2], again.absent[::2])
    assert np.array_equal(judged.present[::2], again.present[::2])


def test_a_discriminant_finds_the_column_that_tells_and_bears_constant_ones() -> None:
    rng = np.random.default_rng(0)
    absent, present = rng.normal(size=(2, 2000, 3))
    absent[:, 2] = present[:, 2] = 5.0
    present[:, 1] += 3.0
    found = refuted(linear_scores(absent, present), delta=0.01)
    assert found.mu == pytest.approx(3.0, abs=0.5)
    assert found.mu < 3.0


def test_a_larger_mu_goes_with_a_larger_epsilon_at_the_same_delta() -> None:
    assert Refuted(0.3, 1.0).epsilon_at(0.01) == epsilon_of(1.0, 0.01)
    assert Refuted(9.0, 1.0).epsilon_at(0.01) == 9.0


def test_half_the_noise_is_seen() -> None:
    present: FloatArray = gaussian(2 * mu_of(2.0, 0.01), 4000).present
    scores = Scores(gaussian(0.0, 4000, seed=1).absent, present)
    assert refuted(scores, 0.01, confidence=1 - 1e-6).epsilon_at(0.01) > 2.0
