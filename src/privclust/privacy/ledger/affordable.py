"""The epsilon that one more fit may ask for, as people type it."""

from __future__ import annotations

import math

from privclust.privacy.accounting import EPSILON_MIN, Budget, Spend, epsilon_of

_ROUNDING = 1e-6
"""By how much less than was given to it a budget of whole quanta is worth, at most."""


def affordable(left: Spend, budget: Budget) -> float:
    """Return the largest epsilon, in thousandths, that one more fit may have at a budget's delta.

    Never more than is granted. Of a budget that is untouched it is the whole epsilon.

    Parameters
    ----------
    left : Spend
        What is left of the budget, or of a part of it.
    budget : Budget
        The one of the data set, or of those who share a cap.

    Examples
    --------
    >>> budget = Budget(1.0, 1e-6)
    >>> affordable(budget.capacity, budget), affordable(Spend(), budget)
    (1.0, 0.0)
    """
    if _granted(budget, left):
        return budget.epsilon
    exact = left.epsilon if budget.delta == 0 else epsilon_of(left.mu, budget.delta)
    thousandths = math.floor(min(exact, budget.epsilon) * (1 + _ROUNDING) * 1000)
    epsilon = thousandths / 1000
    if epsilon < EPSILON_MIN or _granted(Budget(epsilon, budget.delta), left):
        return epsilon
    return (thousandths - 1) / 1000


def _granted(budget: Budget, left: Spend) -> bool:
    """Tell whether a fit may cost as much as a budget allows."""
    if budget.delta == 0:
        return budget.pure.epsilon <= left.epsilon
    return budget.capacity.quanta <= left.quanta
