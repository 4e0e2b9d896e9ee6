"""Fits by sums that have noise already: what they may measure, and what nodes are told of them."""

from __future__ import annotations

from collections.abc import Mapping

from privclust.engines.noisy import FitTerms
from privclust.errors import AbsentNodeError, ParameterError
from privclust.privacy.plan import Plan


def check_has_shares(plan: Plan, noiseless: bool) -> None:
    """Refuse what nodes that add their own noise cannot measure, before anything is reserved."""
    if noiseless:
        raise ParameterError(
            "epsilon = inf adds no noise, and the nodes of this federation let no exact sum out. "
            "Give a finite epsilon."
        )
    other = sorted({slot.mechanism for slot in plan.slots} - {"gaussian"})
    if other:
        raise ParameterError(
            f"this fit needs noise of the kind {' and '.join(other)}, and shares of noise that "
            "nodes add up are Gaussian. Fit PrivateKMeans or FedDPKMeans with a delta above 0."
        )


def check_reserve(plan: Plan, again: int) -> None:
    """Refuse to measure again for more than a plan keeps for that, in quanta."""
    if again > plan.reserve.quanta - plan.quanta:
        raise AbsentNodeError(
            "a node is gone, and too little is set aside to measure again without it. Where the "
            "coordinator keeps a ledger, the fit can be resumed when all nodes respond. Or set a "
            "larger reserve for the next fit."
        )


def terms_of(run: str, facts: Mapping[str, str], plan: Plan) -> FitTerms:
    """Return what nodes have to know of a fit."""
    budget, most = plan.budget, plan.reserve
    return FitTerms(
        run, dict(facts), budget.epsilon, budget.delta, most.quanta, most.slack, most.tail
    )
