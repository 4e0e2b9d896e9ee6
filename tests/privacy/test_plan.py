"""Plans: what a fit may measure, fixed beforehand, and refined only downwards."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.privacy.accounting import QUANTA, Budget, Spend, mu_of
from privclust.privacy.plan import SLOTS_MAX, Mechanism, Plan, Slot, make_plan

BUDGET = Budget(1.0, 1e-6)
PURE = Budget(1.0, 0.0)


def cost(plan: Plan) -> Spend:
    return sum((plan.price(slot) for slot in plan.slots), Spend())


def three_slots() -> Plan:
    return make_plan(BUDGET, [Slot("count", 0.01), Slot("votes", 0.49), Slot("sums", 0.5, 11)])


def test_plan_grants_the_whole_budget() -> None:
    plan = three_slots()
    assert plan.reserve.mu == pytest.approx(mu_of(1.0, 1e-6), rel=1e-6)
    assert BUDGET.admits(plan.reserve)
    assert cost(plan).within(plan.reserve)


def test_slots_are_priced_by_their_shares() -> None:
    plan = three_slots()
    for slot in plan.slots:
        assert plan.price(slot).mu2 == pytest.approx(slot.share * plan.reserve.mu2, rel=1e-9)


@pytest.mark.parametrize("mechanism", ["laplace", "select"])
def test_pure_slots_beside_gaussian_ones_are_charged_in_the_same_currency(
    mechanism: Mechanism,
) -> None:
    plan = make_plan(BUDGET, [Slot("votes", 0.5), Slot("choice", 0.5, mechanism=mechanism)])
    votes, choice = (plan.price(slot) for slot in plan.slots)
    assert choice.mu2 == pytest.approx(votes.mu2, rel=1e-9)
    assert choice.quanta <= votes.quanta
    assert 0 < choice.epsilon < BUDGET.epsilon
    assert (choice.slack, choice.tail) == (0.0, 0.0)


def test_changed_coordinates_raise_the_reserved_slack_and_lower_what_is_granted() -> None:
    narrow, wide = (make_plan(BUDGET, [Slot("all", 1.0, changed)]) for changed in (1, 10**9))
    assert wide.reserve.slack > 1e6 * narrow.reserve.slack
    assert wide.quanta < narrow.quanta


def test_unspent_shares_lower_the_price_of_no_slot_below_its_share() -> None:
    plan = make_plan(BUDGET, [Slot("votes", 0.25)])
    assert plan.reserve.mu == pytest.approx(mu_of(1.0, 1e-6), rel=1e-6)
    assert plan.quanta == pytest.approx(4 * plan.reserve.quanta, rel=1e-9)


@pytest.mark.parametrize(
    "shares",
    [(0.5, 0.6), (1 / 3, 1 / 3, 0.34), (0.5, 0.5 + 1e-8)],
)
@pytest.mark.parametrize("budget", [BUDGET, PURE])
def test_shares_must_sum_to_at_most_one(budget: Budget, shares: tuple[float, ...]) -> None:
    slots = [Slot(str(n), share, mechanism="laplace") for n, share in enumerate(shares)]
    with pytest.raises(ValueError, match="sum to at most 1"):
        make_plan(budget, slots)


@pytest.mark.parametrize("share", [0.0, -0.2, 1.0001, math.nan])
def test_a_slot_needs_a_share_between_0_and_1(share: float) -> None:
    with pytest.raises(ValueError, match="needs a share above 0 and at most 1"):
        Slot("votes", share)


@pytest.mark.parametrize("changed", [0, -(10**30)])
def test_a_slot_changes_at_least_one_coordinate(changed: int) -> None:
    with pytest.raises(ValueError, match="at least one changed coordinate"):
        Slot("votes", 0.5, changed)


def test_a_budget_too_small_for_its_slots_is_refused() -> None:
    with pytest.raises(ValueError, match=r"too small for the plan.* Ask for a larger epsilon"):
        make_plan(Budget(1.0, 1e-15), [Slot("all", 1.0, l0=10**12)])


@pytest.mark.parametrize("count", [1, 2, 3, 9, 13, 15, 21])
def test_pure_plans_may_be_cut_and_ordered_anew(count: int) -> None:
    thirds = [Slot(name, 1 / 3, mechanism="laplace") for name in "abc"]
    plan = make_plan(PURE, thirds)
    assert plan.refined("cab", []).reserve == plan.reserve
    parts = [Slot(str(n), 1 / count, mechanism="select") for n in range(count)]
    assert cost(plan.refined("", parts)).within(plan.reserve)


def test_each_slot_needs_a_name_of_its_own() -> None:
    with pytest.raises(ValueError, match="a name of its own"):
        make_plan(BUDGET, [Slot("votes", 0.5), Slot("votes", 0.5)])
    with pytest.raises(ValueError, match="a name of its own"):
        three_slots().refined(["count"], [Slot("count", 0.5)])


def test_number_of_slots_is_bounded() -> None:
    with pytest.raises(ValueError, match=f"1 to {SLOTS_MAX} slots"):
        make_plan(BUDGET, [Slot(str(n), 1e-6) for n in range(SLOTS_MAX + 1)])
    with pytest.raises(ValueError, match="1 to"):
        make_plan(BUDGET, [])


def test_slots_are_found_by_name_and_unknown_names_list_the_known() -> None:
    plan = three_slots()
    assert plan.slot("sums") is plan.slots[2]
    with pytest.raises(KeyError, match="no slot 'sum' in this plan; it has count, votes, sums"):
        plan.slot("sum")
    with pytest.raises(KeyError, match="no slot 'total'"):
        plan.refined(["total"], [])


def test_refined_keeps_measured_slots_and_their_price() -> None:
    plan = three_slots()
    finer = plan.refined(["count"], [Slot(f"votes {n}", 0.09) for n in range(10)])
    assert finer.slots[0] is plan.slots[0]
    assert finer.price(finer.slots[0]) == plan.price(plan.slots[0])
    assert [slot.name for slot in finer.slots[1:]] == [f"votes {n}" for n in range(10)]
    assert (finer.reserve, finer.quanta, finer.budget) == (plan.reserve, plan.quanta, BUDGET)
    assert cost(finer).within(plan.reserve)


def test_refined_may_be_refined_again_within_the_first_reserve() -> None:
    plan = three_slots().refined(["count"], [Slot("votes", 0.2)])
    assert cost(plan.refined(["count", "votes"], [Slot("sums", 0.79)])).within(plan.reserve)
    with pytest.raises(ValueError, match="cost more than the plan reserved"):
        plan.refined(["count", "votes"], [Slot("sums", 0.80)])


@pytest.mark.attack
@pytest.mark.parametrize(
    "slots",
    [
        [Slot("votes", 0.9901)],
        [Slot("votes", 0.5), Slot("sums", 0.4901)],
        [Slot("wide", 0.98, l0=12)],
        [Slot("wide", 0.98, l0=10**15)],
    ],
)
def test_refined_refuses_more_than_was_reserved(slots: list[Slot]) -> None:
    with pytest.raises(ValueError, match="cost more than the plan reserved"):
        three_slots().refined(["count"], slots)


def test_refined_never_lets_a_gaussian_into_a_pure_reserve() -> None:
    plan = make_plan(BUDGET, [Slot("choice", 1.0, mechanism="select")])
    with pytest.raises(ValueError, match="cost more than the plan reserved"):
        plan.refined([], [Slot("votes", 0.01)])


@pytest.mark.parametrize(
    "slots", [[Slot("a", 1.0)], [Slot("a", 0.5, 1, "laplace"), Slot("b", 0.5)]]
)
def test_pure_guarantee_refuses_gaussian_slots_and_says_what_to_do(slots: list[Slot]) -> None:
    with pytest.raises(ValueError, match=r"delta=0 means pure epsilon.* Give a delta above 0"):
        make_plan(PURE, slots)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 3.7, 64.0])
@pytest.mark.parametrize("count", [1, 3, 7, 100])
def test_pure_plan_sums_to_at_most_epsilon_and_hardly_less(epsilon: float, count: int) -> None:
    budget = Budget(epsilon, 0.0)
    plan = make_plan(budget, [Slot(str(n), 1 / count, mechanism="laplace") for n in range(count)])
    spent = math.fsum(plan.price(slot).epsilon for slot in plan.slots)
    assert epsilon - 2 * SLOTS_MAX / QUANTA <= spent <= epsilon
    assert plan.reserve.epsilon <= epsilon
    assert budget.admits(plan.reserve)


def test_pure_slots_may_use_the_pure_sum_where_it_is_cheaper() -> None:
    # One pure release of epsilon 1 keeps (1, 1e-6); read as mu it would be granted far less.
    plan = make_plan(BUDGET, [Slot("choice", 1.0, mechanism="select")])
    assert plan.reserve.epsilon == pytest.approx(1.0, rel=1e-9)
    assert plan.reserve.mu > 4 * mu_of(1.0, 1e-6)


@settings(deadline=None)
@given(
    parts=st.lists(st.floats(0.001, 1.0), min_size=1, max_size=12),
    changed=st.lists(st.integers(1, 11), min_size=12, max_size=12),
    used=st.floats(0.01, 0.99),
)
def test_any_refinement_within_shares_and_width_fits_the_reserve(
    parts: list[float], changed: list[int], used: float
) -> None:
    plan = three_slots()
    slots = [
        Slot(f"part {n}", used * part / math.fsum(parts) * (1 - 1e-12), changed[n])
        for n, part in enumerate(parts)
    ]
    finer = plan.refined(["count"], slots)
    assert cost(finer).within(plan.reserve)
    assert BUDGET.admits(cost(finer))


def test_prices_depend_on_nothing_but_the_slot_and_the_plan() -> None:
    plan = three_slots()
    votes = plan.slot("votes")
    assert plan.price(replace(votes, name="other")) == plan.price(votes)
    assert plan.price(votes).quanta == pytest.approx(0.49 * plan.quanta, abs=2)
    assert plan.quanta < QUANTA
