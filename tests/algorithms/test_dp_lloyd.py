"""DP-Lloyd: the budget is split the way the paper has it, and blobs are found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privclust import DPLloyd
from privclust.algorithms import dp_lloyd
from privclust.audit.replay import Transcript
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT
from privclust.privacy.accounting import Budget, mu_of
from privclust.privacy.curator import Curator
from privclust.testing import SeededNoise, noise_from


def noise_scales(budget: Budget, n_columns: int) -> tuple[float, float]:
    """Return the scale of the noise on a coordinate of a sum, in radii, and on a count, in rows."""
    plan = dp_lloyd.plan(1, n_columns, budget, n_rows=10)
    engine = NumpyEngine(np.zeros((1, n_columns)), Ball(np.zeros(n_columns), 1.0))
    transcript = Transcript(engine, SeededNoise(0))
    with noise_from(transcript):
        dp_lloyd.run(Curator.open(transcript, plan.spending), plan, np.random.default_rng(0))
    first = transcript.measurements[0]
    assert first.exact[:-1] == (0,) * n_columns
    return first.scale / UNIT, first.scale / first.exact[-1]


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [1, 4, 16, 64])
def test_each_column_gets_s_and_the_count_r_times_s(n_columns: int) -> None:
    """Published code gave the count s and each column r·s, 2.28 times the budget at 64 columns."""
    on_sum, on_count = noise_scales(Budget(1.0, 0.0), n_columns)
    r = (4 * n_columns * 0.225**2) ** (1 / 3)
    s = (1 / 2) / (n_columns + r)
    half_width = 1 / math.sqrt(n_columns)
    assert half_width / on_sum == pytest.approx(s, rel=1e-6)
    assert 1 / on_count == pytest.approx(r * s, rel=1e-6)


@pytest.mark.parametrize("n_columns", [1, 4, 16, 64])
def test_gaussian_noise_is_split_by_the_published_rule(n_columns: int) -> None:
    budget = Budget(1.0, 1e-6)
    on_sum, on_count = noise_scales(budget, n_columns)
    whole = math.sqrt(2) / mu_of(budget.epsilon, budget.delta)
    factor = math.sqrt(2 * 0.225 + math.sqrt(n_columns))
    assert on_sum == pytest.approx(whole * factor / n_columns**0.25, rel=1e-6)
    assert on_count == pytest.approx(whole * factor / math.sqrt(2 * 0.225), rel=1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "rounds"),
    [(0.25, 0.0, 2), (0.5, 0.0, 5), (4.0, 0.0, 7), (0.25, 1e-6, 4), (0.05, 1e-6, 2)],
)
def test_rounds_follow_the_published_rules(epsilon: float, delta: float, rounds: int) -> None:
    assert dp_lloyd.rounds_for(20_000, 4, 4, Budget(epsilon, delta)) == rounds


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_two_groups_are_found_in_the_users_units(delta: float) -> None:
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(c, 1.0, (n, 2)) for c, n in ((120, 3000), (160, 2000))])
    with noise_from(SeededNoise(0)):
        model = DPLloyd(2, delta=delta, bounds=(100, 200), random_state=0).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_, [[120, 120], [160, 160]], atol=3.0)
    np.testing.assert_allclose(model.cluster_sizes_, [3000, 2000], atol=300)


def test_pure_guarantee_is_stated_as_one() -> None:
    rows = np.zeros((500, 2))
    model = DPLloyd(2, epsilon=0.5, delta=0.0, radius=1.0, n_rows=500, random_state=0).fit(rows)
    statement = model.privacy_statement_
    assert statement.private
    assert (statement.epsilon, statement.delta) == (0.5, 0.0)
    assert statement.composed.replacing_epsilon == pytest.approx(1.0)
    # The mu of pure epsilon: 2·Φ⁻¹(e^ε/(1 + e^ε)).
    assert statement.mu == pytest.approx(0.6238, abs=1e-4)
    assert {release.mechanism for release in model.releases_} == {"laplace"}
    assert "epsilon = 0.5, delta = 0" in str(statement)
