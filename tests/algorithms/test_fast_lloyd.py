"""FastLloyd: noise by the radius, moves no longer than it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privclust import FastLloyd
from privclust.algorithms import fast_lloyd
from privclust.audit.replay import Transcript
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT, FloatArray
from privclust.privacy.accounting import Budget, mu_of
from privclust.privacy.curator import Curator
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)


@pytest.mark.parametrize("n_columns", [1, 4, 16, 64])
def test_sum_and_count_share_one_noise_by_the_published_rule(n_columns: int) -> None:
    plan = fast_lloyd.plan(1, n_columns, BUDGET, n_rows=10)
    engine = NumpyEngine(np.zeros((1, n_columns)), Ball(np.zeros(n_columns), 1.0))
    transcript = Transcript(engine, SeededNoise(0))
    with noise_from(transcript):
        fast_lloyd.run(Curator.open(transcript, plan.spending), plan, np.random.default_rng(0))
    first = transcript.measurements[0]
    whole = math.sqrt(2) / mu_of(BUDGET.epsilon, BUDGET.delta)
    factor = math.sqrt(1 + math.sqrt(4 * n_columns))
    assert first.scale / UNIT == pytest.approx(whole * factor / (4 * n_columns) ** 0.25, rel=1e-6)
    assert first.scale / first.exact[-1] == pytest.approx(whole * factor, rel=1e-6)


@pytest.mark.parametrize(
    ("k", "d", "epsilon", "rounds"), [(16, 4, 1.0, 5), (16, 4, 0.25, 2), (4, 4, 0.25, 7)]
)
def test_rounds_follow_the_published_rule(k: int, d: int, epsilon: float, rounds: int) -> None:
    assert fast_lloyd.rounds_for(20_000, k, d, Budget(epsilon, 1e-6)) == rounds


def test_radius_shrinks_after_the_first_round() -> None:
    assert fast_lloyd.later_radius(16, 4) == pytest.approx(0.8 * 0.5)
    assert fast_lloyd.later_radius(1, 7) == pytest.approx(0.8)


numbers = st.floats(-1e6, 1e6)


@pytest.mark.attack
@settings(deadline=None, derandomize=True, database=None)
@given(arrays(np.float64, (4, 3), elements=numbers), arrays(np.float64, 4, elements=numbers))
def test_no_noisy_count_turns_a_move_round_or_makes_it_longer_than_the_radius(
    sums: FloatArray, counts: FloatArray
) -> None:
    """Published code divided by negative counts, too."""
    moves = fast_lloyd.moves(sums, counts, 0.3)
    assert (np.linalg.norm(moves, axis=1) <= 0.3 * (1 + 1e-9)).all()
    assert (moves * sums >= 0).all()


def test_two_groups_are_found_in_the_users_units() -> None:
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(c, 1.0, (n, 2)) for c, n in ((120, 3000), (160, 2000))])
    with noise_from(SeededNoise(0)):
        model = FastLloyd(2, delta=1e-6, bounds=(100, 200), random_state=0).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_, [[120, 120], [160, 160]], atol=3.0)
    np.testing.assert_allclose(model.cluster_sizes_, [3000, 2000], atol=300)


@pytest.mark.parametrize("n_rows", [None, 100])
def test_pure_guarantee_is_refused_before_anything_is_spent(n_rows: int | None) -> None:
    model = FastLloyd(2, delta=0.0, radius=1.0, n_rows=n_rows)
    with pytest.raises(ValueError, match=r"delta=0 means pure.*above 0.*or use DPLloyd"):
        model.fit(np.zeros((100, 2)))
