"""A ledger at a prompt and in a notebook: each data set, and what it has left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privclust.models._html import block, sentence, table
from privclust.models.formatting import rounded_up
from privclust.privacy.ledger._admission import MOST_COUNTED
from privclust.privacy.ledger.records import Dataset, Run

if TYPE_CHECKING:
    from privclust.privacy.ledger.ledger import Ledger

HEADER = ("data set", "protects", "epsilon", "delta", "runs", "left for one more run")
NAMED_RUNS = 5
"""Open runs that are named: the last ones."""


def ledger_text(ledger: Ledger) -> str:
    """Return a line for each data set, and below it how far its budget goes and what is open."""
    lines = []
    for account in ledger.datasets():
        name, _, epsilon, delta, count, left = _row(ledger, account)
        lines += [
            f"{name}: epsilon {left} left for one more run, of {epsilon} in all at delta {delta}; "
            f"runs: {count}",
            *(f"  {note}" for note in _notes(ledger, account)),
        ]
    return "\n".join(lines) or "a ledger without data sets"


def ledger_html(ledger: Ledger) -> str:
    """Return a table of the data sets, and how far their budgets go and what is open."""
    accounts = ledger.datasets()
    return block(
        "Ledger",
        table(HEADER, [_row(ledger, account) for account in accounts]),
        *(
            sentence(f"{account.label}: {note}")
            for account in accounts
            for note in _notes(ledger, account)
        ),
    )


def _row(ledger: Ledger, account: Dataset) -> list[str]:
    label, budget, runs = account.label, account.budget, len(ledger.runs(account.label))
    epsilon, left = rounded_up(budget.epsilon), f"{ledger.epsilon_left(label):g}"
    return [label, account.unit, epsilon, rounded_up(budget.delta), f"{runs:,}", left]


def _notes(ledger: Ledger, account: Dataset) -> list[str]:
    """Say how many runs like the last one the budget is left for, and which have not ended."""
    runs = ledger.runs(account.label)
    opened = [run for run in runs if run.open]
    enough = [] if account.closed or not runs else [_enough(ledger.runs_left(runs[-1].name), runs)]
    earlier = len(opened) - NAMED_RUNS
    more = [f"{earlier:,} more have not ended."] if earlier > 0 else []
    return [*enough, *map(_open, opened[-NAMED_RUNS:]), *more]


def _enough(count: int, runs: Sequence[Run]) -> str:
    """Say how many more runs like the last one are granted."""
    epsilon, period = (runs[-1].facts.get(fact) for fact in ("epsilon", "period"))
    like = f"like the last one, {runs[-1].name}" if epsilon is None else f"at epsilon {epsilon}"
    spell = "" if period is None else f" in period {period}"
    number = f"{count:,} or more" if count == MOST_COUNTED else "no" if count == 0 else f"{count:,}"
    return f"The budget is left for {number} more run{'' if count == 1 else 's'} {like}{spell}."


def _open(run: Run) -> str:
    """Say how a run that has not ended is gone on with, or ended."""
    return (
        f"Run {run.name} is open and keeps what it set aside: resume={run.name!r} goes on with it "
        f"at no further cost, ledger.close({run.name!r}) ends it."
    )
