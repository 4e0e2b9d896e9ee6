"""Runs that their caller names are reserved once, and those of one analyst stay below a cap."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from privclust.privacy.accounting import QUANTA, Budget, Spend, gaussian_spend, pure_spend
from privclust.privacy.ledger._admission import Cap, RunConflictError
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger

NAME, FACTS = "00000000000000aa", {"analyst": "a7", "seed": "1"}


# A planted bug must turn the cheapest kind red; the others run the same rules.
@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.attack), "sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    if request.param == "memory":
        found = Ledger.in_memory()
        found.add("table", 1.0, 1e-6)
        return found
    place = str(tmp_path / "ledger.db")
    if request.param == "postgresql":
        place = request.getfixturevalue("database")
    return Ledger.create(place, "table", epsilon=1.0, delta=1e-6)


def part(share: float, epsilon: float = 1.0) -> Spend:
    return gaussian_spend(int(share * Budget(epsilon, 1e-6).capacity.quanta), 1)


def test_repeated_reservation_is_charged_once(ledger: Ledger) -> None:
    for _ in range(3):
        assert ledger.reserve("table", part(0.6), FACTS, run=NAME) == NAME
    ledger.close(NAME)
    assert ledger.reserve("table", part(0.6), FACTS, run=NAME) == NAME
    assert [run.name for run in ledger.runs("table")] == [NAME]
    assert ledger.verify() == []


def test_name_that_stands_for_another_run_is_refused(ledger: Ledger) -> None:
    ledger.reserve("table", part(0.1), FACTS, run=NAME)
    before = ledger.head()
    for spend, facts in ((part(0.2), FACTS), (part(0.1), {**FACTS, "seed": "2"}), (part(0.1), {})):
        with pytest.raises(RunConflictError, match="reserved before"):
            ledger.reserve("table", spend, facts, run=NAME)
    ledger.add("other", 1.0, 1e-6)
    with pytest.raises(RunConflictError, match="another data set"):
        ledger.reserve("other", part(0.1), FACTS, run=NAME)
    assert before in {entry["hash"] for entry in ledger.export()}
    assert len(ledger.runs("table")) == 1


def test_name_that_follows_from_a_hash_is_long(ledger: Ledger) -> None:
    assert ledger.reserve("table", part(0.1), FACTS, run=2 * NAME) == 2 * NAME
    assert ledger.run(2 * NAME).reserved == part(0.1)


@pytest.mark.parametrize("name", ["", "aa", "00000000000000AA", "00000000000000ag", "0" * 17])
def test_name_must_be_one_that_a_server_takes(name: str) -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", 1.0, 1e-6)
    with pytest.raises(LedgerError, match="16 or 32 hexadecimal digits"):
        ledger.reserve("table", part(0.1), {}, run=name)


def test_cap_bounds_the_runs_of_one_analyst_alone(ledger: Ledger) -> None:
    cap = Cap("analyst", "a7", 0.5)
    half = part(0.5, epsilon=0.5)
    for _ in range(2):
        ledger.reserve("table", half, FACTS, cap=cap)
    assert ledger.epsilon_left("table", cap) < 0.02 < ledger.epsilon_left("table")
    with pytest.raises(BudgetExceededError, match="analyst a7's budget does not cover this run"):
        ledger.reserve("table", half, FACTS, cap=cap)
    other = {"analyst": "b8"}
    ledger.reserve("table", half, other, cap=Cap("analyst", "b8", 0.5))


def test_total_binds_analysts_who_have_caps_left(ledger: Ledger) -> None:
    for name in ("a", "b"):
        ledger.reserve("table", part(0.5), {"analyst": name}, cap=Cap("analyst", name, 1.0))
    with pytest.raises(BudgetExceededError, match="the data set's budget"):
        ledger.reserve("table", part(0.1), {"analyst": "c"}, cap=Cap("analyst", "c", 1.0))


def test_cap_counts_over_all_periods() -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", 1.0, 1e-6, periods=2)
    cap, third = Cap("analyst", "a7", 0.5), part(0.6, epsilon=0.5)
    ledger.reserve("table", third, {"analyst": "a7", "period": "1"}, cap=cap)
    with pytest.raises(BudgetExceededError, match="analyst a7"):
        ledger.reserve("table", third, {"analyst": "a7", "period": "2"}, cap=cap)


def test_cap_of_a_pure_guarantee_is_pure() -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", 1.0, 0.0)
    cap, most = Cap("analyst", "a7", 0.5), pure_spend(QUANTA // 2)
    ledger.reserve("table", most, FACTS, cap=cap)
    assert ledger.epsilon_left("table", cap) == 0.0
    with pytest.raises(BudgetExceededError, match="analyst a7"):
        ledger.reserve("table", pure_spend(1), FACTS, cap=cap)


def test_parallel_reservations_of_one_name_are_one_run(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        wanted = [
            pool.submit(ledger.reserve, "table", part(0.3), FACTS, run=NAME) for _ in range(24)
        ]
        assert {one.result() for one in wanted} == {NAME}
    assert len(ledger.runs("table")) == 1


def test_parallel_reservations_stay_below_a_cap(ledger: Ledger) -> None:
    cap, quarter = Cap("analyst", "a7", 0.5), part(0.25, epsilon=0.5)

    def reserve(number: int) -> bool:
        try:
            ledger.reserve("table", quarter, {**FACTS, "number": str(number)}, cap=cap)
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(reserve, range(16))) == 4
