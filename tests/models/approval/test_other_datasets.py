"""Other data sets of a ledger are listed, and added up where they protect the same unit."""

from __future__ import annotations

import pytest

from privclust import Ledger
from privclust.models.approval.other_datasets import listed, same_unit
from privclust.models.composition import best_power
from privclust.models.formatting import percent_up, rounded_up
from privclust.privacy.accounting import Budget, epsilon_of_spend

ONE, HALF = Budget(1.0, 1e-6).capacity, Budget(0.5, 1e-7).capacity


def recorded(unit: str = "who", delta: float = 1e-7) -> Ledger:
    """Return a ledger of a data set with a run, one of unit `who`, and one of rows."""
    ledger = Ledger.in_memory()
    ledger.add("visits", epsilon=4.0, delta=1e-6, unit="who")
    ledger.add("visits bis", epsilon=2.0, delta=delta, unit=unit)
    ledger.add("rows", epsilon=2.0, delta=1e-7)
    ledger.reserve("visits", ONE, {})
    return ledger


def test_all_are_listed_with_unit_and_total() -> None:
    ledger = recorded()
    ledger.reserve("visits bis", HALF, {})
    _, *others = ledger.totals()
    total = rounded_up(others[0].epsilon)
    assert listed(others) == [
        ("'visits bis'", "'who'", "1", f"{total} at delta 1e-07", "2"),
        ("'rows'", "row", "0", "0 at delta 1e-07", "2"),
    ]


def test_what_is_of_the_same_unit_is_composed_as_in_one_ledger() -> None:
    ledger = recorded()
    ledger.reserve("visits bis", HALF, {})
    ledger.reserve("rows", HALF, {})
    total, *others = ledger.totals()
    together = same_unit(total, others)
    assert together is not None
    assert [one.dataset for one in together.totals] == ["visits", "visits bis"]
    assert (together.delta, together.epsilon) == (1e-7, epsilon_of_spend(ONE + HALF, 1e-7))
    assert together.epsilon > total.epsilon
    assert together.power == best_power(ONE + HALF)
    both = Budget(4.0, 1e-6).capacity + Budget(2.0, 1e-7).capacity
    assert together.admitted_at_first == epsilon_of_spend(both, 1e-7)
    text = " ".join(together.sentences)
    assert f"together to epsilon = {rounded_up(together.epsilon)}, delta = 1e-07" in text
    assert f"more than {percent_up(together.power)} of cases" in text
    assert f"count epsilon = {rounded_up(together.admitted_at_first)}, what" in text
    assert not together.weak


def test_a_typed_number_of_rows_anywhere_is_for_replacing() -> None:
    ledger = recorded()
    ledger.reserve("visits bis", HALF, {"n_rows": "1000"})
    total, *others = ledger.totals()
    together = same_unit(total, others)
    assert together is not None
    assert together.replacing_epsilon is not None
    assert together.replacing_epsilon > 2 * together.epsilon
    assert f"to epsilon = {rounded_up(together.replacing_epsilon)}" in together.sentences[0]


def test_of_pure_budgets_no_most_is_stated() -> None:
    ledger = recorded(delta=0.0)
    ledger.reserve("visits bis", Budget(0.5, 0.0).capacity, {})
    total, *others = ledger.totals()
    together = same_unit(total, others)
    assert together is not None
    assert together.epsilon <= 1.5 + 1e-9
    assert together.admitted_at_first is None
    assert "count what the ledger admitted at first for each of them" in together.sentences[1]


@pytest.mark.parametrize("unit", ["row", "who"])
def test_another_unit_and_data_sets_without_runs_are_not_added_up(unit: str) -> None:
    total, *others = recorded(unit).totals()
    assert same_unit(total, others) is None
