"""Budgets that their owner lowers or closes."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from privclust.errors import Message, Parameter, ParameterError
from privclust.models.formatting import rounded_up
from privclust.privacy.accounting import Budget
from privclust.privacy.ledger.journal import Entry, Journal
from privclust.privacy.ledger.records import Dataset, dataset_of
from privclust.privacy.ledger.total import total_of


def lower_budget(journal: Journal, label: str, epsilon: float | None) -> None:
    """Lower the budget of a data set to `epsilon`, or close it if that is None."""
    with journal.writing() as pages:
        account = dataset_of(pages, label)
        if account.closed:
            raise ParameterError(
                f"data set {label!r} is closed already; no further run is granted."
            )
        if epsilon is None:
            fallen = replace(account, closed=True)
        else:
            fallen = replace(account, budget=Budget(epsilon, account.budget.delta))
            total = total_of(pages, label)
            least = rounded_up(total.epsilon)
            if float(least) >= account.budget.epsilon:
                raise ParameterError(
                    f"the budget of data set {label!r} is spent or set aside but for less than can "
                    "be typed, so that it cannot be lowered, and it never grows. To grant no "
                    "further run, close the data set."
                )
            if fallen.budget.epsilon >= account.budget.epsilon or not fallen.admits(total.cost):
                raise ParameterError(
                    Message(
                        f"to lower the budget of data set {label!r}, ",
                        Parameter("epsilon"),
                        f" must be at least {least}, what runs have spent and "
                        f"set aside, and below {account.budget.epsilon:g}, the budget now; got "
                        f"{epsilon:g}. It never grows. To grant no further run, close the data "
                        "set.",
                    )
                )
        place = len(pages.lines("lower", label=label)) + 1
        pages.append(Entry("lower", label, slot=str(place), body=_body(fallen)))


def _body(account: Dataset) -> dict[str, Any]:
    return {
        "epsilon": account.budget.epsilon,
        "delta": account.budget.delta,
        "closed": account.closed,
        # For a server, as in the entry that opened the account.
        "capacity": asdict(account.capacity),
        "pure": asdict(account.pure),
    }
