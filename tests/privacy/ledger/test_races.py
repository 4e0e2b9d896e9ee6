"""Several runs, threads and processes at once: never more than the total, in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any, Literal

import numpy as np
import pytest
from helpers.processes import race
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import IntArray
from privclust.privacy.accounting import Budget, Spend, gaussian_spend, pure_spend
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import StoredResult
from privclust.privacy.plan import Slot, make_plan
from privclust.privacy.release import Release
from privclust.queries.base import Count
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)
WHOLE = BUDGET.capacity.quanta


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("database"))
    return str(tmp_path / "ledger.db")


def numbered_data_sets(ledger: Ledger) -> Callable[[], str]:
    """Return a function that gives a data set no test has used; budgets are apart anyway."""

    def another() -> str:
        label = f"table {len(ledger.datasets())}"
        ledger.add(label, BUDGET.epsilon, BUDGET.delta)
        return label

    return another


# Any order of events -----------------------------------------------------------------------------

Verb = Literal["reserve", "claim", "record", "close"]
Event = tuple[Verb, int, int, float, bool]
VERBS: list[Verb] = ["reserve", "claim", "claim", "record", "record", "close"]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(VERBS),
        st.integers(0, 3),
        st.integers(0, 2),
        st.floats(1e-4, 0.6),
        st.booleans(),
    ),
    min_size=8,
    max_size=30,
)
FINGERPRINT = b"fingerprint"


def cost(share: float, whole: Spend) -> Spend:
    """Return a part of a cost, of the same kind."""
    if whole.pure is not None:
        return pure_spend(int(share * whole.pure))
    return gaussian_spend(int(share * whole.quanta), 3)


class Bookkeeper:
    """Does what events say, and keeps a second account of them without a journal."""

    def __init__(self, ledger: Ledger, label: str) -> None:
        self.ledger, self.label = ledger, label
        self.names: list[str] = []
        self.reserved: list[Spend] = []
        self.claims: list[dict[str, Spend]] = []
        self.results: list[dict[str, StoredResult]] = []
        self.closed: set[int] = set()

    def committed(self) -> Spend:
        spent = (
            sum(claims.values(), Spend()) if run in self.closed else reserved
            for run, (reserved, claims) in enumerate(zip(self.reserved, self.claims, strict=True))
        )
        return sum(spent, Spend())

    def reserve(self, share: float, is_pure: bool) -> None:
        wanted = cost(share, BUDGET.pure if is_pure else BUDGET.capacity)
        if not BUDGET.admits(self.committed() + wanted):
            with pytest.raises((BudgetExceededError, LedgerError)):
                self.ledger.reserve(self.label, wanted, {})
            return
        self.names.append(self.ledger.reserve(self.label, wanted, {}))
        self.reserved.append(wanted)
        self.claims.append({})
        self.results.append({})

    def claim(self, run: int, slot: str, share: float) -> None:
        claims = self.claims[run]
        charge = claims.get(slot) or cost(share, self.reserved[run])
        claim = partial(self.ledger.claim, self.names[run], slot, charge, FINGERPRINT)
        more = sum(claims.values(), charge)
        if slot in self.results[run]:
            assert claim() == self.results[run][slot]
        elif run in self.closed or not (slot in claims or more.within(self.reserved[run])):
            with pytest.raises((BudgetExceededError, LedgerError)):
                claim()
        else:
            assert claim() is None
            claims[slot] = charge

    def record(self, run: int, slot: str, value: float) -> None:
        result = StoredResult(np.array([int(value * 2**40)]), 1.0, "OpenDP")
        if slot in self.claims[run]:
            stored = self.results[run].setdefault(slot, result)
            assert self.ledger.record(self.names[run], slot, result) == stored
        else:
            with pytest.raises(LedgerError, match="never claimed"):
                self.ledger.record(self.names[run], slot, result)

    def close(self, run: int) -> None:
        self.ledger.close(self.names[run])
        self.closed.add(run)


def follow(ledger: Ledger, label: str, events: list[Event]) -> None:
    """Do what `events` say, and compare the ledger with a bookkeeper after each."""
    books = Bookkeeper(ledger, label)
    for verb, number, slot, share, is_pure in events:
        run = number % len(books.names) if books.names else 0
        if verb == "reserve" or not books.names:
            books.reserve(share, is_pure)
        elif verb == "claim":
            books.claim(run, str(slot), share)
        elif verb == "record":
            books.record(run, str(slot), share)
        else:
            books.close(run)
        assert BUDGET.admits(books.committed())
        assert ledger.remaining(label) == books.committed().left_of(BUDGET.capacity)
    assert [run.charges for run in ledger.runs(label)] == books.claims


@pytest.mark.attack
def test_no_order_of_events_overspends_in_memory() -> None:
    @settings(max_examples=60, deadline=None, database=None)
    @given(events=EVENTS)
    def check(events: list[Event]) -> None:
        ledger = Ledger.in_memory()
        follow(ledger, numbered_data_sets(ledger)(), events)
        assert ledger.verify() == []

    check()


def test_no_order_of_events_overspends_in_a_database(place: str) -> None:
    ledger = Ledger.create(place, "first", epsilon=1.0, delta=1e-6)
    another = numbered_data_sets(ledger)

    @settings(max_examples=12, deadline=None, database=None)
    @given(events=EVENTS)
    def check(events: list[Event]) -> None:
        follow(ledger, another(), events)

    check()
    assert ledger.verify() == []


# Threads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
def test_two_threads_get_what_fits_and_no_more(place: str, shared: bool) -> None:
    """With one Ledger between them, and with one each."""
    ledger = Ledger.create(place, "table", epsilon=1.0, delta=1e-6)
    wanted = gaussian_spend(int(WHOLE / 7.001), 1)
    barrier = Barrier(2)

    def try_often(_: int) -> int:
        own = ledger if shared else Ledger.open(place)
        granted = 0
        barrier.wait()
        for _ in range(10):
            with suppress(BudgetExceededError):
                own.reserve("table", wanted, {})
                granted += 1
        return granted

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(try_often, range(2))) == 7
    assert len(ledger.runs("table")) == 7
    assert ledger.verify() == []


@pytest.mark.attack
def test_two_threads_share_a_budget_in_memory() -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", 1.0, 1e-6)
    wanted = gaussian_spend(int(WHOLE / 7.001), 1)

    def try_to_reserve(_: int) -> bool:
        try:
            ledger.reserve("table", wanted, {})
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(try_to_reserve, range(30))) == 7
    assert ledger.verify() == []


# Processes ---------------------------------------------------------------------------------------

RESERVE_ONCE_EACH = """
import sys
from contextlib import suppress
from privclust.privacy.accounting import Budget, gaussian_spend
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
ledger = Ledger.open(sys.argv[2])
wanted = gaussian_spend(int(Budget(1.0, 1e-6).capacity.quanta * 0.51), 1)
print("ready", flush=True)
sys.stdin.readline()
for number in range(12):
    label = f"table {number}"
    with suppress(ValueError):
        ledger.add(label, 1.0, 1e-6)
        print("added", label)
    with suppress(BudgetExceededError):
        run = ledger.reserve(label, wanted, {})
        ledger.claim(run, "count", wanted, b"fingerprint")
        print("reserved", label)
"""


def test_of_two_processes_one_adds_each_data_set_and_one_gets_its_budget(place: str) -> None:
    ledger = Ledger.create(place, "first", epsilon=1.0, delta=1e-6)
    won = Counter("".join(race(RESERVE_ONCE_EACH, place)).splitlines())
    labels = [f"table {number}" for number in range(12)]
    assert won == Counter(f"{verb} {label}" for verb in ("added", "reserved") for label in labels)
    assert all(len(ledger.runs(label)) == 1 for label in labels)
    assert ledger.verify() == []


# The same query, twice at once ------------------------------------------------------------------


def test_second_result_of_a_slot_is_replaced_by_the_first(place: str) -> None:
    first = Ledger.create(place, "table", epsilon=1.0, delta=1e-6)
    second = Ledger.open(place)
    charge = gaussian_spend(WHOLE // 2, 1)
    run = first.reserve("table", charge, {})
    assert first.claim(run, "count", charge, b"fingerprint") is None
    assert second.claim(run, "count", charge, b"fingerprint") is None
    stored = second.record(run, "count", StoredResult(np.array([1]), 4.0, "OpenDP"))
    assert first.record(run, "count", StoredResult(np.array([2]), 4.0, "OpenDP")) == stored
    assert first.run(run).spent == charge


class Overtaken(SeededNoise):
    """While this noise is drawn, someone else stores a result for the same slot."""

    def __init__(self, overtake: Callable[[], Any]) -> None:
        super().__init__(0)
        self._overtake = overtake

    def gaussian(self, exact: IntArray, sigma: float) -> IntArray:
        self._overtake()
        return super().gaussian(exact, sigma)


@pytest.mark.attack
def test_a_curator_that_lost_the_race_discards_its_noise() -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", 1.0, 1e-6)
    engine = NumpyEngine(np.zeros((100, 2)), Ball([0.0, 0.0], 1.0))
    plan = make_plan(BUDGET, [Slot("count", 1.0)])
    winner: list[Release] = []

    def overtake() -> None:
        other = Curator(engine, plan, ledger, curator.run, SeededNoise(1))
        winner.append(other.measure("count", Count()))

    with noise_from(Overtaken(overtake)):
        curator = Curator.open(engine, plan, ledger, "table")
        release = curator.measure("count", Count())
    assert release.result.tolist() == winner[0].result.tolist()
    assert ledger.run(curator.run).spent == plan.price(plan.slots[0])
