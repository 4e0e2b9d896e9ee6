"""The ledger never grants more than its total, in any order of events."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.privacy.budget import QUANTA, Budget, Spend, gaussian_spend, pure_spend
from privclust.privacy.ledger import Answer, BudgetExceededError, MemoryLedger

ANSWER = Answer((1, 2, 3), 4.0, "OpenDP")
OTHER = Answer((9,), 4.0, "OpenDP")


def ledger_of(epsilon: float = 1.0, delta: float = 1e-6) -> MemoryLedger:
    ledger = MemoryLedger()
    ledger.create("table", epsilon, delta)
    return ledger


def pure(epsilon: float) -> Spend:
    return pure_spend(int(epsilon * QUANTA))


def part(ledger: MemoryLedger, share: float) -> Spend:
    return gaussian_spend(int(share * ledger.remaining("table").quanta), 1)


def test_refuses_an_unknown_data_set_and_an_unknown_run() -> None:
    ledger = MemoryLedger()
    with pytest.raises(KeyError, match="knows no data set 'table'"):
        ledger.reserve("table", Spend(), {})
    with pytest.raises(KeyError, match="knows no run"):
        ledger.claim("0", "count", Spend(), "digest")


def test_a_label_is_created_once() -> None:
    with pytest.raises(ValueError, match="already"):
        ledger_of().create("table", 8.0, 1e-6)


def test_refusal_names_requested_remaining_and_difference() -> None:
    ledger = ledger_of()
    ledger.reserve("table", part(ledger, 0.75), {})
    too_much = gaussian_spend(int(0.05 * QUANTA), 1)
    with pytest.raises(BudgetExceededError) as refusal:
        ledger.reserve("table", too_much, {})
    remaining = ledger.remaining("table").mu2
    text = str(refusal.value)
    assert "nothing was read" in text
    assert "Requested:  mu² 0.05 (epsilon" in text
    assert f"Remaining:  mu² {remaining:.6g} (epsilon" in text
    assert f"Difference: mu² {0.05 - remaining:.6g}" in text


def test_refusal_of_a_pure_budget_speaks_of_epsilon() -> None:
    ledger = ledger_of(1.0, 0.0)
    ledger.reserve("table", pure(0.75), {})
    with pytest.raises(BudgetExceededError, match=r"Remaining:  epsilon 0\.25"):
        ledger.reserve("table", pure(0.5), {})


@pytest.mark.attack
def test_a_slot_is_charged_once_before_its_answer_and_the_first_answer_stays() -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.5)
    run = ledger.reserve("table", charge, {})
    assert ledger.claim(run, "count", charge, "question") is None
    assert ledger.runs("table")[0].spent == charge
    assert ledger.claim(run, "count", charge, "question") is None
    assert ledger.record(run, "count", ANSWER) == ANSWER
    assert ledger.record(run, "count", OTHER) == ANSWER
    assert ledger.claim(run, "count", charge, "question") == ANSWER
    assert ledger.runs("table")[0].spent == charge


@pytest.mark.attack
def test_a_slot_belongs_to_the_first_question_that_claims_it() -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.5)
    run = ledger.reserve("table", charge, {})
    ledger.claim(run, "count", charge, "question")
    with pytest.raises(ValueError, match="belongs to another question"):
        ledger.claim(run, "count", charge, "another")
    with pytest.raises(KeyError, match="never claimed"):
        ledger.record(run, "votes", ANSWER)


@pytest.mark.attack
def test_a_run_cannot_claim_more_than_it_reserved() -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.5)
    run = ledger.reserve("table", charge, {})
    ledger.claim(run, "first", charge, "question")
    with pytest.raises(BudgetExceededError, match="more than it reserved"):
        ledger.claim(run, "second", gaussian_spend(1, 1), "question")


def test_closing_returns_only_what_was_never_claimed() -> None:
    ledger = ledger_of()
    total = ledger.remaining("table").quanta
    charge = part(ledger, 0.25)
    run = ledger.reserve("table", charge + charge, {})
    ledger.claim(run, "first", charge, "question")
    assert ledger.remaining("table").quanta == pytest.approx(total / 2)
    ledger.close(run)
    assert ledger.remaining("table").quanta == pytest.approx(total * 3 / 4)
    with pytest.raises(BudgetExceededError, match="closed"):
        ledger.claim(run, "second", charge, "question")
    assert ledger.record(run, "first", ANSWER) == ANSWER


@pytest.mark.attack
@pytest.mark.parametrize("parts", [(-1, 0.0, 0.0, 0), (0, -1.0, 0.0, 0), (0, 0.0, math.nan, 0)])
def test_no_part_of_a_cost_is_negative(parts: tuple[int, float, float, int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        Spend(*parts)


@settings(max_examples=60, deadline=None)
@given(
    shares=st.lists(st.floats(1e-4, 0.6), min_size=1, max_size=12),
    kinds=st.lists(st.booleans(), min_size=12, max_size=12),
    closing=st.lists(st.booleans(), min_size=12, max_size=12),
)
@pytest.mark.attack
def test_no_sequence_of_runs_overspends(
    shares: list[float], kinds: list[bool], closing: list[bool]
) -> None:
    ledger = ledger_of()
    whole = ledger.remaining("table").quanta
    for share, is_pure, close in zip(shares, kinds, closing, strict=False):
        cost = pure(share) if is_pure else gaussian_spend(int(share * whole), 3)
        try:
            run = ledger.reserve("table", cost, {})
        except BudgetExceededError:
            continue
        ledger.claim(run, "only", cost, "question")
        if close:
            ledger.close(run)
    spent = sum((run.spent for run in ledger.runs("table")), Spend())
    assert Budget(1.0, 1e-6).admits(spent)


def test_two_threads_share_one_budget() -> None:
    ledger = ledger_of()
    cost = part(ledger, 1 / 10.001)

    def try_to_reserve(_: int) -> bool:
        try:
            ledger.reserve("table", cost, {})
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        granted = sum(pool.map(try_to_reserve, range(50)))
    assert granted == 10


def test_gaussian_releases_do_not_fit_into_a_pure_budget() -> None:
    with pytest.raises(BudgetExceededError):
        ledger_of(4.0, 0.0).reserve("table", gaussian_spend(1, 1), {})
    assert math.isinf(gaussian_spend(1, 1).epsilon)
