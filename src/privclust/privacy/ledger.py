"""Who has spent what on which data set, and the noisy answers they got for it.

The order never varies: reserve, claim the slot (which charges it), read, draw noise, store the
answer, and only then does anyone see it. A crash leaves what was reserved and claimed standing.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from privclust.privacy.budget import Budget, Spend, epsilon_of


class BudgetExceededError(RuntimeError):
    """A fit asked for more than its data set's budget has left. Nothing was read."""


@dataclass(frozen=True)
class Answer:
    """A noisy answer as a ledger keeps it: whole numbers, and the noise they carry."""

    values: tuple[int, ...]
    scale: float
    noise: str


@dataclass(frozen=True)
class Run:
    """One fit in a ledger: what it may spend, what it spent, whether it may go on."""

    name: str
    label: str
    reserved: Spend
    spent: Spend
    open: bool

    @property
    def committed(self) -> Spend:
        """What this run takes from the budget: all it reserved, until it is closed."""
        return self.reserved if self.open else self.spent


class Ledger(Protocol):
    """What every ledger offers, whether it lives in memory, a file or a server."""

    def reserve(self, label: str, total: Spend, facts: Mapping[str, str]) -> str:
        """Set `total` aside for a new run and return the run's name, or refuse.

        `facts` are the public parameters, seed and versions a resumed run must match.
        """

    def claim(self, run: str, slot: str, charge: Spend, digest: str) -> Answer | None:
        """Charge the slot for the question of this digest, before anything is read.

        Returns the stored answer if the question was answered before, at no further charge.
        A slot belongs to the first question that claims it, answered or not.
        """

    def record(self, run: str, slot: str, answer: Answer) -> Answer:
        """Store the answer of a claimed slot and return it, or the one that was stored first."""

    def close(self, run: str) -> None:
        """End a run: what it reserved for slots that were never claimed becomes free."""

    def remaining(self, label: str) -> Spend:
        """Return what this data set has left: mu², or epsilon where its promise is pure."""

    def runs(self, label: str) -> tuple[Run, ...]:
        """Return the runs on this data set, oldest first."""


@dataclass
class _Account:
    budget: Budget
    runs: list[str] = field(default_factory=list)


@dataclass
class _Entry:
    label: str
    reserved: Spend
    facts: Mapping[str, str]
    charges: dict[str, Spend] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    open: bool = True


class MemoryLedger:
    """A ledger that lasts as long as the process, for fits without a durable one.

    Examples
    --------
    >>> from privclust.privacy.budget import gaussian_spend
    >>> ledger = MemoryLedger()
    >>> ledger.create("patients", epsilon=1.0, delta=1e-6)
    >>> half = gaussian_spend(ledger.remaining("patients").quanta // 2, changed=1)
    >>> first = ledger.reserve("patients", half, {})
    >>> round(ledger.remaining("patients").mu2 / half.mu2, 6)
    1.0
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._accounts: dict[str, _Account] = {}
        self._entries: dict[str, _Entry] = {}

    def create(self, label: str, epsilon: float, delta: float) -> None:
        """Open an account for a data set with its total budget: the owner's step."""
        with self._lock:
            if label in self._accounts:
                raise ValueError(f"the ledger has a data set {label!r} already.")
            self._accounts[label] = _Account(Budget(epsilon, delta))

    def reserve(self, label: str, total: Spend, facts: Mapping[str, str]) -> str:
        """Set `total` aside for a new run and return the run's name, or refuse."""
        with self._lock:
            account = self._account(label)
            if not account.budget.admits(self._committed(label) + total):
                raise BudgetExceededError(_refusal(account.budget, total, self.remaining(label)))
            run = secrets.token_hex(8)
            self._entries[run] = _Entry(label, total, dict(facts))
            account.runs.append(run)
            return run

    def claim(self, run: str, slot: str, charge: Spend, digest: str) -> Answer | None:
        """Charge the slot for the question of this digest, before anything is read."""
        with self._lock:
            entry = self._entry(run)
            if entry.digests.get(slot, digest) != digest:
                raise ValueError(
                    f"slot {slot!r} belongs to another question in this run. Start a new run, or "
                    "repeat the first one with its own parameters."
                )
            if slot in entry.answers:
                return entry.answers[slot]
            if not entry.open:
                raise BudgetExceededError("this run is closed; start a new one.")
            if slot not in entry.charges:
                if not (_sum(entry.charges) + charge).within(entry.reserved):
                    raise BudgetExceededError("this run asked for more than it reserved.")
                entry.charges[slot] = charge
                entry.digests[slot] = digest
            return None

    def record(self, run: str, slot: str, answer: Answer) -> Answer:
        """Store the answer of a claimed slot and return it, or the one that was stored first."""
        with self._lock:
            entry = self._entry(run)
            if slot not in entry.charges:
                raise KeyError(f"slot {slot!r} was never claimed in this run.")
            return entry.answers.setdefault(slot, answer)

    def close(self, run: str) -> None:
        """End a run: what it reserved for slots that were never claimed becomes free."""
        with self._lock:
            self._entry(run).open = False

    def remaining(self, label: str) -> Spend:
        """Return what this data set has left: mu², or epsilon where its promise is pure."""
        with self._lock:
            return self._committed(label).left_of(self._account(label).budget.capacity)

    def runs(self, label: str) -> tuple[Run, ...]:
        """Return the runs on this data set, oldest first."""
        with self._lock:
            return tuple(self._run(name) for name in self._account(label).runs)

    def _run(self, name: str) -> Run:
        entry = self._entries[name]
        return Run(name, entry.label, entry.reserved, _sum(entry.charges), entry.open)

    def _committed(self, label: str) -> Spend:
        return sum((run.committed for run in self.runs(label)), Spend())

    def _account(self, label: str) -> _Account:
        if label not in self._accounts:
            raise KeyError(
                f"the ledger knows no data set {label!r}. "
                "Its owner creates one with a total epsilon and delta first."
            )
        return self._accounts[label]

    def _entry(self, run: str) -> _Entry:
        if run not in self._entries:
            raise KeyError(f"the ledger knows no run {run!r}.")
        return self._entries[run]


def _sum(charges: Mapping[str, Spend]) -> Spend:
    return sum(charges.values(), Spend())


def _refusal(budget: Budget, requested: Spend, remaining: Spend) -> str:
    if budget.delta == 0:
        difference = requested.epsilon - remaining.epsilon
        return (
            "the data set's budget does not cover this fit; nothing was read.\n"
            f"  Requested:  epsilon {requested.epsilon:.6g}\n"
            f"  Remaining:  epsilon {remaining.epsilon:.6g}\n"
            f"  Difference: epsilon {difference:.6g}\n"
            f"Ask for at most epsilon = {remaining.epsilon:.6g}, or ask the owner for more."
        )
    left = epsilon_of(remaining.mu, budget.delta)
    wanted = epsilon_of(requested.mu, budget.delta)
    return (
        "the data set's budget does not cover this fit; nothing was read.\n"
        f"  Requested:  mu² {requested.mu2:.6g} (epsilon {wanted:.4g} at delta {budget.delta:g})\n"
        f"  Remaining:  mu² {remaining.mu2:.6g} (epsilon {left:.4g} at delta {budget.delta:g})\n"
        f"  Difference: mu² {requested.mu2 - remaining.mu2:.6g}\n"
        "Ask for a smaller epsilon, or ask the data set's owner for more."
    )
