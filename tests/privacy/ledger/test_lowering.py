"""Budgets that their owner lowers or closes: recorded, enforced, and never raised again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from helpers.command_line import privclust
from helpers.postgres import Server, execute

from privclust.errors import ParameterError
from privclust.privacy.accounting import QUANTA, Budget, Spend, gaussian_spend, pure_spend
from privclust.privacy.ledger._sql_schema import grant
from privclust.privacy.ledger.journal import Entry, LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger

BUDGET, LOWER = Budget(2.0, 1e-6), Budget(1.0, 1e-6)
HALF = gaussian_spend(LOWER.capacity.quanta // 2, 1)
"""Of the lower budget; of the first one about an eighth."""


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    if request.param == "memory":
        found = Ledger.in_memory()
        found.add("table", BUDGET.epsilon, BUDGET.delta)
        return found
    place = str(tmp_path / "ledger.db")
    if request.param == "postgresql":
        place = str(request.getfixturevalue("database"))
    return Ledger.create(place, "table", epsilon=BUDGET.epsilon, delta=BUDGET.delta)


def test_lower_budget_is_what_runs_get(ledger: Ledger) -> None:
    ledger.reserve("table", HALF, {})
    ledger.lower("table", 1.0)
    assert ledger.dataset("table").budget == LOWER
    assert [found.budget for found in ledger.datasets()] == [LOWER]
    assert ledger.remaining("table").quanta == LOWER.capacity.quanta - HALF.quanta
    assert ledger.total("table").budget == LOWER
    assert ledger.total("table").first == ledger.dataset("table").granted == BUDGET
    assert ledger.total("table").is_lowered
    ledger.reserve("table", HALF, {})
    with pytest.raises(BudgetExceededError, match="does not cover this run"):
        ledger.reserve("table", HALF, {})
    assert ledger.verify() == []
    assert [entry["kind"] for entry in ledger.export()].count("lower") == 1


def test_budget_is_lowered_again_and_never_raised(ledger: Ledger) -> None:
    ledger.lower("table", 1.0)
    for epsilon in (1.0, 1.5, 2.0):
        with pytest.raises(ParameterError, match="It never grows"):
            ledger.lower("table", epsilon)
    ledger.lower("table", 0.5)
    assert ledger.dataset("table").budget.epsilon == 0.5
    assert ledger.dataset("table").granted == BUDGET
    assert ledger.verify() == []


def test_budget_holds_what_was_spent_and_set_aside(ledger: Ledger) -> None:
    run = ledger.reserve("table", HALF, {})
    ledger.claim(run, "count", gaussian_spend(HALF.quanta // 2, 1), b"query")
    with pytest.raises(ParameterError, match="set aside"):
        ledger.lower("table", 0.5)
    ledger.close(run)
    ledger.lower("table", 0.5)
    assert ledger.verify() == []


def test_spent_budget_cannot_be_lowered() -> None:
    """Its message asked for an epsilon of at least 3 and below 3."""
    ledger = Ledger.in_memory()
    ledger.add("table", 3.0, 1e-6)
    quanta = ledger.remaining("table").quanta
    run = ledger.reserve("table", gaussian_spend(quanta - 1, 1), {})
    ledger.claim(run, "count", gaussian_spend(quanta - 1, 1), b"query")
    with pytest.raises(ParameterError, match="it cannot be lowered"):
        ledger.lower("table", 2.9)


def test_closed_data_set_grants_nothing_and_its_runs_go_on(ledger: Ledger) -> None:
    run = ledger.reserve("table", HALF, {})
    ledger.lower("table", None)
    assert ledger.dataset("table").closed
    assert ledger.remaining("table").quanta == 0
    assert ledger.epsilon_left("table") == 0
    with pytest.raises(BudgetExceededError, match="was closed by its owner"):
        ledger.reserve("table", gaussian_spend(1, 1), {})
    ledger.claim(run, "count", HALF, b"query")
    ledger.close(run)
    with pytest.raises(ParameterError, match="closed already"):
        ledger.lower("table", 0.5)
    assert ledger.verify() == []
    assert "epsilon 0 left" in str(ledger)


def test_pure_budget_is_closed_too() -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", 1.0, 0.0)
    ledger.reserve("table", pure_spend(QUANTA // 4), {})
    ledger.lower("table", 0.5)
    with pytest.raises(BudgetExceededError):
        ledger.reserve("table", pure_spend(QUANTA // 2), {})
    ledger.lower("table", None)
    assert ledger.epsilon_left("table") == 0
    with pytest.raises(BudgetExceededError, match="closed"):
        ledger.reserve("table", pure_spend(QUANTA // 8), {})


def test_periods_share_the_lower_budget() -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", BUDGET.epsilon, BUDGET.delta, periods=2)
    ledger.lower("table", 1.0)
    assert ledger.dataset("table").periods == 2
    assert ledger.dataset("table").share.quanta == LOWER.capacity.quanta // 2
    with pytest.raises(BudgetExceededError, match="period 2026-W01"):
        ledger.reserve("table", gaussian_spend(HALF.quanta + 2, 1), {"period": "2026-W01"})


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_lowering_and_reserving_at_once_never_overspend(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "ledger.db")
    if kind == "postgresql":
        place = str(request.getfixturevalue("database"))
    owner = Ledger.create(place, "first", epsilon=BUDGET.epsilon, delta=BUDGET.delta)
    for attempt in range(4):
        label = f"table {attempt}"
        owner.add(label, BUDGET.epsilon, BUDGET.delta)
        start = Barrier(5)

        def lower(label: str = label, start: Barrier = start) -> bool:
            start.wait()
            try:
                Ledger.open(place).lower(label, 1.0)
            except ParameterError:  # three runs came first
                return False
            return True

        def reserve(label: str = label, start: Barrier = start) -> bool:
            start.wait()
            try:
                Ledger.open(place).reserve(label, HALF, {})
            except BudgetExceededError:
                return False
            return True

        with ThreadPoolExecutor(5) as pool:
            done = pool.submit(lower)
            begun = [pool.submit(reserve) for _ in range(4)]
        was_lowered, count = done.result(), sum(run.result() for run in begun)
        assert count <= (2 if was_lowered else 4)
        assert was_lowered or count >= 3
        assert owner.dataset(label).budget == (LOWER if was_lowered else BUDGET)
    assert owner.verify() == []


def test_role_that_fits_cannot_lower_and_is_held_to_what_its_owner_lowered(
    postgres: Server, database: str
) -> None:
    """By the database itself: it does not use the library's own check."""
    name = database.rsplit("/", 1)[1]
    owner = Ledger.create(database, "table", epsilon=BUDGET.epsilon, delta=BUDGET.delta)
    execute(database, "CREATE ROLE fitting LOGIN", grant("fitting"))
    place = postgres.url(name, "fitting")
    with pytest.raises(LedgerError, match="this role may not do that"):
        Ledger.open(place).lower("table", None)
    reserve = (
        "SELECT privclust_reserve('table', '{run:016x}', '{{\"facts\": {{}}, \"spend\": "
        '{{"quanta": {quanta}, "slack": 0, "tail": 0, "pure": null}}}}\'::jsonb)'
    )
    execute(place, reserve.format(run=1, quanta=HALF.quanta))
    owner.lower("table", 1.0)
    with pytest.raises(Exception, match="does not cover this run"):
        execute(place, reserve.format(run=2, quanta=HALF.quanta + 2))
    execute(place, reserve.format(run=2, quanta=HALF.quanta // 2))
    owner.lower("table", None)
    with pytest.raises(Exception, match="does not cover this run"):
        execute(place, reserve.format(run=3, quanta=1))
    assert owner.verify() == []


def forged(ledger: Ledger, **changed: object) -> list[str]:
    body = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "closed": False,
        "capacity": vars_of(LOWER.capacity),
        "pure": vars_of(LOWER.pure),
    }
    with ledger._journal.writing() as pages:
        pages.append(Entry("lower", "table", slot="1", body=body | changed))
    return ledger.verify()


def vars_of(spend: Spend) -> dict[str, object]:
    return {name: getattr(spend, name) for name in ("quanta", "slack", "tail", "pure")}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"epsilon": 4.0}, "raises the budget"),
        ({"delta": 1e-3}, "raises the budget"),
        ({"capacity": vars_of(BUDGET.capacity)}, "lets a server grant more"),
        ({"closed": True}, "lets a server grant more"),
        ({"closed": "no"}, "does not say what its kind should"),
        ({}, ""),
    ],
)
def test_forged_entry_is_found_and_raises_nothing(
    changed: dict[str, object], found: str, tmp_path: Path
) -> None:
    ledger = Ledger.create(str(tmp_path / "a.db"), "table", epsilon=2.0, delta=1e-6)
    problems = forged(ledger, **changed)
    assert [found in problem for problem in problems] == ([True] if found else [])
    if "raises" in found:
        with pytest.raises(LedgerError, match="only ever falls"):
            ledger.reserve("table", HALF, {})


def test_reservation_after_the_end_is_found() -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", BUDGET.epsilon, BUDGET.delta)
    ledger.lower("table", None)
    body = {"spend": vars_of(HALF), "facts": {}}
    with ledger._journal.writing() as pages:
        pages.append(Entry("reserve", "table", "00000000000000aa", body=body))
    assert ledger.verify() == ["entry 4 overspends data set 'table'"]


def test_terminal_lowers_and_closes(tmp_path: Path) -> None:
    place = str(tmp_path / "budget.db")
    Ledger.create(place, "visits", epsilon=4.0, delta=1e-6)
    refused = privclust("ledger", "lower", place, "visits")
    assert refused.exit_code != 0
    assert "Type one of them" in refused.stderr
    done = privclust("ledger", "lower", place, "visits", "--epsilon", "3")
    assert done.stdout.startswith("visits: epsilon 3 in all from now on, of which epsilon 3 is")
    again = privclust("ledger", "lower", place, "visits", "--epsilon", "3")
    assert again.exit_code != 0
    assert "and below 3, the budget now; got 3" in " ".join(again.stderr.split())
    assert "visits is closed" in privclust("ledger", "lower", place, "visits", "--close").stdout
    assert "closed" in privclust("ledger", "remaining", place).stdout
