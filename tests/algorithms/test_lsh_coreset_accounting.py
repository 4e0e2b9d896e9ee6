"""The LSH coreset's guarantee, with dp-accounting as referee."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.algorithms import lsh_coreset
from privclust.algorithms.lsh_coreset import WEIGHT
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.curator import Curator
from privclust.testing import SeededNoise, noise_from


@settings(deadline=None, derandomize=True, database=None, max_examples=30)
@given(
    epsilon=st.floats(0.1, 3.0),
    log_delta=st.floats(-9.0, -3.0),
    k=st.integers(1, 20),
    d=st.integers(1, 20),
    size=st.integers(0, 3000),
    typed=st.booleans(),
)
def test_what_is_released_is_what_was_planned_and_keeps_the_guarantee(
    epsilon: float, log_delta: float, k: int, d: int, size: int, typed: bool
) -> None:
    budget = Budget(epsilon, 10**log_delta)
    rows = np.random.default_rng(size).normal(0.0, 0.5 / math.sqrt(d), (size, d))
    plan = lsh_coreset.plan(k, d, budget, max(size, k) if typed else None)
    planned = plan.spending
    with noise_from(SeededNoise(size)):
        curator = Curator.open(NumpyEngine(rows, Ball(np.zeros(d), 1.0)), planned)
        found = lsh_coreset.run(curator, plan, np.random.default_rng(0))
    assert found.centers.shape == (k, d)
    *levels, leaves = curator.releases
    assert leaves.slot == planned.slots[-1].name
    for release, slot in zip(levels, planned.slots, strict=False):
        assert (release.slot, release.charge) == (slot.name, planned.price(slot))
    assert [release.slot for release in curator.releases] == [s.name for s in curator.plan.slots]
    charges = [release.charge for release in curator.releases]
    assert sum(charges, Spend()).within(planned.reserve)
    events = []
    for release, charge in zip(curator.releases, charges, strict=True):
        assert charge == curator.plan.price(curator.plan.slot(release.slot))
        sensitivity = math.sqrt(1 + WEIGHT**2) if release.slot == "leaves" else 1.0
        assert release.scale >= sensitivity * UNIT / charge.mu
        events.append(dp_accounting.GaussianDpEvent(release.scale / UNIT / sensitivity))
    accountant = PLDAccountant()
    accountant.compose(dp_accounting.ComposedDpEvent(events))
    # The referee rounds up on its own grid.
    assert accountant.get_epsilon(budget.delta) <= epsilon * (1 + 1e-4)
    whole = math.sqrt(sum(event.noise_multiplier**-2 for event in events))
    assert dp_accounting.get_epsilon_gaussian(1 / whole, budget.delta) <= epsilon
