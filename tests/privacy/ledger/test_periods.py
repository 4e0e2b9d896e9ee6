"""A data set's periods share its budget: none may take another's part."""

from __future__ import annotations

from pathlib import Path

import pytest

from privclust.privacy.accounting import Budget, gaussian_spend
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger


def ledger_of(periods: int) -> Ledger:
    ledger = Ledger.in_memory()
    ledger.add("visits", 2.1, 1e-6, periods=periods)
    return ledger


def test_a_yearly_epsilon_of_2_1_is_a_quarter_a_week() -> None:
    account = ledger_of(52).dataset("visits")
    assert account.epsilon_per_period == 0.25
    assert Budget(0.25, 1e-6).capacity.quanta <= account.share.quanta


def test_every_period_has_its_part_and_no_more() -> None:
    ledger = ledger_of(4)
    share = gaussian_spend(ledger.dataset("visits").share.quanta, l0=1)
    for week in range(4):
        ledger.reserve("visits", share, {"period": f"WEEK-{week}"})
    more = gaussian_spend(2**20, l0=1)
    with pytest.raises(BudgetExceededError, match="the data set's budget"):
        ledger.reserve("visits", gaussian_spend(2**40, l0=1), {"period": "WEEK-5"})
    assert ledger.verify() == []
    fresh = ledger_of(4)
    fresh.reserve("visits", share, {"period": "WEEK-0"})
    with pytest.raises(BudgetExceededError, match="period WEEK-0's budget"):
        fresh.reserve("visits", more, {"period": "WEEK-0"})
    fresh.reserve("visits", share, {"period": "WEEK-1"})


def test_what_a_closed_run_did_not_spend_is_free_in_its_period() -> None:
    ledger = ledger_of(4)
    share = gaussian_spend(ledger.dataset("visits").share.quanta, l0=1)
    run = ledger.reserve("visits", share, {"period": "WEEK-0"})
    ledger.close(run)
    ledger.reserve("visits", share, {"period": "WEEK-0"})


def test_a_period_is_named_where_there_are_periods_and_nowhere_else() -> None:
    some = gaussian_spend(2**30, l0=1)
    with pytest.raises(LedgerError, match="has 52 periods that share its budget"):
        ledger_of(52).reserve("visits", some, {})
    with pytest.raises(LedgerError, match="has no periods"):
        ledger_of(1).reserve("visits", some, {"period": "WEEK-0"})
    with pytest.raises(ValueError, match="periods must be an integer"):
        ledger_of(0)


def test_periods_last_in_a_file(tmp_path: Path) -> None:
    place = str(tmp_path / "year.db")
    Ledger.create(place, "visits", epsilon=2.1, delta=1e-6, periods=52)
    Ledger.create(place, "wards", epsilon=1.0, delta=1e-6)
    ledger = Ledger.open(place)
    assert [dataset.periods for dataset in ledger.datasets()] == [52, 1]
    assert "periods" not in ledger.export()[2]


def test_verification_finds_a_period_that_was_overspent(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ledger_of(4)
    share = gaussian_spend(ledger.dataset("visits").share.quanta, l0=1)
    monkeypatch.setattr(
        "privclust.privacy.ledger._admission.period_of", lambda account, facts: None
    )
    for _ in range(2):
        ledger.reserve("visits", share, {"period": "WEEK-0"})
    assert ledger.verify() == ["entry 4 overspends a period of data set 'visits'"]


@pytest.mark.parametrize("name", ["2026-W07 ", "2026-w07", "2026\u2011W07", "7 ", "", "-7", "'7'"])
def test_no_period_has_two_names(name: str) -> None:
    some = gaussian_spend(2**40, l0=1)
    ledger_of(52).reserve("visits", some, {"period": "2026-W07"})
    with pytest.raises(LedgerError, match="capital letters, digits and hyphens"):
        ledger_of(52).reserve("visits", some, {"period": name})
