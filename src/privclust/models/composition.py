"""What several runs on the same rows guarantee together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from scipy.special import ndtr, ndtri

from privclust.errors import ParameterError
from privclust.models._cohort_text import protections
from privclust.models._notebook import composition_html
from privclust.models.formatting import percent_up, rounded_up
from privclust.models.private_run import PrivateRun
from privclust.privacy.accounting import Spend, epsilon_of_spend, mu_of
from privclust.queries.unit import Unit

FALSE_ALARMS = 0.05
"""How often the test whose power is stated may take an absent unit for a present one."""
WEAK = 8.0
"""Above this epsilon a guarantee says little, and every page says so."""

PROTECTED_ROWS = "protected; what is released of it is noisy."
"""What is said of the number of rows if nobody typed it."""
CHOSEN_LATER = (
    "an epsilon, or whether to run again, that was chosen after looking at an earlier run: for "
    "such choices only what a common ledger admitted at first holds"
)
"""What the epsilon of several runs so far does not cover, in words."""


@dataclass(frozen=True)
class Composition:
    """Runs on the same rows, each once, and what they guarantee together to one unit.

    Attributes
    ----------
    runs : tuple of PrivateRun
        All of them, none twice.
    not_covered_by_each : tuple of str
        What the statements do not cover whose runs these are, in words, none twice.

    Examples
    --------
    `compose` shows one.
    """

    runs: tuple[PrivateRun, ...]
    not_covered_by_each: tuple[str, ...] = ()

    @classmethod
    def of(cls, runs: Iterable[PrivateRun], not_covered: Iterable[str] = ()) -> Composition:
        """Return the composition of `runs`; one that comes up again counts once.

        `not_covered` is what their statements do not cover.
        """
        distinct: dict[str, PrivateRun] = {}
        for run in runs:
            known = distinct.setdefault(run.name, run)
            if not run.is_same(known):
                raise ParameterError(
                    f"run {run.name} is described in two ways, so one of these objects was "
                    "changed. Take them from where they were first written."
                )
            first = next(iter(distinct.values()))
            if not run.unit.protects_same(first.unit):
                raise ParameterError(
                    f"run {first.name} ({first.estimator}) protects each "
                    f"{first.unit.ledger_name!r}, run {run.name} ({run.estimator}) each "
                    f"{run.unit.ledger_name!r}: together they guarantee nothing that could be "
                    "stated. Fit both with the same unit."
                )
        return cls(tuple(distinct.values()), tuple(dict.fromkeys(not_covered)))

    @property
    def private(self) -> bool:
        """Whether every run had real noise."""
        return all(run.private for run in self.runs)

    @property
    def unit(self) -> Unit:
        """Whose data is protected."""
        return self.runs[0].unit

    @cached_property
    def cost(self) -> Spend:
        """The most that all releases of all runs could cost."""
        return sum((run.reserved for run in self.runs), Spend())

    @property
    def delta(self) -> float:
        """The smallest delta above 0 of the runs, at which the epsilon of all is read.

        So no run has a larger epsilon than all together, whatever the deltas. A pure run holds at
        any delta.
        """
        if not self.private:
            return 1.0
        return common_delta((run.delta for run in self.runs), self.cost)

    @cached_property
    def epsilon(self) -> float:
        """The epsilon of all runs together, rounded up."""
        if not self.private:
            return math.inf
        return self.epsilon_at(self.delta)

    def epsilon_at(self, delta: float) -> float:
        """Return the epsilon of all runs together at another `delta`, rounded up.

        The same noise has a smaller epsilon at a larger delta.
        """
        if len(self.runs) == 1 and delta == self.delta:
            return self.runs[0].epsilon
        return epsilon_together([run.reserved for run in self.runs], delta)

    def comes_to(self, epsilon: float, delta: float) -> bool:
        """Tell whether all runs together come to this `epsilon` at the `delta` of one of them."""
        if not self.private:
            return (epsilon, delta) == (math.inf, 1.0)
        known = delta in {run.delta for run in self.runs}
        return known and math.isclose(epsilon, self.epsilon_at(delta), rel_tol=1e-9)

    @property
    def mu(self) -> float:
        """The Gaussian-DP parameter that the guarantee is accounted as."""
        if not self.private or self.delta == 0:
            return self.cost.mu if self.private else math.inf
        return max(self.cost.mu, mu_of(self.epsilon, self.delta))

    @property
    def typed_rows(self) -> tuple[int, ...]:
        """The numbers of rows that the user typed, smallest first."""
        return tuple(sorted({run.n_rows for run in self.runs if run.n_rows is not None}))

    @cached_property
    def replacing_epsilon(self) -> float | None:
        """With a typed number of rows that is exact: the epsilon for replacing one unit."""
        if not self.private or not self.typed_rows:
            return None
        costs = [cost_of_replacing(run.reserved) for run in self.runs]
        return epsilon_together(costs, self.delta)

    @cached_property
    def power(self) -> float:
        """The power of the best test for one unit, at 5 % false alarms, rounded up.

        With a typed number of rows: of the best test for which of two units is there.
        """
        if not self.private:
            return 1.0
        return best_power(cost_of_replacing(self.cost) if self.typed_rows else self.cost)

    @property
    def weak(self) -> bool:
        """Whether the guarantee says little: epsilon is above 8, or there is no noise."""
        return max(self.epsilon, self.replacing_epsilon or 0.0) > WEAK

    @property
    def strength(self) -> str:
        """What the guarantee means to somebody who looks for one unit, in words."""
        loss = max(self.epsilon, self.replacing_epsilon or 0.0)
        return describe_strength(loss, self.power, self.unit.quoted)

    @property
    def n_rows(self) -> str:
        """How the numbers of rows were treated, in words."""
        if not self.private:
            return "not protected."
        if not self.typed_rows:
            return PROTECTED_ROWS
        text = (
            f"{' and '.join(map(str, self.typed_rows))}, typed by the user and used as a constant. "
            f"If it is exact, the guarantee is for replacing one {self.unit.quoted} instead"
        )
        if self.replacing_epsilon is None:
            return f"{text}."
        return f"{text}, at epsilon = {rounded_up(self.replacing_epsilon)} and the same delta."

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the guarantee does not speak of: that of each, and of several what was chosen."""
        chosen = (CHOSEN_LATER,) if len(self.runs) > 1 else ()
        return tuple(dict.fromkeys((*self.not_covered_by_each, *chosen)))

    @property
    def title(self) -> str:
        """The guarantee of all runs together, in a sentence."""
        if not self.private:
            return "NOT PRIVATE: one of these runs had no real noise, so nobody is protected."
        return (
            f"{_runs(len(self.runs))}: epsilon = {rounded_up(self.epsilon)}, delta = "
            f"{rounded_up(self.delta)}, for adding or removing any one {self.unit.quoted}."
        )

    def __str__(self) -> str:
        if not self.private:
            return self.title
        lines = [
            f"{self.title} {self.strength}",
            *(f"  {describe_run(run)}" for run in self.runs),
            f"Number of rows: {self.n_rows}",
        ]
        if self.not_covered:
            lines.append("Not covered: " + "; ".join(self.not_covered) + ".")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return composition_html(self)


def common_delta(deltas: Iterable[float], cost: Spend) -> float:
    """Return the smallest delta above 0 at which what cost so much together has an epsilon.

    Examples
    --------
    >>> common_delta([1e-6, 0.0, 1e-7], Spend())
    1e-07
    """
    ranked = sorted(set(deltas) - {0.0}) or [0.0]
    # The parts of delta beyond the Gaussian ones, of all runs, may exceed the smallest.
    reached = (delta for delta in ranked if delta > cost.tail)
    return next(reached, ranked[-1])


def epsilon_together(costs: Sequence[Spend], delta: float) -> float:
    """Return the epsilon of all `costs` at a `delta`, rounded up.

    It is the smaller of two that hold: all in mu², or pure ones added to that.

    Examples
    --------
    >>> from privclust.privacy.accounting import Budget
    >>> round(epsilon_together([Budget(1.0, 1e-6).capacity] * 2, 1e-6), 2)
    1.45
    """
    pure = [cost for cost in costs if cost.pure is not None]
    others = [cost for cost in costs if cost.pure is None]
    together = epsilon_of_spend(sum(costs, Spend()), delta)
    if not pure or not others:
        return together
    apart = sum(pure, Spend()).epsilon + epsilon_of_spend(sum(others, Spend()), delta)
    return min(together, apart)


def best_power(cost: Spend) -> float:
    """Return the power of the best test for one unit, at 5 % false alarms, rounded up.

    The proof is in docs/proofs/accounting.md, section 6.

    Examples
    --------
    >>> from privclust.privacy.accounting import Budget
    >>> round(best_power(Budget(1.0, 1e-6).capacity), 4)
    0.0795
    """
    largest = 700.0  # its exponential is a float, and as a factor makes every power 1
    slack = math.exp(min(2 * cost.slack, largest))
    gaussian = slack * float(ndtr(ndtri(FALSE_ALARMS) + cost.mu)) + cost.tail
    powers = [1.0, gaussian * (1 + 2.0**-34)]
    if cost.pure is not None:
        factor = math.exp(min(cost.epsilon, largest))
        powers += [factor * FALSE_ALARMS, 1 - (1 - FALSE_ALARMS) / factor]
    return min(powers)


def describe_strength(epsilon: float, power: float, unit: str = "row") -> str:
    """Say what a guarantee means to somebody who looks for one `unit`."""
    found = (
        f"At {100 * FALSE_ALARMS:g} % false alarms, no test for one {unit} finds it in more than "
        f"{percent_up(power)} of cases; blind guessing finds it in {100 * FALSE_ALARMS:g} %."
    )
    if epsilon <= WEAK:
        return found
    return (
        f"{found} This guarantee says little, because its epsilon is above {WEAK:g}: do not rely "
        "on it alone."
    )


def describe_run(run: PrivateRun) -> str:
    """Return what one run guarantees and where it is recorded, in words."""
    more = ""
    if run.cohort is not None and run.private:
        _, alone, _ = protections(run, run.cohort)
        more = f"; against {alone.against} epsilon = {rounded_up(alone.epsilon)}"
    return (
        f"{run.estimator}, run {run.name} ({where_recorded(run)}): epsilon = "
        f"{rounded_up(run.epsilon)}, delta = {rounded_up(run.delta)}{more}"
    )


def where_recorded(run: PrivateRun) -> str:
    """Return which ledgers have a run, in words."""
    if run.cohort is not None:
        return f"ledgers of {len(run.cohort.members)} nodes, run {run.cohort.run} there"
    return "unrecorded" if run.record is None else f"data set {run.record.dataset!r}"


def cost_of_replacing(cost: Spend) -> Spend:
    """Return what the same releases cost one unit that leaves and one that comes in its place.

    Examples
    --------
    >>> cost_of_replacing(Spend(quanta=5)).quanta
    20
    """
    pure = None if cost.pure is None else 2 * cost.pure
    return Spend(4 * cost.quanta, 8 * cost.slack, 2 * cost.tail, pure)


def _runs(count: int) -> str:
    return "one run" if count == 1 else f"{count} runs together"
