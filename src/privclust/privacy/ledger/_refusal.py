"""What a fit is told that requests more than is left."""

from __future__ import annotations

from privclust.errors import Message, Parameter
from privclust.models.formatting import rounded_up
from privclust.privacy.accounting import EPSILON_MIN, Budget, Spend, epsilon_of
from privclust.privacy.ledger.affordable import affordable


def refusal(
    budget: Budget,
    requested: Spend,
    remaining: Spend,
    at_most: float,
    whose: str = "the data set",
    open_runs: tuple[str, ...] = (),
) -> Message:
    """Return what was requested, what is left, and what may be asked for instead.

    `at_most` is the epsilon that would be granted. `open_runs` have not ended, and keep what they
    set aside.
    """
    if budget.delta == 0 and requested.pure is None:
        return Message(*_not_pure(remaining, at_most, whose), *_open(open_runs))
    if budget.delta == 0:
        difference = f"epsilon {requested.epsilon - remaining.epsilon:.6g}"
        wanted, left = f"epsilon {requested.epsilon:.6g}", f"epsilon {remaining.epsilon:.6g}"
    else:
        difference = f"mu² {requested.mu2 - remaining.mu2:.6g}"
        # Rounded as what may be asked for is, so that the two are no different numbers.
        epsilons = (
            rounded_up(epsilon_of(requested.mu, budget.delta)),
            f"{affordable(remaining, budget):.12g}",
        )
        wanted, left = (
            f"epsilon {epsilon} at delta {budget.delta:g} (mu² {spend.mu2:.6g})"
            for epsilon, spend in zip(epsilons, (requested, remaining), strict=True)
        )
    return Message(
        f"{whose}'s budget does not cover this run; nothing was read.\n"
        f"  Requested:  {wanted}\n"
        f"  Remaining:  {left}\n"
        f"  Difference: {difference}\n",
        *_remedy(at_most, budget.delta),
        *_open(open_runs),
    )


def _not_pure(remaining: Spend, at_most: float, whose: str) -> tuple[str | Parameter, ...]:
    """Say that no epsilon helps a fit whose guarantee is not pure."""
    parts: tuple[str | Parameter, ...] = (
        f"{whose}'s budget has delta 0, so that it takes pure fits only; nothing was read.\n"
        "  Requested:  a fit with a delta above 0\n"
        f"  Remaining:  epsilon {remaining.epsilon:.6g}\n",
    )
    if at_most < EPSILON_MIN:
        return (*parts, *_remedy(at_most, 0.0))
    return (
        *parts,
        "Set ",
        Parameter("delta", 0),
        " and ask for at most ",
        _epsilon(at_most),
        ", with an estimator whose noise can be pure, such as BalcanKMeans; a budget never grows.",
    )


def _remedy(at_most: float, delta: float) -> tuple[str | Parameter, ...]:
    """Say what may be asked for, if any fit can do with it."""
    if at_most < EPSILON_MIN:
        return (
            f"No fit can use less than epsilon = {EPSILON_MIN:g}; a budget never grows. refit and "
            "k_path of models that are there cost nothing.",
        )
    return (
        "Ask for at most ",
        _epsilon(at_most),
        # Another delta may be typed, with which it is another epsilon.
        f"{f' at delta {delta:g}' if delta > 0 else ''}; a budget never grows.",
    )


def _epsilon(at_most: float) -> Parameter:
    return Parameter("epsilon", f"{at_most:.12g}", f"epsilon = {at_most:.12g}")


def _open(runs: tuple[str, ...]) -> tuple[str | Parameter, ...]:
    """Say which run was not ended: a fit that was interrupted is resumed, not begun again."""
    if not runs:
        return ()
    others = "" if len(runs) == 1 else f" and {len(runs) - 1} more"
    return (
        f"\nRun {runs[-1]}{others} has not ended and keeps what it set aside. If it was "
        "interrupted, go on with it at no further cost by ",
        Parameter("resume", runs[-1], f"resume={runs[-1]!r}"),
        "; 'privclust ledger close' ends it.",
    )
