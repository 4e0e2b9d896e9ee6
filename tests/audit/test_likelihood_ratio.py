"""The attack weighs results as probability theory does, and changes none of them."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import laplace, norm

from privclust.audit._few_rows import FewRows
from privclust.audit.likelihood_ratio import LikelihoodRatioAttack, log_chances
from privclust.kernels.grid import UNIT, IntArray
from privclust.privacy.noise import NoNoise
from privclust.queries.base import Count
from privclust.queries.clusters import NearestVotes
from privclust.testing import SeededNoise

CROWD = np.full((5, 1), -0.5)
ABSENT, PRESENT = FewRows(CROWD), FewRows(np.vstack([CROWD, [[1.0]]]))
VOTES = NearestVotes(np.array([[-0.5], [0.5]]))
EXACT = np.array([[5, 0], [5, 1]]) * UNIT
SCALE = 1.5 * UNIT


def attack(present: bool) -> LikelihoodRatioAttack:
    return LikelihoodRatioAttack(ABSENT, PRESENT, PRESENT if present else ABSENT, SeededNoise(3))


def exact_result(present: bool) -> tuple[LikelihoodRatioAttack, IntArray]:
    attacking = attack(present)
    return attacking, np.array(attacking.aggregate(VOTES))


@pytest.mark.parametrize("present", [False, True])
def test_results_come_from_the_table_that_was_named(present: bool) -> None:
    _, exact = exact_result(present)
    assert np.array_equal(exact, EXACT[int(present)])


@pytest.mark.parametrize("present", [False, True])
def test_gaussian_results_are_weighed_by_their_densities(present: bool) -> None:
    attacking, exact = exact_result(present)
    result = attacking.gaussian(exact, SCALE)
    absent, with_canary = (norm.logpdf(result, table, SCALE).sum() for table in EXACT)
    assert attacking.log_ratio == pytest.approx(with_canary - absent)


@pytest.mark.parametrize("present", [False, True])
def test_laplace_results_are_weighed_by_their_densities(present: bool) -> None:
    attacking, exact = exact_result(present)
    result = attacking.laplace(exact, SCALE)
    absent, with_canary = (laplace.logpdf(result, table, SCALE).sum() for table in EXACT)
    assert attacking.log_ratio == pytest.approx(with_canary - absent)


def test_choices_are_weighed_by_their_chances_and_results_add_up() -> None:
    attacking, exact = exact_result(present=False)
    choice = attacking.permute_and_flip(exact, SCALE)
    absent, with_canary = (log_chances(table, SCALE)[choice] for table in EXACT)
    assert attacking.log_ratio == pytest.approx(with_canary - absent)
    once = attacking.log_ratio
    attacking.aggregate(Count())
    result = attacking.gaussian(np.array([5 * UNIT]), SCALE)
    more = norm.logpdf(result, 6 * UNIT, SCALE) - norm.logpdf(result, 5 * UNIT, SCALE)
    assert attacking.log_ratio == pytest.approx(once + more[0])


def chances(scores: list[float]) -> list[float]:
    """Return the chances by the definition: take each option or not, in a random order."""
    chosen = np.exp(np.array(scores) - max(scores))
    found = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for option in order:
            found[option] += left * chosen[option] / len(orders)
            left *= 1 - chosen[option]
    return found.tolist()


@pytest.mark.parametrize("scores", [[0.0], [0.0, 0.0], [0.0, -1.0, -0.3], [0.0, -2.0, -9.0, 0.0]])
def test_chances_are_those_of_permute_and_flip(scores: list[float]) -> None:
    whole = np.rint(np.array(scores) * UNIT).astype(np.int64)
    assert np.exp(log_chances(whole, UNIT)).tolist() == pytest.approx(chances(scores))


def test_chances_of_many_options_sum_to_one() -> None:
    scores = np.random.default_rng(0).integers(0, 20 * UNIT, 512)
    assert np.exp(log_chances(scores, UNIT)).sum() == pytest.approx(1.0)
    assert np.exp(log_chances(np.zeros(512, np.int64), UNIT)) == pytest.approx(1 / 512)


def test_samples_of_both_tables_have_the_same_inclusion_bits() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (300, 1))
    absent, present = FewRows(rows[:-1]), FewRows(rows)
    attacking = LikelihoodRatioAttack(absent, present, present, NoNoise())
    attacking.expect_sample(bytes(32))
    sample = attacking.sample(1, bytes(32))
    sample.expect_sample(bytes(32))
    exact = np.array(sample.aggregate(Count()))
    assert 100 < exact[0] // UNIT < 200
    attacking.gaussian(exact, float(UNIT))
    moved = (
        present.sample(1, bytes(32)).aggregate(Count())[0]
        - absent.sample(1, bytes(32)).aggregate(Count())[0]
    ) // UNIT
    assert attacking.log_ratio == moved / 2
    assert sample.sample(1, b"another key").aggregate(Count())[0] < exact[0]


def test_noise_without_a_query_is_refused() -> None:
    with pytest.raises(AssertionError, match="without a query"):
        attack(present=True).gaussian(EXACT[0], SCALE)
