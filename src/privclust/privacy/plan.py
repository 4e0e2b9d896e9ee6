"""What a fit will measure, and how its budget is shared, fixed before any row is read."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from privclust.errors import Message, Parameter
from privclust.privacy.accounting import (
    MU_MAX,
    QUANTA,
    Budget,
    Spend,
    gaussian_spend,
    pure_epsilon_of,
    pure_spend,
)

SLOTS_MAX = 1024

Mechanism = Literal["gaussian", "laplace", "select"]


@dataclass(frozen=True)
class Slot:
    """One query of a fit.

    Attributes
    ----------
    name : str
        Unique within the plan; ledgers store the result under it.
    share : float
        Part of the fit's mu² (of its epsilon, when the guarantee is pure) spent here.
    l0 : int
        Upper bound on the coordinates of the result that one unit can change.
    mechanism : {"gaussian", "laplace", "select"}
        Discrete Gaussian, discrete Laplace, or permute-and-flip selection.
    """

    name: str
    share: float
    l0: int = 1
    mechanism: Mechanism = "gaussian"

    def __post_init__(self) -> None:
        if not (0 < self.share <= 1 + 1e-9 and self.l0 >= 1):
            raise ValueError(
                f"slot {self.name!r} needs a share above 0 and at most 1 and at least one changed "
                f"coordinate, got share={self.share!r} and l0={self.l0!r}."
            )


@dataclass(frozen=True)
class Plan:
    """Slots, and the most they may cost together. Made by `make_plan`, refined by `refined`.

    Attributes
    ----------
    budget : Budget
        The guarantee that the fit must keep.
    slots : tuple of Slot
        In the order in which an algorithm intends to measure them.
    quanta : int
        What shares are parts of: mu², or epsilon when the guarantee is pure, in quanta.
    reserve : Spend
        Upper total; a refined plan stays within the first plan's.

    Notes
    -----
    The lemma's slack grows with mu² times the coordinates changed, so the reserve holds the slack
    of the whole mu² spent in the widest slot: a refinement only has to mind its shares.
    """

    budget: Budget
    slots: tuple[Slot, ...]
    quanta: int
    reserve: Spend

    def slot(self, name: str) -> Slot:
        """Return the slot called `name`."""
        for slot in self.slots:
            if slot.name == name:
                return slot
        known = ", ".join(slot.name for slot in self.slots)
        raise KeyError(f"no slot {name!r} in this plan; it has {known}.")

    def price(self, slot: Slot) -> Spend:
        """Return what `slot` is charged."""
        return _price(slot, self.budget, self.quanta)

    def with_reserve(self, part: float) -> Plan:
        """Return the plan with smaller prices, so that a part of its reserve stays unspent."""
        return replace(self, quanta=int(self.quanta * (1 - part)))

    def refined(self, measured: Iterable[str], slots: Iterable[Slot]) -> Plan:
        """Keep the slots named in `measured`, replace the rest by `slots`, within the reserve.

        Raises
        ------
        ValueError
            If the new slots would cost more than was reserved.
        """
        kept = tuple(self.slot(name) for name in measured)
        plan = replace(self, slots=_distinct((*kept, *slots)))
        if not _total(plan.slots, self.budget, self.quanta).within(self.reserve):
            raise ValueError(
                "the refined slots cost more than the plan reserved. Keep their shares within what "
                "is left, and let none change more coordinates than the first plan's widest."
            )
        return plan


def make_plan(budget: Budget, slots: Iterable[Slot]) -> Plan:
    """Grant `slots` the largest mu² at which together they keep `budget`.

    Examples
    --------
    >>> plan = make_plan(Budget(1.0, 1e-6), [Slot("count", 0.005), Slot("votes", 0.995)])
    >>> round(plan.reserve.mu, 4)
    0.2367
    """
    slots = _distinct(tuple(slots))
    if math.fsum(slot.share for slot in slots) > 1 + 1e-9:
        raise ValueError("the shares of a plan must sum to at most 1.")
    if budget.delta == 0 and any(slot.mechanism == "gaussian" for slot in slots):
        raise ValueError(
            Message(
                Parameter("delta", 0),
                " means pure epsilon, which Gaussian noise cannot guarantee. Give a delta above 0, "
                "such as 1e-6.",
            )
        )
    low, high = 0, MU_MAX**2 * QUANTA
    while low < high:
        middle = (low + high + 1) // 2
        if budget.admits(_reserve(slots, budget, middle)):
            low = middle
        else:
            high = middle - 1
    if any(_price(slot, budget, low).quanta == 0 for slot in slots):
        raise ValueError(
            "this budget is too small for the plan: a slot would get none of it. "
            "Ask for a larger epsilon, or plan fewer or narrower slots."
        )
    return Plan(budget, slots, low, _reserve(slots, budget, low))


def numbered(name: str, count: int) -> list[str]:
    """Return names for slots that measure the same again and again.

    Examples
    --------
    >>> numbered("split", 2)
    ['split 1', 'split 2']
    """
    return [f"{name} {number}" for number in range(1, count + 1)]


_ATTEMPT = ", attempt "


def attempt_name(name: str, attempt: int) -> str:
    """Return the name under which ledgers keep a slot that is measured again.

    Examples
    --------
    >>> attempt_name("votes", 1), attempt_name("votes", 2)
    ('votes', 'votes, attempt 2')
    """
    return name if attempt == 1 else f"{name}{_ATTEMPT}{attempt}"


def slot_of_attempt(name: str) -> str:
    """Return which slot ledgers keep under a name.

    Examples
    --------
    >>> slot_of_attempt("votes"), slot_of_attempt("votes, attempt 2")
    ('votes', 'votes')
    """
    return name.partition(_ATTEMPT)[0]


def _price(slot: Slot, budget: Budget, quanta: int) -> Spend:
    granted = int(slot.share * quanta)
    if budget.delta == 0:
        return pure_spend(granted)
    if slot.mechanism == "gaussian":
        return gaussian_spend(granted, slot.l0)
    return pure_spend(pure_epsilon_of(granted))


def _total(slots: tuple[Slot, ...], budget: Budget, quanta: int) -> Spend:
    return sum((_price(slot, budget, quanta) for slot in slots), Spend())


def _reserve(slots: tuple[Slot, ...], budget: Budget, quanta: int) -> Spend:
    """Return the slots' cost, and enough for any refinement no wider than they are.

    Truncating shares loses less than one quantum a slot, which another cut may need.
    """
    total = _total(slots, budget, quanta)
    if total.pure is not None:
        pure = total.pure + SLOTS_MAX
        return Spend(max(total.quanta, pure_spend(pure).quanta), pure=pure)
    widest = max(slot.l0 for slot in slots if slot.mechanism == "gaussian")
    whole = gaussian_spend(total.quanta + SLOTS_MAX, widest)
    return replace(whole, tail=SLOTS_MAX * whole.tail)


def _distinct(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
    if len({slot.name for slot in slots}) < len(slots) or not 1 <= len(slots) <= SLOTS_MAX:
        raise ValueError(f"a plan has 1 to {SLOTS_MAX} slots, each with a name of its own.")
    return slots
