"""What a ledger's entries say: data sets, runs and answers, read from its lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from privclust.privacy.budget import Budget, Spend, epsilon_of
from privclust.privacy.entries import body_of
from privclust.privacy.journal import Entry, EntryError, LedgerError, Line, Pages


@dataclass(frozen=True)
class Answer:
    """A noisy answer as a ledger keeps it: whole numbers, and the noise they carry."""

    values: tuple[int, ...]
    scale: float
    noise: str


@dataclass(frozen=True)
class Dataset:
    """A data set's account: its total, whose data counts as one unit, where it comes from.

    A table that is released again and again has `periods`, such as 52 weeks, which share the total.
    """

    label: str
    budget: Budget
    unit: str
    source: str
    periods: int = 1

    @property
    def share(self) -> Spend:
        """What all fits of one period may cost together."""
        whole = self.budget.capacity
        pure = None if whole.pure is None else whole.pure // self.periods
        return replace(whole, quanta=whole.quanta // self.periods, pure=pure)

    @property
    def epsilon_per_period(self) -> float:
        """The largest epsilon that one fit may have if it is the only one of its period."""
        delta = self.budget.delta
        return self.share.epsilon if delta == 0 else epsilon_of(self.share.mu, delta)


@dataclass(frozen=True)
class Run:
    """One fit in a ledger: what it may spend, what it spent on which slot, whether it may go on."""

    name: str
    label: str
    reserved: Spend
    charges: Mapping[str, Spend]
    state: Literal["open", "finished", "given up"]
    facts: Mapping[str, str]

    @property
    def open(self) -> bool:
        """Whether it may still ask."""
        return self.state == "open"

    @property
    def spent(self) -> Spend:
        """What its slots were charged."""
        return sum(self.charges.values(), Spend())

    @property
    def committed(self) -> Spend:
        """What this run takes from the budget: all it reserved, until it is closed."""
        return self.reserved if self.open else self.spent


def dataset_of(pages: Pages, label: str) -> Dataset:
    """Return the account of one data set."""
    found = pages.lines("dataset", label=label)
    if not found:
        known = ", ".join(repr(line.entry.label) for line in pages.lines("dataset")) or "none"
        raise LedgerError(
            f"the ledger knows no data set {label!r}; it has {known}. "
            "Its owner creates one with a total epsilon and delta first."
        )
    return as_dataset(found[0])


def as_dataset(line: Line) -> Dataset:
    """Read the account that an entry opened."""
    body = body_of(line.entry)
    try:
        budget = Budget(body["epsilon"], body["delta"])
    except ValueError as error:
        cause = str(error)
    else:
        periods = body.get("periods", 1)
        if isinstance(periods, int) and not isinstance(periods, bool) and periods >= 1:
            return Dataset(line.entry.label, budget, body["unit"], body["source"], periods)
        cause = "it has no whole number of periods"
    raise EntryError(f"the budget of data set {line.entry.label!r} cannot be: {cause}")


def run_of(pages: Pages, name: str) -> Run:
    """Return one run."""
    return as_runs(lines_of(pages, name))[0]


def lines_of(pages: Pages, run: str) -> list[Line]:
    """Return what was written of one run, but its answers."""
    found = pages.lines("reserve", "claim", "close", run=run)
    if not found:
        raise LedgerError(
            f"the ledger knows no run {run!r}. 'privclust ledger runs' lists those of a data set."
        )
    return found


def as_runs(lines: list[Line]) -> tuple[Run, ...]:
    """Put runs together from their lines, oldest first."""
    reserved: dict[str, Entry] = {}
    charges: dict[str, dict[str, Spend]] = {}
    ends: dict[str, Literal["finished", "given up"]] = {}
    for line in lines:
        entry, body = line.entry, body_of(line.entry)
        if entry.kind == "reserve":
            reserved.setdefault(entry.run, entry)
            charges.setdefault(entry.run, {})
        elif entry.run not in reserved:
            raise EntryError(f"run {entry.run!r} of the ledger has no beginning.")
        elif entry.kind == "claim":
            charges[entry.run][entry.slot] = Spend(**body["spend"])
        else:
            ends[entry.run] = "finished" if body["finished"] else "given up"
    return tuple(
        Run(
            name,
            entry.label,
            Spend(**entry.body["spend"]),
            charges[name],
            ends.get(name, "open"),
            entry.body["facts"],
        )
        for name, entry in reserved.items()
    )


def committed(pages: Pages, label: str, period: str | None = None) -> Spend:
    """Return what all runs on a data set, or those of one period, take from its budget."""
    # What a run reserved, until its end says what it spent: no need to read every slot.
    held: dict[str, Spend] = {}
    for line in pages.lines("reserve", "close", label=label):
        body = body_of(line.entry)
        if line.entry.kind == "reserve":
            if period in (None, body["facts"].get("period")):
                held.setdefault(line.entry.run, Spend(**body["spend"]))
        elif line.entry.run in held:
            held[line.entry.run] = Spend(**body["spend"])
    return sum(held.values(), Spend())


def as_answer(line: Line) -> Answer:
    """Read a stored answer."""
    body = body_of(line.entry)
    return Answer(tuple(body["values"]), body["scale"], body["noise"])
