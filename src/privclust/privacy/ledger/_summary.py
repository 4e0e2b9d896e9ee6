"""A ledger at a prompt and in a notebook: each data set, and what it has left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privclust.models._html import block, table
from privclust.models.formatting import rounded_up

if TYPE_CHECKING:
    from privclust.privacy.ledger.ledger import Ledger

HEADER = ("data set", "protects", "epsilon", "delta", "runs", "left for one more run")


def ledger_text(ledger: Ledger) -> str:
    """Return a line for each data set."""
    lines = [
        f"{name}: epsilon {left} left for one more run, of {epsilon} in all at delta {delta}; "
        f"runs: {runs}"
        for name, _, epsilon, delta, runs, left in _rows(ledger)
    ]
    return "\n".join(lines) or "a ledger without data sets"


def ledger_html(ledger: Ledger) -> str:
    """Return a table of the data sets."""
    return block("Ledger", table(HEADER, _rows(ledger)))


def _rows(ledger: Ledger) -> list[list[str]]:
    rows = []
    for account in ledger.datasets():
        label, budget, runs = account.label, account.budget, len(ledger.runs(account.label))
        epsilon, left = rounded_up(budget.epsilon), f"{ledger.epsilon_left(label):g}"
        rows.append([label, account.unit, epsilon, rounded_up(budget.delta), f"{runs:,}", left])
    return rows
