"""The rules of a ledger, in memory, in a file and on a server: never more than the total."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privclust.privacy.accounting import QUANTA, Spend, gaussian_spend, pure_spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import Dataset, StoredResult

RESULT = StoredResult(np.array([1, -2, 2**62]), 4.1, "OpenDP")
OTHER = StoredResult(np.array([9]), 4.0, "OpenDP")
LedgerOf = Callable[..., Ledger]


# A planted bug must turn the cheapest kind red; the others run the same rules.
@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.attack), "sqlite", "postgresql"])
def ledger_of(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerOf:
    """Return a function that makes a ledger with a data set called "table"."""

    def make(epsilon: float = 1.0, delta: float = 1e-6) -> Ledger:
        if request.param == "memory":
            ledger = Ledger.in_memory()
            ledger.add("table", epsilon, delta)
            return ledger
        place = tmp_path / "ledger.db"
        if request.param == "postgresql":
            place = request.getfixturevalue("database")
        return Ledger.create(str(place), "table", epsilon=epsilon, delta=delta)

    return make


def pure(epsilon: float) -> Spend:
    return pure_spend(int(epsilon * QUANTA))


def part(ledger: Ledger, share: float) -> Spend:
    return gaussian_spend(int(share * ledger.remaining("table").quanta), 1)


# Data sets ---------------------------------------------------------------------------------------


def test_an_unknown_data_set_and_an_unknown_run_are_refused(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    for read in (ledger.remaining, ledger.runs, ledger.dataset):
        with pytest.raises(LedgerError, match="knows no data set 'chairs'"):
            read("chairs")
    with pytest.raises(LedgerError, match="knows no data set 'chairs'"):
        ledger.reserve("chairs", Spend(), {})
    with pytest.raises(LedgerError, match="knows no run"):
        ledger.claim("0", "count", Spend(), b"fingerprint")
    with pytest.raises(LedgerError, match="knows no run"):
        ledger.close("0")
    with pytest.raises(LedgerError, match="knows no run"):
        ledger.resume("0", "table", {})


def test_a_budget_never_grows(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    before = ledger.remaining("table")
    with pytest.raises(ValueError, match="a budget never grows"):
        ledger.add("table", 8.0, 1e-6)
    assert ledger.remaining("table") == before


def test_data_sets_have_budgets_of_their_own(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    ledger.add("chairs", 2.0, 1e-7, "owner", "the chair register")
    before = ledger.remaining("chairs")
    ledger.reserve("table", part(ledger, 0.9), {})
    assert ledger.remaining("chairs") == before
    assert [dataset.label for dataset in ledger.datasets()] == ["table", "chairs"]
    found = ledger.dataset("chairs")
    assert found == Dataset("chairs", found.budget, "owner", "the chair register")
    assert (found.budget.epsilon, found.budget.delta) == (2.0, 1e-7)


def test_names_are_kept_letter_by_letter(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    for label in ("Table", "tablé", "ta'ble; --", "ta%ble", "ta\nble", "表"):
        ledger.add(label, 1.0, 1e-6)
        assert ledger.dataset(label).label == label
    assert len(ledger.datasets()) == 7


# Reserving ---------------------------------------------------------------------------------------


def test_refusal_names_requested_remaining_and_difference(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    ledger.reserve("table", part(ledger, 0.75), {})
    too_much = gaussian_spend(int(0.05 * QUANTA), 1)
    with pytest.raises(BudgetExceededError) as refusal:
        ledger.reserve("table", too_much, {})
    remaining = ledger.remaining("table").mu2
    text = str(refusal.value)
    assert "nothing was read" in text
    assert re.search(r"Requested:  epsilon [\d.]+ at delta 1e-06 \(mu² 0\.05\)", text)
    assert re.search(rf"Remaining:  epsilon [\d.]+ at delta 1e-06 \(mu² {remaining:.6g}\)", text)
    assert f"Difference: mu² {0.05 - remaining:.6g}" in text


def test_what_a_refusal_of_a_pure_budget_offers_is_granted() -> None:
    """It was rounded up: 18.6107 where 18.610668 was left."""
    ledger = Ledger.in_memory()
    ledger.add("table", epsilon=19.0, delta=0.0)
    ledger.reserve("table", pure_spend(int(0.389332 * QUANTA)), {})
    with pytest.raises(BudgetExceededError) as refusal:
        ledger.reserve("table", pure_spend(19 * QUANTA), {})
    offered = float(str(refusal.value).partition("epsilon = ")[2].partition(";")[0])
    assert 18.61 <= offered <= ledger.epsilon_left("table")
    ledger.reserve("table", pure_spend(int(offered * QUANTA)), {})


def test_refusal_of_a_used_up_budget_offers_no_epsilon(ledger_of: LedgerOf) -> None:
    """It said to ask for at most epsilon = 0, which no fit may have."""
    ledger = ledger_of()
    ledger.close(ledger.reserve("table", ledger.remaining("table"), {}))
    ledger.reserve("table", ledger.remaining("table"), {})
    with pytest.raises(BudgetExceededError, match=r"less than epsilon = 0\.01; a budget"):
        ledger.reserve("table", gaussian_spend(int(0.05 * QUANTA), 1), {})


def test_refusal_names_the_run_that_was_not_ended(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    some, most, too_much = (part(ledger, share) for share in (0.3, 0.9, 1.1))
    ended, interrupted = (ledger.reserve("table", some, {}) for _ in range(2))
    ledger.close(ended)
    with pytest.raises(BudgetExceededError, match=f"by resume='{interrupted}'; 'privclust ledger"):
        ledger.reserve("table", most, {})
    ledger.close(interrupted)
    with pytest.raises(BudgetExceededError) as refusal:
        ledger.reserve("table", too_much, {})
    assert "not ended" not in str(refusal.value)


def test_refusal_of_a_pure_budget_speaks_of_epsilon(ledger_of: LedgerOf) -> None:
    ledger = ledger_of(1.0, 0.0)
    ledger.reserve("table", pure(0.75), {})
    with pytest.raises(BudgetExceededError, match=r"Remaining:  epsilon 0\.25"):
        ledger.reserve("table", pure(0.5), {})


def test_a_refused_reservation_leaves_no_trace(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    ledger.reserve("table", part(ledger, 0.75), {})
    before, head = ledger.remaining("table"), ledger.head()
    with pytest.raises(BudgetExceededError):
        ledger.reserve("table", part(ledger, 1.5), {})
    assert (ledger.remaining("table"), ledger.head()) == (before, head)
    assert len(ledger.runs("table")) == 1


def test_the_last_quantum_can_be_reserved_and_not_one_more(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    ledger.reserve("table", gaussian_spend(ledger.remaining("table").quanta, 1), {})
    assert ledger.remaining("table").quanta == 0
    with pytest.raises(BudgetExceededError):
        ledger.reserve("table", gaussian_spend(1, 1), {})


def test_gaussian_releases_do_not_fit_into_a_pure_budget(ledger_of: LedgerOf) -> None:
    with pytest.raises(BudgetExceededError):
        ledger_of(4.0, 0.0).reserve("table", gaussian_spend(1, 1), {})
    assert math.isinf(gaussian_spend(1, 1).epsilon)


# Claiming and recording --------------------------------------------------------------------------


def test_slot_is_charged_once_before_its_result_and_the_first_result_stays(
    ledger_of: LedgerOf,
) -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.5)
    run = ledger.reserve("table", charge, {})
    assert ledger.claim(run, "count", charge, b"fingerprint") is None
    assert ledger.run(run).charges == {"count": charge}
    assert ledger.claim(run, "count", charge, b"fingerprint") is None
    assert ledger.record(run, "count", RESULT) == RESULT
    assert ledger.record(run, "count", OTHER) == RESULT
    assert ledger.claim(run, "count", charge, b"fingerprint") == RESULT
    assert ledger.run(run).spent == charge


def test_slot_belongs_to_the_first_query_that_claims_it(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.5)
    run = ledger.reserve("table", charge, {})
    ledger.claim(run, "count", charge, b"fingerprint")
    with pytest.raises(LedgerError, match="slot 'count' belongs to another query"):
        ledger.claim(run, "count", charge, b"another")
    ledger.record(run, "count", RESULT)
    with pytest.raises(LedgerError, match="slot 'count' belongs to another query"):
        ledger.claim(run, "count", charge, b"another")
    with pytest.raises(LedgerError, match="slot 'votes' was never claimed"):
        ledger.record(run, "votes", RESULT)


def test_equal_slots_of_two_runs_are_two(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.25)
    first, second = (ledger.reserve("table", charge, {}) for _ in range(2))
    ledger.claim(first, "count", charge, b"fingerprint")
    ledger.record(first, "count", RESULT)
    assert ledger.claim(second, "count", charge, b"fingerprint") is None
    assert ledger.record(second, "count", OTHER) == OTHER
    assert [run.spent for run in ledger.runs("table")] == [charge, charge]


def test_a_run_cannot_claim_more_than_it_reserved(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.5)
    run = ledger.reserve("table", charge, {})
    ledger.claim(run, "first", charge, b"fingerprint")
    with pytest.raises(BudgetExceededError, match="more than it reserved"):
        ledger.claim(run, "second", gaussian_spend(1, 1), b"fingerprint")
    assert ledger.run(run).charges == {"first": charge}


@pytest.mark.attack
def test_claims_by_another_process_count_against_a_run(tmp_path: Path) -> None:
    """A ledger reads what is new of its run, not all of it, and must not miss what is new."""
    place = str(tmp_path / "ledger.db")
    first = Ledger.create(place, "table", epsilon=1.0, delta=1e-6)
    second = Ledger.open(place)
    charge = part(first, 0.25)
    run = first.reserve("table", charge + charge, {})
    first.claim(run, "first", charge, b"fingerprint")
    second.claim(run, "second", charge, b"fingerprint")
    with pytest.raises(BudgetExceededError, match="more than it reserved"):
        first.claim(run, "third", charge, b"fingerprint")
    second.close(run)
    with pytest.raises(LedgerError, match="closed"):
        first.claim(run, "fourth", charge, b"fingerprint")
    assert first.run(run).spent == charge + charge


# Closing -----------------------------------------------------------------------------------------


def test_closing_returns_only_what_was_never_claimed(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    total = ledger.remaining("table").quanta
    charge = part(ledger, 0.25)
    run = ledger.reserve("table", charge + charge, {})
    ledger.claim(run, "first", charge, b"fingerprint")
    assert ledger.remaining("table").quanta == total - 2 * charge.quanta
    ledger.close(run)
    assert ledger.remaining("table").quanta == total - charge.quanta
    assert not ledger.run(run).open
    with pytest.raises(LedgerError, match="closed"):
        ledger.claim(run, "second", charge, b"fingerprint")
    with pytest.raises(LedgerError, match="closed"):
        ledger.claim(run, "first", charge, b"fingerprint")
    assert ledger.record(run, "first", RESULT) == RESULT
    assert ledger.claim(run, "first", charge, b"fingerprint") == RESULT


def test_closing_twice_is_closing_once(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    run = ledger.reserve("table", part(ledger, 0.25), {})
    ledger.close(run)
    head, remaining = ledger.head(), ledger.remaining("table")
    ledger.close(run)
    assert (ledger.head(), ledger.remaining("table")) == (head, remaining)


# Going on with a run -----------------------------------------------------------------------------


def test_a_run_is_resumed_with_the_facts_it_was_started_with(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    ledger.add("chairs", 1.0, 1e-6)
    facts = {"seed": "7", "epsilon": "1.0"}
    run = ledger.reserve("table", part(ledger, 0.5), facts)
    before = ledger.head()
    ledger.resume(run, "table", facts)
    with pytest.raises(LedgerError, match=r"started differently: seed was 7, is 8\. Resume it"):
        ledger.resume(run, "table", {**facts, "seed": "8"})
    with pytest.raises(LedgerError, match="dataset was table, is chairs"):
        ledger.resume(run, "chairs", facts)
    with pytest.raises(LedgerError, match=r"epsilon was 1\.0, is unknown"):
        ledger.resume(run, "table", {"seed": "7"})
    with pytest.raises(LedgerError, match="unit was unknown, is row"):
        ledger.resume(run, "table", {**facts, "unit": "row"})
    assert ledger.head() == before


# What is kept ------------------------------------------------------------------------------------


def test_the_head_stands_for_all_before_it(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.25)
    heads = [ledger.head()]
    run = ledger.reserve("table", charge, {})
    heads.append(ledger.head())
    ledger.claim(run, "count", charge, b"fingerprint")
    heads.append(ledger.head())
    ledger.record(run, "count", RESULT)
    heads.append(ledger.head())
    ledger.close(run)
    heads.append(ledger.head())
    assert len(set(heads)) == 5
    assert all(ledger.verify(head) == [] for head in heads)


def test_export_has_every_entry_and_no_fingerprint(ledger_of: LedgerOf) -> None:
    ledger = ledger_of()
    charge = part(ledger, 0.25)
    run = ledger.reserve("table", charge, {"seed": "7"})
    ledger.claim(run, "count", charge, b"fingerprint")
    ledger.record(run, "count", RESULT)
    ledger.close(run)
    exported = ledger.export()
    kinds = ["ledger", "dataset", "reserve", "claim", "result", "close"]
    assert [entry["kind"] for entry in exported] == kinds
    assert [entry["number"] for entry in exported] == [1, 2, 3, 4, 5, 6]
    assert exported[-1]["hash"] == ledger.head()
    assert exported[2]["facts"] == {"seed": "7"}
    assert exported[4]["values"] == RESULT.values.tolist()
    assert "b'fingerprint'" not in str(exported)


def test_two_ledgers_never_have_a_hash_in_common(ledger_of: LedgerOf) -> None:
    first, second = ledger_of(), Ledger.in_memory()
    second.add("table", 1.0, 1e-6)
    hashes = [{entry["hash"] for entry in ledger.export()} for ledger in (first, second)]
    assert not hashes[0] & hashes[1]
    assert "not in this ledger" in first.verify(second.head())[0]


# Costs -------------------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("parts", [(-1, 0.0, 0.0, 0), (0, -1.0, 0.0, 0), (0, 0.0, math.nan, 0)])
def test_no_part_of_a_cost_is_negative(parts: tuple[int, float, float, int]) -> None:
    with pytest.raises(ValueError, match="negative"):
        Spend(*parts)


@pytest.mark.attack
def test_a_slot_keeps_its_charge(ledger_of: LedgerOf) -> None:
    """Otherwise noise drawn for a higher price would be paid for at the lower one."""
    ledger = ledger_of()
    run = ledger.reserve("table", part(ledger, 1.0), {})
    whole = ledger.run(run).reserved.quanta
    ledger.claim(run, "count", gaussian_spend(whole // 100, 1), b"fingerprint")
    with pytest.raises(LedgerError, match="charged another price"):
        ledger.claim(run, "count", gaussian_spend(whole, 1), b"fingerprint")


@pytest.mark.parametrize("values", [[1.5], [2**63], [-(2**70)], [[1]], ["1"]])
def test_result_that_would_be_converted_is_refused(values: Any) -> None:
    with pytest.raises(ValueError, match="64-bit integers"):
        StoredResult(values, 4.0, "OpenDP")


def test_stored_result_keeps_its_own_integers() -> None:
    given = np.array([1, -(2**63), 2**63 - 1])
    stored = StoredResult(given, 4.0, "OpenDP")
    given[:] = 0
    assert stored.values.tolist() == [1, -(2**63), 2**63 - 1]
    assert stored != StoredResult(given, 4.0, "OpenDP")
    assert stored != "a result"
    with pytest.raises(ValueError, match="read-only"):
        stored.values[0] = 5


def test_a_printed_run_is_a_line_and_not_all_of_its_charges(ledger_of: LedgerOf) -> None:
    """It was 3,474 characters of quanta."""
    ledger = ledger_of()
    name = ledger.reserve("table", part(ledger, 0.1), {"estimator": "PrivateKMeans"})
    (run,) = ledger.runs("table")
    assert repr(run).startswith(f"<Run {name} of 'table': PrivateKMeans, open, ")
    assert len(repr(run)) < 150
