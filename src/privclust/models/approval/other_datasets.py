"""Other data sets of the same ledger, which may hold the same people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from privclust.errors import safe_repr
from privclust.models.approval.ledger_total import LedgerTotal
from privclust.models.composition import (
    WEAK,
    best_power,
    common_delta,
    cost_of_replacing,
    describe_strength,
    epsilon_together,
)
from privclust.models.formatting import rounded_up
from privclust.privacy.accounting import Spend
from privclust.queries.unit import ROW


@dataclass(frozen=True)
class SameUnit:
    """Data sets of one ledger that protect the same unit, and what they come to together.

    Attributes
    ----------
    totals : tuple of LedgerTotal
        That of the data set which the page is about, and those of others that have runs.

    Examples
    --------
    >>> from privclust.privacy.accounting import Budget
    >>> budget, cost = Budget(4.0, 1e-6), Budget(1.0, 1e-6).capacity
    >>> totals = [LedgerTotal(name, "row", "0f3a", 1, 0, cost, budget, False) for name in "ab"]
    >>> round(SameUnit(tuple(totals)).epsilon, 2)
    1.45
    """

    totals: tuple[LedgerTotal, ...]

    @property
    def count(self) -> int:
        """How many others there are."""
        return len(self.totals) - 1

    @property
    def delta(self) -> float:
        """The smallest delta above 0 of their budgets, at which the epsilon of all is read."""
        return common_delta((total.budget.delta for total in self.totals), self.cost)

    @property
    def cost(self) -> Spend:
        """What was recorded of all of them."""
        return sum((total.cost for total in self.totals), Spend())

    @property
    def epsilon(self) -> float:
        """The epsilon of everything that was recorded of all of them, rounded up."""
        return epsilon_together([total.cost for total in self.totals], self.delta)

    @property
    def replacing_epsilon(self) -> float | None:
        """If a typed number of rows is exact: the epsilon for replacing one unit."""
        if not any(total.typed_rows for total in self.totals):
            return None
        return epsilon_together(
            [cost_of_replacing(total.cost) for total in self.totals], self.delta
        )

    @property
    def power(self) -> float:
        """The power of the best test for one unit, at 5 % false alarms, rounded up."""
        replaced = self.replacing_epsilon is not None
        return best_power(cost_of_replacing(self.cost) if replaced else self.cost)

    @property
    def admitted_at_first(self) -> float | None:
        """The epsilon of all that the ledger admitted at first for them.

        None if it is not stated: if a budget is pure, or none is at the delta of all.
        """
        budgets = [total.first for total in self.totals]
        if not all(budget.delta for budget in budgets):
            return None
        found = epsilon_together([budget.capacity for budget in budgets], self.delta)
        return found if math.isfinite(found) else None

    @property
    def weak(self) -> bool:
        """Whether the total says little, which pages show in red."""
        return self._loss > WEAK

    @property
    def sentences(self) -> list[str]:
        """What they come to, in words."""
        unit = self.totals[0].unit
        one = "row" if unit == ROW.name else safe_repr(unit)
        others = "the other one" if self.count == 1 else f"the {self.count} others"
        found = (
            f"If this data set and {others} of the same unit hold the same people, what was "
            f"recorded of them comes together to epsilon = {rounded_up(self.epsilon)}, delta = "
            f"{rounded_up(self.delta)}, for adding or removing one {one} in "
            f"{'both' if self.count == 1 else 'each'} at once"
        )
        if self.replacing_epsilon is not None:
            found += (
                f"; for replacing it, if a typed number of rows is exact, to epsilon = "
                f"{rounded_up(self.replacing_epsilon)}"
            )
        return [
            f"{found}. {describe_strength(self._loss, self.power, one)}",
            "If an epsilon, or whether to run again, was chosen after looking at an earlier run of "
            f"any of them, this does not hold: count {self._at_first}.",
        ]

    @property
    def _loss(self) -> float:
        return max(self.epsilon, self.replacing_epsilon or 0.0)

    @property
    def _at_first(self) -> str:
        most = self.admitted_at_first
        if most is None:
            return "what the ledger admitted at first for each of them, together"
        return f"epsilon = {rounded_up(most)}, what the ledger admitted at first for all of them"


def same_unit(total: LedgerTotal, others: Sequence[LedgerTotal]) -> SameUnit | None:
    """Return a data set with the `others` that protect its unit and have runs; None without any."""
    found = tuple(other for other in others if other.unit == total.unit and other.runs)
    return SameUnit((total, *found)) if found else None


def listed(others: Sequence[LedgerTotal]) -> list[tuple[str, str, str, str, str]]:
    """Return name, unit, runs, total so far with its delta, and what is admitted, of each."""
    return [
        (
            safe_repr(other.dataset),
            "row" if other.unit == ROW.name else safe_repr(other.unit),
            f"{other.runs:,}",
            f"{rounded_up(other.epsilon)} at delta {rounded_up(other.budget.delta)}",
            "no further run" if other.closed else rounded_up(other.budget.epsilon),
        )
        for other in others
    ]
