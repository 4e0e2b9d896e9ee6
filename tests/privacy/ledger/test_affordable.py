"""The epsilon that may still be asked for: granted by the ledger, and hardly more would be."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from privclust import Ledger
from privclust.privacy.accounting import (
    EPSILON_MIN,
    QUANTA,
    Budget,
    Spend,
    gaussian_spend,
    pure_spend,
)
from privclust.privacy.ledger._admission import MOST_COUNTED, Cap
from privclust.privacy.ledger.affordable import affordable
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.privacy.plan import Mechanism, Slot, make_plan

EPSILONS = st.floats(EPSILON_MIN, 64.0) | st.integers(10, 5000).map(lambda one: one / 1000)
DELTAS = st.sampled_from([0.0, 1e-12, 1e-6, 1e-3])


def dearest(epsilon: float, delta: float) -> Spend:
    """Return the most that a fit of so much may cost."""
    budget = Budget(epsilon, delta)
    if delta == 0:
        assert budget.pure.pure is not None
        return pure_spend(budget.pure.pure)
    return gaussian_spend(budget.capacity.quanta, l0=1)


def ledger_of(epsilon: float, delta: float, share: float, periods: int = 1) -> Ledger:
    """Return a ledger of whose data set "table" such a share is spent."""
    ledger = Ledger.in_memory()
    ledger.add("table", epsilon, delta, periods=periods)
    budget = Budget(epsilon, delta)
    if share and delta == 0:
        ledger.reserve("table", pure_spend(int(share * (budget.pure.pure or 0))), {})
    elif share:
        ledger.reserve("table", gaussian_spend(int(share * budget.capacity.quanta), l0=1), {})
    return ledger


@settings(max_examples=60)
@given(EPSILONS, DELTAS, st.floats(0.0, 1.0))
def test_what_is_said_to_be_left_is_granted(epsilon: float, delta: float, share: float) -> None:
    ledger = ledger_of(epsilon, delta, share)
    left = ledger.epsilon_left("table")
    assert left <= epsilon
    assume(left >= EPSILON_MIN)
    ledger.reserve("table", dearest(left, delta), {})
    assert ledger.verify() == []


@settings(max_examples=30)
@given(EPSILONS, DELTAS, st.floats(0.0, 0.95))
def test_a_fit_that_is_planned_for_it_is_granted(
    epsilon: float, delta: float, share: float
) -> None:
    ledger = ledger_of(epsilon, delta, share)
    left = ledger.epsilon_left("table")
    assume(left >= EPSILON_MIN)
    noise: Mechanism = "laplace" if delta == 0 else "gaussian"
    slots = [Slot("count", 0.1, mechanism=noise), Slot("sums", 0.9, l0=64, mechanism=noise)]
    ledger.reserve("table", make_plan(Budget(left, delta), slots).reserve, {})


@settings(max_examples=60)
@given(EPSILONS, DELTAS, st.floats(0.0, 1.0))
def test_a_thousandth_more_is_refused(epsilon: float, delta: float, share: float) -> None:
    ledger = ledger_of(epsilon, delta, share)
    more = ledger.epsilon_left("table") + 0.001
    assume(EPSILON_MIN <= more <= 64)
    with pytest.raises(BudgetExceededError):
        ledger.reserve("table", dearest(more, delta), {})


@settings(max_examples=40)
@given(EPSILONS, DELTAS)
def test_all_of_an_untouched_budget_is_left(epsilon: float, delta: float) -> None:
    assert ledger_of(epsilon, delta, 0.0).epsilon_left("table") == epsilon


@settings(max_examples=30)
@given(st.floats(0.5, 4.0), st.sampled_from([0.0, 1e-6]), st.integers(2, 60))
def test_one_period_has_no_more_than_its_part(epsilon: float, delta: float, periods: int) -> None:
    """What all periods have together was said to be left for one more fit, and not granted."""
    ledger = ledger_of(epsilon, delta, 0.0, periods)
    left = ledger.epsilon_left("table")
    assert left == ledger.dataset("table").epsilon_per_period < epsilon
    assume(left >= EPSILON_MIN)
    ledger.reserve("table", dearest(left, delta), {"period": "WEEK-1"})


def test_of_an_analysts_cap_no_more_is_left_than_is_granted() -> None:
    ledger = ledger_of(1.0, 1e-6, 0.5)
    cap = Cap("analyst", "a7", 0.5)
    assert ledger.epsilon_left("table", cap) == 0.5
    ledger.reserve("table", dearest(0.5, 1e-6), {"analyst": "a7"}, cap=cap)
    assert ledger.epsilon_left("table", cap) == 0.0


def test_less_than_any_fit_can_use_is_still_named() -> None:
    assert affordable(pure_spend(QUANTA // 250), Budget(1.0, 0.0)) == 0.004


@settings(max_examples=60)
@given(
    st.floats(0.5, 8.0),
    DELTAS,
    st.floats(0.0, 0.9),
    st.floats(0.01, 1.2),
    st.sampled_from([1, 3]),
)
def test_as_many_runs_as_are_said_to_be_left_are_granted(
    epsilon: float, delta: float, share: float, size: float, periods: int
) -> None:
    """One more is refused, so that the number is exact."""
    ledger = ledger_of(epsilon, delta, share if periods == 1 else 0.0, periods)
    facts = {"period": "WEEK-1"} if periods > 1 else {}
    part = ledger.dataset("table").share
    amount = int(size * (part.quanta if part.pure is None else part.pure))
    cost = pure_spend(amount) if delta == 0 else gaussian_spend(amount, l0=1)
    try:
        run = ledger.reserve("table", cost, facts)
    except BudgetExceededError:
        return
    for left in range(ledger.runs_left(run), 0, -1):
        assert ledger.runs_left(run) == left
        ledger.reserve("table", cost, facts)
    assert ledger.runs_left(run) == 0
    with pytest.raises(BudgetExceededError):
        ledger.reserve("table", cost, facts)


def test_of_a_data_set_that_was_closed_no_run_is_left() -> None:
    ledger = ledger_of(1.0, 1e-6, 0.25)
    (run,) = ledger.runs("table")
    assert ledger.runs_left(run.name) == 3
    ledger.lower("table", None)
    assert ledger.runs_left(run.name) == 0


def test_runs_that_cost_next_to_nothing_are_counted_to_a_limit() -> None:
    ledger = ledger_of(1.0, 1e-6, 1e-9)
    assert ledger.runs_left(ledger.runs("table")[0].name) == MOST_COUNTED
