"""What a ledger's entries say: data sets, runs and results, read from its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Literal

import numpy as np

from privclust.errors import ParameterError, safe_repr
from privclust.kernels.grid import IntArray
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.ledger._entries import body_of
from privclust.privacy.ledger.affordable import affordable
from privclust.privacy.ledger.journal import EntryError, LedgerError, Line, Pages
from privclust.queries.base import frozen

PERIOD = re.compile(r"[A-Z0-9]+(-[A-Z0-9]+)*")
"""How periods are named, so that none has two names."""

_SHOWN = {"estimator": "{}", "n_clusters": "{} clusters", "epsilon": "epsilon {}"}
"""What a run's first line has of its facts."""

State = Literal["open", "finished", "given up"]


@dataclass(frozen=True, eq=False)
class StoredResult:
    """A noisy result as a ledger keeps it: 64-bit integers, and the noise they carry."""

    values: IntArray
    scale: float
    noise: str

    def __post_init__(self) -> None:
        given = np.array(self.values)
        # Others would be converted: 2^63 to a negative number, 1.5 to 1.
        if given.ndim != 1 or (given.size and given.dtype.kind != "i"):
            raise ValueError("a result is a list of 64-bit integers.")
        object.__setattr__(self, "values", frozen(given.astype(np.int64)))

    def __eq__(self, other: object) -> bool:
        """Tell whether another result is the same."""
        return (
            isinstance(other, StoredResult)
            and (self.scale, self.noise) == (other.scale, other.noise)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Dataset:
    """A data set's account: its total, whose data counts as one unit, where it comes from.

    A table that is released again and again has `periods`, such as 52 weeks, which share the total.
    One that its owner `closed` grants no further run. `earlier` budgets were lowered.
    """

    label: str
    budget: Budget
    unit: str
    source: str
    periods: int = 1
    closed: bool = False
    earlier: tuple[Budget, ...] = ()

    @property
    def granted(self) -> Budget:
        """The budget that it was opened with.

        All fits together keep it, whatever was chosen by looking at earlier ones. That is not
        proved of one that was lowered later, perhaps after looking.
        """
        return self.earlier[0] if self.earlier else self.budget

    @property
    def capacity(self) -> Spend:
        """What all fits may cost together; nothing more is granted if it is closed."""
        return _nothing_of(self.budget.capacity) if self.closed else self.budget.capacity

    @property
    def pure(self) -> Spend:
        """What all fits may cost together if all of them are pure."""
        return _nothing_of(self.budget.pure) if self.closed else self.budget.pure

    def admits(self, spend: Spend) -> bool:
        """Tell whether all fits together may cost so much."""
        return not self.closed and self.budget.admits(spend)

    @property
    def share(self) -> Spend:
        """What all fits of one period may cost together."""
        whole = self.capacity
        pure = None if whole.pure is None else whole.pure // self.periods
        return replace(whole, quanta=whole.quanta // self.periods, pure=pure)

    @property
    def epsilon_per_period(self) -> float:
        """The largest epsilon, in thousandths, of a fit that is the only one of its period."""
        return affordable(self.share, self.budget)


@dataclass(frozen=True, repr=False)
class Run:
    """One fit in a ledger: what it may spend, what it spent on which slot, whether it may go on.

    On a server, `role` is that which reserved it.
    """

    name: str
    label: str
    reserved: Spend
    charges: Mapping[str, Spend]
    state: State
    facts: Mapping[str, str]
    role: str = ""

    def __repr__(self) -> str:
        known = [text.format(self.facts[one]) for one, text in _SHOWN.items() if one in self.facts]
        role = [f"role {self.role!r}"] if self.role else []
        part = 100 * part_of(self.spent, self.reserved)
        spent = f"results: {len(self.charges)}, for {part:.1f} % of what it reserved"
        words = ", ".join([*known, self.state, *role, spent])
        return f"<Run {self.name} of {self.label!r}: {words}>"

    @property
    def open(self) -> bool:
        """Whether it may still measure."""
        return self.state == "open"

    @property
    def spent(self) -> Spend:
        """What its slots were charged."""
        return sum(self.charges.values(), Spend())

    @property
    def committed(self) -> Spend:
        """What this run takes from the budget: all it reserved, until it is closed."""
        return self.reserved if self.open else self.spent


def part_of(spent: Spend, whole: Spend) -> float:
    """Return which part of a budget or reservation is spent: of epsilon if it is pure, else of mu².

    Examples
    --------
    >>> from privclust.privacy.accounting import QUANTA, gaussian_spend, pure_spend
    >>> part_of(pure_spend(QUANTA), pure_spend(4 * QUANTA))
    0.25
    >>> part_of(gaussian_spend(QUANTA, l0=1), gaussian_spend(2 * QUANTA, l0=1))
    0.5
    """
    if whole.pure is not None:
        return (spent.pure or 0) / max(whole.pure, 1)
    return spent.quanta / max(whole.quanta, 1)


def whole_of(budget: Budget, taken: Spend) -> Spend:
    """Return what all that was taken from a budget is a part of, in the unit in which it adds up.

    Pure fits keep a budget by their epsilons alone, even where their mu² comes to more.
    """
    within = taken.within(budget.capacity) or not taken.within(budget.pure)
    return budget.capacity if within else budget.pure


def check_texts(label: object, unit: object, source: object) -> None:
    """Refuse what cannot name a data set, its unit or its source."""
    if not all(isinstance(text, str) for text in (label, unit, source)):
        raise ParameterError("label, unit and source are texts. Put them into quotes.")
    for name, text in (("label", label), ("unit", unit)):
        if not str(text).strip():
            raise ParameterError(
                f"{name} must not be empty. Type a name, such as "
                f"{'patients' if name == 'label' else 'row'}."
            )


def dataset_of(pages: Pages, label: str) -> Dataset:
    """Return the account of one data set, as far as its budget was lowered."""
    found = pages.lines("dataset", "lower", label=label)
    if not found or found[0].entry.kind != "dataset":
        known = ", ".join(repr(line.entry.label) for line in pages.lines("dataset")) or "none"
        raise LedgerError(
            f"the ledger knows no data set {label!r}; it has {known}. "
            "Its owner creates one with a total epsilon and delta first."
        )
    first, *others = found
    return reduce(lowered, others, as_dataset(first))


def lowered(account: Dataset, line: Line) -> Dataset:
    """Return an account after an entry that lowered its budget or closed it."""
    body = body_of(line.entry)
    try:
        budget = Budget(body["epsilon"], body["delta"])
    except ValueError:
        budget = None
    known = account.budget
    if budget is None or budget.delta != known.delta or budget.epsilon > known.epsilon:
        raise EntryError(
            f"entry {line.number} of the ledger raises the budget of data set {account.label!r}, "
            "which only ever falls: it was not written by this library. Put back a copy."
        )
    closed, earlier = account.closed or body["closed"], (*account.earlier, known)
    return replace(account, budget=budget, closed=closed, earlier=earlier)


def _nothing_of(whole: Spend) -> Spend:
    return replace(whole, quanta=0, pure=None if whole.pure is None else 0)


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
        cause = "its number of periods is not an integer of at least 1"
    raise EntryError(f"the budget of data set {line.entry.label!r} cannot be: {cause}")


def period_of(account: Dataset, facts: Mapping[str, str]) -> str | None:
    """Return the period of a run, which an account with periods must have and no other may."""
    period = facts.get("period")
    if (period is None) == (account.periods == 1):
        return None if period is None else _well_named(period)
    if period is None:
        raise LedgerError(
            f"data set {account.label!r} has {account.periods} periods that share its budget. Say "
            "which one this fit belongs to, such as period='2026-W07'."
        )
    raise LedgerError(
        f"data set {account.label!r} has no periods. Leave period out; whoever owns a table that "
        "is released again and again creates its data set with periods."
    )


def _well_named(period: str) -> str:
    """Refuse a name that could be written in two ways, and so have two shares."""
    if PERIOD.fullmatch(period):
        return period
    raise LedgerError(
        f"a period is named by capital letters, digits and hyphens, such as '2026-W07', not by "
        f"{safe_repr(period)}. Name the same period in the same way each time: each name has a "
        "part of the budget of its own."
    )


def run_of(pages: Pages, name: str) -> Run:
    """Return one run."""
    return as_runs(lines_of(pages, name))[0]


def lines_of(pages: Pages, run: str) -> list[Line]:
    """Return what was written of one run, but its results."""
    found = pages.lines("reserve", "claim", "close", run=run)
    if not found:
        raise LedgerError(
            f"the ledger knows no run {run!r}. 'privclust ledger runs' lists those of a data set."
        )
    return found


def as_runs(lines: Iterable[Line], begun: Iterable[Run] = ()) -> tuple[Run, ...]:
    """Put runs together from their lines, oldest first, or go on with those that had `begun`."""
    runs = {run.name: run for run in begun}
    charges = {name: dict(run.charges) for name, run in runs.items()}
    for line in lines:
        entry, body = line.entry, body_of(line.entry)
        if entry.kind == "reserve":
            cost = Spend(**body["spend"])
            role = str(body.get("role", ""))
            first = Run(entry.run, entry.label, cost, {}, "open", body["facts"], role)
            runs.setdefault(entry.run, first)
            charges.setdefault(entry.run, {})
        elif entry.run not in runs:
            raise EntryError(f"run {entry.run!r} of the ledger has no beginning.")
        elif entry.kind == "claim":
            charges[entry.run][entry.slot] = Spend(**body["spend"])
        else:
            state: State = "finished" if body["finished"] else "given up"
            runs[entry.run] = replace(runs[entry.run], state=state)
    return tuple(replace(run, charges=charges[name]) for name, run in runs.items())


def committed(pages: Pages, label: str, fact: tuple[str, str] | None = None) -> Spend:
    """Return what all runs on a data set, or those with this `fact`, take from its budget.

    Until a run ends, that is what it reserved, and then what its claims cost together. Its last
    entry says that it ended, not what it cost.
    """
    sums = {(run, kind): cost for run, kind, cost in pages.sums(label)}
    if fact is None:
        runs = [run for run, kind in sums if kind == "reserve"]
    else:
        runs = pages.runs_with(label, *fact)
    costs = (
        sums.get((run, "claim"), Spend()) if (run, "close") in sums else sums[run, "reserve"]
        for run in runs
    )
    return sum(costs, Spend())


def plain(line: Line) -> dict[str, Any]:
    """Return an entry as plain values, for JSON; without its fingerprint."""
    entry = line.entry
    names = {"kind": entry.kind, "label": entry.label, "run": entry.run, "slot": entry.slot}
    return {"number": line.number, **names, **entry.body, "hash": line.hash}


def as_result(line: Line) -> StoredResult:
    """Read a stored result."""
    body = body_of(line.entry)
    try:
        return StoredResult(body["values"], body["scale"], body["noise"])
    except ValueError:
        raise EntryError(
            f"the result of slot {line.entry.slot!r} in the ledger has integers of more than 64 "
            "bits: it was not written by this library. Put back a copy."
        ) from None
