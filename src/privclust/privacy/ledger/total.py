"""What everything that a ledger recorded for a data set comes to."""

from __future__ import annotations

from privclust.models.approval.ledger_total import LedgerTotal
from privclust.privacy.ledger.journal import Pages
from privclust.privacy.ledger.records import as_runs, committed, dataset_of


def total_of(pages: Pages, label: str) -> LedgerTotal:
    """Return the total of a data set, with the hash of the last entry that it counts.

    A run that has not ended counts with all that it reserved.
    """
    account = dataset_of(pages, label)
    runs = as_runs(pages.lines("reserve", "claim", "close", label=label))
    return LedgerTotal(
        dataset=label,
        unit=account.unit,
        head=pages.head()[1],
        runs=len(runs),
        open_runs=sum(run.open for run in runs),
        cost=committed(pages, label),
        budget=account.budget,
        typed_rows=any(run.facts.get("n_rows", "None") != "None" for run in runs),
        closed=account.closed,
        granted=account.granted,
    )


def totals_of(pages: Pages) -> tuple[LedgerTotal, ...]:
    """Return the total of every data set, oldest first."""
    return tuple(total_of(pages, line.entry.label) for line in pages.lines("dataset"))
