"""Whether a run may begin: within the data set's total, its period's part and its analyst's cap."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from privclust.errors import Message, safe_repr
from privclust.privacy.accounting import Budget, Spend
from privclust.privacy.ledger._refusal import refusal
from privclust.privacy.ledger.affordable import affordable
from privclust.privacy.ledger.journal import LedgerError, Pages
from privclust.privacy.ledger.records import Dataset, Run, as_runs, committed, dataset_of, period_of

RUN_NAME = re.compile(r"[0-9a-f]{16}([0-9a-f]{16})?")
"""Those that follow from a hash have 32 digits: with 16, somebody could find two of one name."""

MOST_COUNTED = 1000
"""Further runs that are counted; if there are more, that is enough to know."""


class BudgetExceededError(RuntimeError):
    """A fit requested more than its data set's budget has left. Nothing was read.

    Examples
    --------
    >>> from privclust import Ledger
    >>> from privclust.privacy.accounting import gaussian_spend
    >>> ledger = Ledger.in_memory()
    >>> ledger.add("patients", epsilon=1.0, delta=1e-6)
    >>> double = gaussian_spend(ledger.remaining("patients").quanta * 2, l0=1)
    >>> try:
    ...     ledger.reserve("patients", double, {})
    ... except BudgetExceededError as error:
    ...     print(str(error).splitlines()[0])
    the data set's budget does not cover this run; nothing was read.
    """


class RunConflictError(LedgerError):
    """A run of this name was reserved for something else.

    Examples
    --------
    >>> from privclust import Ledger
    >>> from privclust.privacy.accounting import gaussian_spend
    >>> ledger = Ledger.in_memory()
    >>> ledger.add("patients", epsilon=1.0, delta=1e-6)
    >>> cost = gaussian_spend(ledger.remaining("patients").quanta // 4, l0=1)
    >>> ledger.reserve("patients", cost, {"seed": "1"}, run="00000000000000aa")
    '00000000000000aa'
    >>> try:
    ...     ledger.reserve("patients", cost, {"seed": "2"}, run="00000000000000aa")
    ... except RunConflictError as error:
    ...     print("reserved for another fit")
    reserved for another fit
    """


class SlotConflictError(LedgerError):
    """A slot belongs to another query, or its run has ended: what a caller may not repeat."""


@dataclass(frozen=True)
class Cap:
    """The most that all runs with one fact in common may cost together.

    Attributes
    ----------
    fact, value : str
        The fact and what it says, such as "analyst" and "a7".
    epsilon : float
        What they may cost, at the data set's delta and over all its periods.
    """

    fact: str
    value: str
    epsilon: float

    def budget(self, account: Dataset) -> Budget:
        """Return what the cap is worth on one data set."""
        return Budget(self.epsilon, account.budget.delta)

    def taken(self, pages: Pages, account: Dataset) -> Spend:
        """Return what these runs take from the data set's budget."""
        return committed(pages, account.label, (self.fact, self.value))


def check_run_name(name: str) -> None:
    """Refuse what a server would not take as the name of a run."""
    if not RUN_NAME.fullmatch(name):
        raise LedgerError(
            f"a run is named by 16 or 32 hexadecimal digits in lower case, not by "
            f"{safe_repr(name)}. Leave the name out to have one drawn."
        )


def excess(
    pages: Pages, account: Dataset, total: Spend, facts: Mapping[str, str], cap: Cap | None
) -> Message | None:
    """Return why a run that costs `total` may not begin, or None if it may."""
    if account.closed:
        return Message(
            f"data set {account.label!r} was closed by its owner, so that no further run is "
            "granted; nothing was read. Runs that were begun can be resumed."
        )
    budget, taken = account.budget, committed(pages, account.label)
    at_most = partial(largest_epsilon, pages, account, facts, cap)
    if not budget.admits(taken + total):
        lines = pages.lines("reserve", "claim", "close", label=account.label)
        opened = tuple(run.name for run in as_runs(lines) if run.open)
        left = taken.left_of(budget.capacity)
        return refusal(budget, total, left, at_most(), open_runs=opened)
    period = period_of(account, facts)
    if period is not None:
        taken = committed(pages, account.label, ("period", period))
        if not (taken + total).within(account.share):
            left = taken.left_of(account.share)
            return refusal(budget, total, left, at_most(), f"period {period}")
    if cap is not None:
        budget, taken = cap.budget(account), cap.taken(pages, account)
        if not budget.admits(taken + total):
            whose = f"{cap.fact} {cap.value}"
            return refusal(budget, total, taken.left_of(budget.capacity), at_most(), whose)
    return None


def further_runs(pages: Pages, like: Run) -> int:
    """Return how many further runs would be granted that reserve what `like` did, up to a limit.

    They have its period, if there are any, and none ends before the next one begins. No cap is
    looked at.
    """
    account = dataset_of(pages, like.label)
    period = period_of(account, like.facts)
    taken, in_period = committed(pages, like.label), Spend()
    if period is not None:
        in_period = committed(pages, like.label, ("period", period))
    for count in range(MOST_COUNTED):
        taken, in_period = taken + like.reserved, in_period + like.reserved
        if not account.admits(taken) or (period and not in_period.within(account.share)):
            return count
    return MOST_COUNTED


def largest_epsilon(
    pages: Pages, account: Dataset, facts: Mapping[str, str], cap: Cap | None
) -> float:
    """Return the largest epsilon, in thousandths, of a further run with these facts.

    Without a period among the facts, it is that of the first run of a new period.
    """
    label = account.label
    parts = [(committed(pages, label).left_of(account.capacity), account.budget)]
    if account.periods > 1:
        period = facts.get("period")
        taken = Spend() if period is None else committed(pages, label, ("period", period))
        parts.append((taken.left_of(account.share), account.budget))
    if cap is not None:
        budget = cap.budget(account)
        parts.append((cap.taken(pages, account).left_of(budget.capacity), budget))
    return min(affordable(left, budget) for left, budget in parts)


def was_reserved(pages: Pages, run: str, label: str, body: Mapping[str, Any]) -> bool:
    """Tell whether a run was reserved before, or refuse if that was for something else."""
    found = pages.lines("reserve", run=run)
    if not found:
        return False
    entry = found[0].entry
    # A server adds the role that reserved it.
    before = {name: entry.body.get(name) for name in body}
    if entry.label != label or before != body:
        raise RunConflictError(
            f"run {run} was reserved before, for another data set, price or parameters. Repeat "
            "the call as it was, or choose another name."
        )
    return True
