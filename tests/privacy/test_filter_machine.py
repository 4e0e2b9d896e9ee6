"""Adversaries who choose every next step by what they saw: no order of steps overspends."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from privclust.privacy.accounting import QUANTA, Budget, Spend, gaussian_spend, pure_spend
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import StoredResult

TOTAL = Budget(1.0, 1e-6)
WHOLE = TOTAL.capacity.quanta
PARTS = st.one_of(
    st.integers(1, WHOLE),
    st.sampled_from([1, WHOLE // 3, WHOLE // 2, WHOLE - 1, WHOLE, WHOLE + 1]),
)


def cost(quanta: int, pure: bool) -> Spend:
    return pure_spend(quanta) if pure else gaussian_spend(quanta, 1)


class Adversary(RuleBasedStateMachine):
    """Reserves, claims, repeats, gives up and comes back, in any order and with any prices.

    What was charged is written down here a second time, as fractions of mu², and is never refunded.
    """

    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger.in_memory()
        self.ledger.add("table", TOTAL.epsilon, TOTAL.delta)
        self.charged: dict[tuple[str, str], Spend] = {}
        self.closed: set[str] = set()

    @rule(target=runs, quanta=PARTS, pure=st.booleans())
    def reserve(self, quanta: int, pure: bool) -> object:
        """Reserve any part of the budget, or be refused."""
        try:
            return self.ledger.reserve("table", cost(quanta, pure), {})
        except BudgetExceededError:
            return multiple()

    @rule(run=runs, slot=st.sampled_from("abc"), quanta=PARTS, pure=st.booleans())
    def claim(self, run: str, slot: str, quanta: int, pure: bool) -> None:
        """Claim a slot at any price; a price that differs from the first is refused."""
        price = cost(quanta, pure)
        try:
            self.ledger.claim(run, slot, price, b"fingerprint")
        except RuntimeError:
            return
        assert run not in self.closed or (run, slot) in self.charged
        assert self.charged.setdefault((run, slot), price) == price

    @rule(run=runs, slot=st.sampled_from("abc"), value=st.integers(-5, 5))
    def result(self, run: str, slot: str, value: int) -> None:
        """Store a result; only a slot that was charged has one, and the first stays."""
        try:
            self.ledger.record(run, slot, StoredResult(np.array([value]), 1.0, "OpenDP"))
        except RuntimeError:
            assert (run, slot) not in self.charged
        else:
            assert (run, slot) in self.charged

    @rule(run=runs)
    def give_up(self, run: str) -> None:
        """Close a run, whatever its state."""
        self.ledger.close(run)
        self.closed.add(run)

    @invariant()
    def what_was_charged_keeps_the_guarantee(self) -> None:
        """Added up here, charge by charge; the ledger finds nothing wrong with itself either."""
        spent = sum(self.charged.values(), Spend())
        assert TOTAL.admits(spent)
        assert Fraction(spent.quanta, QUANTA) <= Fraction(WHOLE, QUANTA)
        assert self.ledger.verify() == []


TestAdversary = Adversary.TestCase
TestAdversary.settings = settings(
    max_examples=100,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
