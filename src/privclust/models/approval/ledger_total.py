"""What all runs that a ledger recorded for one data set guarantee together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from privclust.errors import safe_repr
from privclust.models.composition import (
    WEAK,
    best_power,
    cost_of_replacing,
    describe_strength,
)
from privclust.models.formatting import rounded_up
from privclust.models.private_run import check_printable
from privclust.privacy.accounting import Budget, Spend, epsilon_of_spend
from privclust.queries.unit import ROW


@dataclass(frozen=True)
class LedgerTotal:
    """The total of a data set at one entry of its ledger.

    Attributes
    ----------
    dataset, unit : str
        As the ledger calls the data set, and whose data counts as one.
    head : str
        Hash of the last entry that is counted; it stands for all before it.
    runs, open_runs : int
        How many runs are counted, and how many of them have not ended.
    cost : Spend
        Of all releases; a run that has not ended counts with all it reserved.
    budget : Budget
        What the ledger admits now.
    typed_rows : bool
        Whether a run used a number of rows that the user typed.
    closed : bool, default=False
        Whether the ledger admits no further run at all.
    granted : Budget, optional
        What it admitted when the data set was opened, if not that; its owner may have lowered it.

    Examples
    --------
    >>> budget = Budget(4.0, 1e-6)
    >>> half = Budget(2.0, 1e-6).capacity
    >>> total = LedgerTotal("visits", "row", "0f3a", 1, 0, half, budget, False)
    >>> round(total.epsilon, 6)
    2.0
    """

    dataset: str
    unit: str
    head: str
    runs: int
    open_runs: int
    cost: Spend
    budget: Budget
    typed_rows: bool
    closed: bool = False
    granted: Budget | None = None

    def __post_init__(self) -> None:
        check_printable(self.head)

    @property
    def epsilon(self) -> float:
        """The epsilon of everything so far, at the budget's delta, rounded up."""
        return epsilon_of_spend(self.cost, self.budget.delta)

    @property
    def weak(self) -> bool:
        """Whether the total says little, which pages show in red."""
        return self.epsilon > WEAK

    @property
    def replacing_epsilon(self) -> float | None:
        """If a typed number of rows is exact: the epsilon for replacing one unit."""
        if not self.typed_rows:
            return None
        return epsilon_of_spend(cost_of_replacing(self.cost), self.budget.delta)

    @property
    def power(self) -> float:
        """The power of the best test for one unit, at 5 % false alarms, rounded up."""
        return self._power_of(self.cost)

    @property
    def largest_power(self) -> float:
        """The power that it may come to, if all that the ledger admits now is spent."""
        return self._power_of(self.budget.capacity)

    @property
    def sentences(self) -> list[str]:
        """What it means, in words."""
        one = "row" if self.unit == ROW.name else safe_repr(self.unit)
        found = [
            f"{self._counted}: epsilon = {rounded_up(self.epsilon)}, delta = "
            f"{rounded_up(self.budget.delta)}, for adding or removing any one {one}.",
        ]
        if self.replacing_epsilon is not None:
            found.append(
                "A run used a number of rows that was typed. If it is exact, the guarantee is for "
                f"replacing one {one} instead, at epsilon = {rounded_up(self.replacing_epsilon)} "
                "and the same delta."
            )
        loss = max(self.epsilon, self.replacing_epsilon or 0.0)
        return [
            *found,
            describe_strength(loss, self.power, one),
            self._admitted,
            "If an epsilon, or whether to run again, was chosen after looking at an earlier run, "
            "the total so far does not hold: count epsilon = "
            f"{rounded_up(self.first.epsilon)}, what the ledger admitted at first"
            f"{', before it was lowered' if self.is_lowered else ''}.",
            f"It counts what was recorded under the name {safe_repr(self.dataset)} alone. What was "
            "released of the same people under another name, by this ledger or another, adds to "
            "epsilon.",
        ]

    def on_earlier(self, released: int) -> str | None:
        """Say what holds if other runs than the `released` ones decided what is released.

        None if there are no others.
        """
        if self.runs <= released:
            return None
        others = self.runs - released
        return (
            f"The ledger recorded {others} other run{'s' if others > 1 else ''} under this data "
            "set's name. It knows the rows by that name alone, so that runs on them under another "
            "name are not among these. If "
            "anything about this release was chosen after looking at other results, such as the "
            "number of clusters, columns, weights, or which model is shown, it tells of those, "
            f"too: then the total of all holds, epsilon = {rounded_up(self.epsilon)} at delta = "
            f"{rounded_up(self.budget.delta)}. If an epsilon, or whether to run again, was so "
            f"chosen, epsilon = {rounded_up(self.first.epsilon)} holds."
        )

    def _power_of(self, cost: Spend) -> float:
        return best_power(cost_of_replacing(cost) if self.typed_rows else cost)

    @property
    def first(self) -> Budget:
        """What the ledger admitted when the data set was opened."""
        return self.granted or self.budget

    @property
    def is_lowered(self) -> bool:
        """Whether the ledger admits less than at first."""
        return self.budget.epsilon < self.first.epsilon

    @property
    def _admitted(self) -> str:
        limit = (
            f"epsilon = {rounded_up(self.budget.epsilon)}, delta = {rounded_up(self.budget.delta)}"
        )
        if self.closed:
            return (
                f"The data set is closed: no further run is admitted, and none was beyond {limit}."
            )
        return f"The ledger admits no run beyond {limit} for all together."

    @property
    def _counted(self) -> str:
        runs = {1: "The one run", 2: "Both runs"}.get(self.runs, f"All {self.runs} runs")
        text = f"{runs} on data set {safe_repr(self.dataset)}, up to the ledger's entry {self.head}"
        if self.open_runs:
            text += f", {self.open_runs} of which not ended and counted with all that was reserved"
        return f"{text}, together" if self.runs > 1 else text

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON, with the epsilon that they come to."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return {**known, "epsilon": self.epsilon}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> LedgerTotal:
        """Return the total that `to_dict` described; refuse one that does not add up."""
        parts = {name: value for name, value in content.items() if name != "epsilon"}
        budget, cost = Budget(**content["budget"]), Spend(**content["cost"])
        granted = Budget(**content["granted"]) if "granted" in content else None
        total = cls(**{**parts, "budget": budget, "cost": cost, "granted": granted})
        if not math.isclose(total.epsilon, content["epsilon"], rel_tol=1e-9):
            raise ValueError("its total says of its cost what that does not come to")
        return total
