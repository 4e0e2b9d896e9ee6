"""What a fit costs, from public numbers alone: each plan lists its queries, and they are added up.

All figures are estimates for one core, with noise as OpenDP draws it; docs/limits.md says how they
were measured. Nothing here looks at rows, and nothing is allocated that a plan does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from privclust.privacy.plan import Plan

NOISE_SECONDS = 20e-6
"""To draw noise for one number, and to store it."""
ROW_SECONDS, NUMBER_SECONDS, PRODUCT_SECONDS = 220e-9, 29e-9, 0.06e-9
"""To sum a query: for a row, for each of its numbers, for each of these and each cluster."""
RESULT_BYTES, KEPT_BYTES = 220, 40
"""For each number of a result while it gets its noise, and afterwards."""


@dataclass(frozen=True)
class Cost:
    """What a fit takes beside its rows.

    Attributes
    ----------
    seconds : float
        Of one core, whatever the number of rows.
    row_seconds : float
        Of one core, for each row in memory.
    memory : float
        Bytes.
    numbers : float
        How many get noise.
    largest : float
        How many of them are the result of one query, at most.
    sent : float, default=0.0
        Bytes of what rows are compared with in one query, which clients of a federation are sent.
    sample_seconds : float, default=0.0
        Of one core, for each row of the sample that some queries read instead of all rows.
    """

    seconds: float
    row_seconds: float
    memory: float
    numbers: float
    largest: float
    sent: float = 0.0
    sample_seconds: float = 0.0


@dataclass(frozen=True)
class Measured:
    """Queries of one kind: the numbers of their results, and what rows are compared with."""

    size: float
    candidates: float = 1.0
    width: float = 1.0
    times: float = 1.0
    passes: float | None = None
    """How many of these queries read all rows, and not a sample; all of them unless given."""
    largest: float = 0.0
    """The most numbers that one result can have, where that is more than `size`."""


class AlgorithmPlan(Protocol):
    """What the plan of any algorithm has.

    Two methods are optional: `cost` returns a Cost, and `sampled_rows` how many of so many rows the
    sample has that some queries read.
    """

    @property
    def spending(self) -> Plan:
        """The slots."""


def cost_of(plan: AlgorithmPlan) -> Cost:
    """Return what a plan costs at most, by its own method ``cost()``.

    A plan without that method, of an algorithm of one's own, is estimated by its slots: each counts
    as one query that compares rows with a single point and whose result has as many numbers as one
    unit can change. That is less than the true cost where there are many clusters.

    Examples
    --------
    >>> from privclust.algorithms import private_kmeans
    >>> from privclust.privacy.accounting import Budget
    >>> cost_of(private_kmeans.plan(10**5, 2, Budget(1.0, 1e-6))).seconds > 3600
    True
    """
    own = getattr(plan, "cost", None)
    if own is None:
        return total([Measured(slot.l0, 1.0, slot.l0) for slot in plan.spending.slots])
    cost: Cost = own()
    return cost


def seconds_of(plan: AlgorithmPlan, n_rows: int) -> float:
    """Return the seconds of one core that a fit of so many rows takes.

    Examples
    --------
    >>> from privclust.algorithms import private_kmeans
    >>> from privclust.privacy.accounting import Budget
    >>> planned = private_kmeans.plan(8, 2, Budget(1.0, 1e-6))
    >>> seconds_of(planned, 10**7) > seconds_of(planned, 10**6)
    True
    """
    cost = cost_of(plan)
    sampled = getattr(plan, "sampled_rows", None)
    in_sample = n_rows if sampled is None else sampled(n_rows)
    return cost.seconds + cost.row_seconds * n_rows + cost.sample_seconds * float(in_sample)


def total(measured: list[Measured], free: float = 0.0, arrays: float = 0.0) -> Cost:
    """Add up queries, the seconds spent on their results, and the bytes of arrays that takes.

    Examples
    --------
    >>> total([Measured(size=100.0, times=3)], free=1.0).numbers
    300.0
    """
    numbers = sum(query.times * query.size for query in measured)
    typical = max((query.size for query in measured), default=0.0)
    largest = max((query.largest for query in measured), default=0.0)
    sent = max((8 * query.candidates * query.width for query in measured), default=0.0)
    return Cost(
        seconds=NOISE_SECONDS * numbers + free,
        row_seconds=sum(_passes(query) * _row_seconds(query) for query in measured),
        sample_seconds=sum(
            (query.times - _passes(query)) * _row_seconds(query) for query in measured
        ),
        memory=RESULT_BYTES * typical + KEPT_BYTES * numbers + arrays,
        numbers=numbers,
        largest=max(typical, largest),
        sent=sent,
    )


def _passes(query: Measured) -> float:
    return query.times if query.passes is None else query.passes


def _row_seconds(query: Measured) -> float:
    return ROW_SECONDS + query.width * (NUMBER_SECONDS + query.candidates * PRODUCT_SECONDS)


def packing_seconds(points: float, width: float) -> float:
    """Return the seconds of a packing of the sphere (`_packing`)."""
    return points**2 * (40 + 0.1 * width) * 1e-9


def box_packing_seconds(points: float, width: float) -> float:
    """Return the seconds of a packing of a box (`_box_packing`)."""
    return points * (1e-3 + points * (100 + 3 * width) * 1e-9)
