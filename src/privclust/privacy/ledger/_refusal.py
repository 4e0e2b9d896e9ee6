"""What a fit is told that requests more than is left."""

from __future__ import annotations

import math

from privclust.errors import Message, Parameter
from privclust.privacy.accounting import Budget, Spend, epsilon_of


def refusal(
    budget: Budget, requested: Spend, remaining: Spend, whose: str = "the data set"
) -> Message:
    """Return what was requested, what is left, and what may be asked for instead."""
    if budget.delta == 0:
        difference = f"epsilon {requested.epsilon - remaining.epsilon:.6g}"
        wanted, left = f"epsilon {requested.epsilon:.6g}", f"epsilon {remaining.epsilon:.6g}"
        affordable, end = f"{remaining.epsilon:.6g}", "."
    else:
        difference = f"mu² {requested.mu2 - remaining.mu2:.6g}"
        wanted, left = (
            f"mu² {spend.mu2:.6g} (epsilon {epsilon_of(spend.mu, budget.delta):.4g} at delta "
            f"{budget.delta:g})"
            for spend in (requested, remaining)
        )
        whole = math.floor(epsilon_of(remaining.mu, budget.delta) * 1000) / 1000
        affordable, end = f"{whole:g}", "; a budget never grows."
    return Message(
        f"{whose}'s budget does not cover this run; nothing was read.\n"
        f"  Requested:  {wanted}\n"
        f"  Remaining:  {left}\n"
        f"  Difference: {difference}\n"
        "Ask for at most ",
        Parameter("epsilon", affordable, f"epsilon = {affordable}"),
        end,
    )
