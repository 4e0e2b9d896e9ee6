"""What holds of several runs if an epsilon, or whether to run again, was chosen after looking."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privclust.models._statement_text import factor
from privclust.models.composition import (
    WEAK,
    Composition,
    best_power,
    cost_of_replacing,
    describe_strength,
)
from privclust.privacy.accounting import Budget, mu_of


@dataclass(frozen=True)
class ChosenLater:
    """The guarantee that holds whatever was chosen by looking at earlier runs.

    Attributes
    ----------
    budget : Budget
        What one ledger admits for all runs of the data set.
    dataset, unit : str
        Which that is, and whose data counts as one.
    power : float
        Of the best test for one unit, at 5 % false alarms.
    """

    budget: Budget
    dataset: str
    unit: str
    power: float

    @property
    def factor(self) -> str:
        """How much more likely an outcome may become."""
        return factor(self.budget.epsilon)

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter that the budget is worth; infinite of a pure one."""
        return mu_of(self.budget.epsilon, self.budget.delta) if self.budget.delta else math.inf

    @property
    def weak(self) -> bool:
        """Whether the guarantee says little."""
        return self.budget.epsilon > WEAK

    @property
    def strength(self) -> str:
        """What it means to somebody who looks for one unit, in words."""
        return describe_strength(self.budget.epsilon, self.power, self.unit)


def chosen_later(composed: Composition, first: Budget | None = None) -> ChosenLater | None:
    """Return what holds of the runs if they were so chosen; None if no one ledger has them all.

    `first` is what the ledger admitted at first, if that is known; else the runs' records say what
    it admitted then.
    """
    records = [run.record for run in composed.runs if run.record is not None]
    named = {(record.dataset, record.delta) for record in records}
    if not composed.private or len(records) < len(composed.runs) or len(named) > 1:
        return None
    dataset, delta = named.pop()
    budget = first or Budget(max(record.epsilon for record in records), delta)
    most = cost_of_replacing(budget.capacity) if composed.typed_rows else budget.capacity
    return ChosenLater(budget, dataset, composed.unit.quoted, best_power(most))
