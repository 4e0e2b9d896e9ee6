"""What a fit costs, from public numbers alone, and whether that is within limits.

All figures are estimates for one core, with noise as OpenDP draws it; docs/limits.md says how they
were measured. Nothing here looks at rows, and nothing is allocated that a plan does not hold.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from privclust.algorithms import _scale, balcan_kmeans, feddp_kmeans, hdpe_means, lsh_coreset
from privclust.algorithms._background import POINTS
from privclust.algorithms._cube_partition import CUBES_MAX, CUBES_PER_CLUSTER
from privclust.algorithms._merge import STARTS
from privclust.algorithms._refine import STEPS_MAX
from privclust.algorithms.balcan_kmeans import BalcanPlan
from privclust.algorithms.dp_lloyd import LloydPlan
from privclust.algorithms.feddp_kmeans import FedDPPlan
from privclust.algorithms.lsh_coreset import LSHCoresetPlan
from privclust.algorithms.pe_means import POPULATION_MAX, VARIATIONS_MIN, PEMeansPlan
from privclust.algorithms.private_kmeans import (
    CELLS_PER_CLUSTER,
    FULL_STEPS,
    MOST_COMPONENTS,
    ROWS_PER_CELL,
    PrivateKMeansPlan,
)
from privclust.algorithms.profile import ProfilePlan
from privclust.algorithms.seeded_kmeans import SeededPlan
from privclust.engines.federated._request import SIZE_MAX
from privclust.engines.federated.wire import MESSAGE_MAX
from privclust.errors import CostError
from privclust.estimators._limits import GIB, MEMORY_VARIABLE, MINUTES_VARIABLE, current_limits
from privclust.models.formatting import spoken, spoken_memory
from privclust.queries.swaps import CHOICES_MAX
from privclust.queries.unit import Unit

NOISE_SECONDS = 20e-6
"""To draw noise for one number, and to store it."""
ROW_SECONDS, NUMBER_SECONDS, PRODUCT_SECONDS = 220e-9, 29e-9, 0.06e-9
"""To sum a query: for a row, for each of its numbers, for each of these and each cluster."""
RESULT_BYTES, KEPT_BYTES = 220, 40
"""For each number of a result while it gets its noise, and afterwards."""
LONG_SECONDS = 60.0
"""Fits that take longer, whatever the number of rows, say so first."""
LOOKS = 8
MESSAGE_ROOM = 2**24
"""Bytes of a question beside what rows are compared with: columns, domain, radii, a projection."""


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
        How many of them are the result of one query.
    sent : float, default=0.0
        Bytes of what rows are compared with in one query, which clients of a federation are sent.
    """

    seconds: float
    row_seconds: float
    memory: float
    numbers: float
    largest: float
    sent: float = 0.0


@dataclass(frozen=True)
class Measured:
    """Queries of one kind: the numbers of their results, and what rows are compared with."""

    size: float
    candidates: float = 1.0
    width: float = 1.0
    times: float = 1.0
    passes: float | None = None
    """How many of these queries read all rows of a large table; all of them unless said."""


@singledispatch
def cost_of(plan: Any) -> Cost:
    """Return what a plan costs at most; of an algorithm that is not ours, by its slots alone.

    Examples
    --------
    >>> from privclust.algorithms import private_kmeans
    >>> from privclust.privacy.accounting import Budget
    >>> cost_of(private_kmeans.plan(10**5, 2, Budget(1.0, 1e-6))).seconds > 3600
    True
    """
    return _total([Measured(slot.l0, 1.0, slot.l0) for slot in plan.spending.slots])


def check_cost(cost: Cost, subject: str = "this fit", unit: Unit | None = None) -> None:
    """Refuse what is beyond the limits, and say so if it will take long.

    With a `unit`, no result may have more numbers than its noise was proved for; with one of a
    federation, no more than a client answers with, and no query may be longer than a client reads.
    """
    if unit is not None and 0 < unit.l0 < cost.largest:
        raise CostError(
            f"{subject} measures up to {_count(cost.largest)} numbers at once, and with a unit "
            f"other than single rows at most {unit.l0:,} are allowed. Ask for fewer clusters "
            "or columns. Nothing was read or spent."
        )
    if unit is not None and unit.silos:
        _check_messages(cost, subject)
    beyond = beyond_limits(cost)
    if beyond is not None:
        raise CostError(
            f"{subject} would take {spoken_cost(cost)}. {beyond} Or ask for fewer clusters or "
            "columns. Nothing was read or spent."
        )
    if cost.seconds > LONG_SECONDS:
        warnings.warn(f"{subject} may take {spoken_cost(cost)}.", stacklevel=5)


def _check_messages(cost: Cost, subject: str) -> None:
    """Refuse queries that no client of a federation would answer."""
    if cost.largest > SIZE_MAX:
        raise CostError(
            f"{subject} measures up to {_count(cost.largest)} numbers at once, and clients of a "
            f"federation answer with at most {SIZE_MAX:,}. Ask for fewer clusters or columns. "
            "Nothing was asked or spent."
        )
    if cost.sent > MESSAGE_MAX - MESSAGE_ROOM:
        raise CostError(
            f"{subject} sends clients questions of up to {_count(cost.sent)} bytes, and they read "
            f"at most {MESSAGE_MAX - MESSAGE_ROOM:,}. Ask for fewer clusters or columns. Nothing "
            "was asked or spent."
        )


def beyond_limits(cost: Cost) -> str | None:
    """Return which limits a cost exceeds and how to raise them; None if it exceeds none."""
    allowed = current_limits()
    limits, in_python, elsewhere = [], [], []
    if cost.seconds > 60 * allowed.minutes:
        enough = _typed(cost.seconds / 60)
        limits.append(f"{allowed.minutes:,.10g} minutes")
        in_python.append(f"minutes={enough}")
        elsewhere.append(f"{MINUTES_VARIABLE}={enough}")
    if cost.memory > allowed.memory:
        enough = _typed(cost.memory / GIB)
        limits.append(spoken_memory(allowed.memory))
        in_python.append(f'memory="{enough} GiB"')
        elsewhere.append(f"{MEMORY_VARIABLE}={enough}GiB")
    if not limits:
        return None
    return (
        f"The limit is {' and '.join(limits)}. If you mean it, raise it by 'with privclust.limits("
        f"{', '.join(in_python)}):' in Python, or by {' '.join(elsewhere)} in the environment of a "
        "command."
    )


def spoken_cost(cost: Cost) -> str:
    """Return the cost in words.

    Examples
    --------
    >>> spoken_cost(Cost(90.0, 2e-6, 2e9, 5e6, 1e6))
    'about 90 seconds of computing and 1.9 GiB of memory whatever the number of rows (5.0 million \
numbers get noise), and 2 seconds more for each million rows'
    """
    words = f"about {spoken(cost.seconds)} of computing and {spoken_memory(cost.memory)} of memory"
    if not cost.numbers:
        return words
    return (
        f"{words} whatever the number of rows ({_count(cost.numbers)} numbers get noise), and "
        f"{spoken(1e6 * cost.row_seconds)} more for each million rows"
    )


def start_cost(n_points: int, most: int, n_columns: int) -> Cost:
    """Return what it costs to turn public points into a start of at most `most`."""
    kept = float(min(n_points, most))
    seconds = 3e-9 * kept**2 * n_columns
    if n_points > most:
        seconds += kmeans_seconds(n_points, most, n_columns, 10)
    return _total([], seconds, 16 * kept**2 + 48.0 * n_points * n_columns)


@cost_of.register
def _of_private_kmeans(plan: PrivateKMeansPlan) -> Cost:
    k, d = float(plan.n_clusters), float(plan.n_columns)
    cells = _cells(plan)
    p = float(min(plan.n_columns, MOST_COMPONENTS)) if plan.projects else d
    measured = [
        Measured(d + 2, 1, d, LOOKS, passes=1),
        # Cells double from step to step, each measured twice: together four to six times the last.
        Measured(cells * (p + 2), cells, p, 5, passes=0),
        Measured(k * (d + 2), k, d, STEPS_MAX if plan.projects else 4, passes=FULL_STEPS),
        Measured(k, k, d),
    ]
    if plan.projects:
        measured.append(Measured(cells * (d + 2), cells, d, passes=0))
    if plan.spending.slots[0].name == _scale.SLOT:
        measured.append(Measured(_scale.BINS * d, 1, d))
    return _total(
        measured, kmeans_seconds(cells + POINTS, k, p, STARTS), 32 * (cells + POINTS) * (p + d)
    )


@cost_of.register
def _of_seeded_kmeans(plan: SeededPlan) -> Cost:
    known, points = plan.private_kmeans, float(len(plan.start.points))
    k, d = float(known.n_clusters), float(known.n_columns)
    cells = max(_cells(known), points)
    measured = [
        Measured(d + 2, 1, d),
        Measured(points * (d + 2), points, d, passes=0),
        Measured(cells * (d + 2), cells, d, passes=0),
        Measured(k * (d + 2), k, d, 2),
        Measured(k, k, d),
    ]
    coreset = cells + POINTS
    if points != k:
        return _total(measured, kmeans_seconds(coreset, k, d, STARTS), 32 * coreset * d)
    swap = 3e-9 * coreset * (coreset + k) * d
    # Where rows are as last time few centres are swapped; one in ten is many.
    return _total(measured, (1 + k / 10) * swap, 48 * coreset * max(coreset, k) + 32 * coreset * d)


@cost_of.register
def _of_lloyd(plan: LloydPlan) -> Cost:
    k, d = float(plan.n_clusters), float(plan.n_columns)
    rounds = sum(slot.name != "count" for slot in plan.spending.slots)
    in_box = math.sqrt(float((plan.half_widths**2).sum())) <= 1 + 1e-9
    packing = _box_packing(k, d) if in_box else _packing(k, d)
    return _total([Measured(k * (d + 1), k, d, rounds)], packing, 32 * k * d)


@cost_of.register
def _of_lsh_coreset(plan: LSHCoresetPlan) -> Cost:
    k, d = float(plan.n_clusters), float(plan.n_columns)
    leaves = float(min(lsh_coreset.LEAVES_MAX, lsh_coreset.COORDINATES_MAX // (plan.n_columns + 1)))
    leaves = max(leaves, 1.0)
    depth = lsh_coreset.DEPTH
    free = kmeans_seconds(leaves + k, k, d, lsh_coreset.STARTS) + _packing(k, d)
    # Few cells are cut as far as the last levels, unless there are more clusters than rows.
    levels = Measured(leaves, depth, d / depth, depth)
    return _total([levels, Measured(leaves * (d + 1), depth, d)], free, 32 * (leaves + k) * d)


@cost_of.register
def _of_balcan_kmeans(plan: BalcanPlan) -> Cost:
    k, d = float(plan.n_clusters), float(plan.n_columns)
    axes = balcan_kmeans.axes_for(plan.n_columns, plan.n_rows or 2**62)
    cubes = min(CUBES_PER_CLUSTER * k, CUBES_MAX)
    levels = balcan_kmeans.PARTITIONS * plan.depth
    measured = [
        Measured(2**axes * max(cubes, 2**axes), 1, axes, levels),
        Measured(CHOICES_MAX, k + CHOICES_MAX, axes, plan.swaps),
        Measured(plan.swaps, plan.swaps * k, axes),
        Measured(k * (d + 1), k, d, 1 + balcan_kmeans.LLOYD_ROUNDS),
        Measured(balcan_kmeans.LLOYD_ROUNDS, balcan_kmeans.LLOYD_ROUNDS * k, d),
    ]
    return _total(measured, 0.0, 48 * k * d + 16 * plan.swaps * k * axes)


@cost_of.register
def _of_pe_means(plan: PEMeansPlan) -> Cost:
    k, d = float(plan.n_clusters), float(plan.n_columns)
    # HDPE-means measures sums at the end, and the votes before in a projection.
    projects = plan.spending.slots[-1].name == "sums"
    p = float(hdpe_means.COMPONENTS) if projects else d
    rows = 5 * POPULATION_MAX if plan.n_rows is None else plan.n_rows
    candidates = max(min(rows // 5, POPULATION_MAX), VARIATIONS_MIN * k) + k
    # Noise makes half of all votes negative, which ends their candidacy.
    free = _packing(candidates, p) + plan.rounds * kmeans_seconds(max(candidates / 2, k), k, p, 10)
    measured = [Measured(candidates, candidates, p, plan.rounds)]
    if projects:
        measured.append(Measured(k * (d + 1), k, d))
    return _total(measured, free, 48 * candidates * p + 8 * k * d)


@cost_of.register
def _of_feddp_kmeans(plan: FedDPPlan) -> Cost:
    k, d, server = float(plan.n_clusters), float(plan.n_columns), float(len(plan.server))
    p = min(k, d)
    candidates = server if server >= k else max(server + k, feddp_kmeans.STAND_INS * k)
    packing = 0.0 if server >= k else _packing(candidates, p)
    measured = [
        Measured(candidates, candidates, p),
        Measured(k * (d + 1), k, d, 1 + plan.rounds),
    ]
    free, arrays = kmeans_seconds(candidates, k, p, 10) + packing, 48 * candidates * p
    if plan.projects:
        pairs = d * (d + 1) / 2
        measured.append(Measured(pairs, 1, pairs / 4))
        free += 3e-9 * d**3
        arrays += 64 * d**2
    return _total(measured, free, arrays)


@cost_of.register
def _of_profile(plan: ProfilePlan) -> Cost:
    k, d = map(float, plan.tallies.centers.shape)
    asked = [Measured(plan.tallies.size, k, d + len(plan.tallies.n_places))]
    if plan.sums is not None:
        asked.append(Measured(plan.sums.size, k, d + plan.sums.n_values))
    return _total(asked)


def _cells(plan: PrivateKMeansPlan) -> float:
    """Return the cells that rows are split into: fewer where a typed number of rows is small."""
    wanted = float(max(CELLS_PER_CLUSTER * plan.n_clusters, plan.max_clusters))
    if plan.n_rows is not None:
        wanted = min(wanted, plan.n_rows * plan.spending.reserve.mu / ROWS_PER_CELL)
    return max(wanted, 2.0 * plan.n_clusters)


def _total(measured: list[Measured], free: float = 0.0, arrays: float = 0.0) -> Cost:
    """Add up queries, what is done with their results, and the arrays that takes."""
    numbers = sum(query.times * query.size for query in measured)
    largest = max((query.size for query in measured), default=0.0)
    sent = max((8 * query.candidates * query.width for query in measured), default=0.0)
    return Cost(
        seconds=NOISE_SECONDS * numbers + free,
        row_seconds=sum(map(_row_seconds, measured)),
        memory=RESULT_BYTES * largest + KEPT_BYTES * numbers + arrays,
        numbers=numbers,
        largest=largest,
        sent=sent,
    )


def _row_seconds(query: Measured) -> float:
    passes = query.times if query.passes is None else query.passes
    per_number = NUMBER_SECONDS + query.candidates * PRODUCT_SECONDS
    return passes * (ROW_SECONDS + query.width * per_number)


def kmeans_seconds(points: float, k: float, width: float, starts: int) -> float:
    """Return the seconds of weighted k-means, which takes more rounds with more points a centre."""
    points = max(points, k)
    rounds = 1 + math.log2(points / k) / 4
    return starts * k * (0.25e-3 + points * rounds * (60 + 4 * width) * 1e-9)


def _packing(points: float, width: float) -> float:
    return points**2 * (40 + 0.1 * width) * 1e-9


def _box_packing(points: float, width: float) -> float:
    return points * (1e-3 + points * (100 + 3 * width) * 1e-9)


def _count(number: float) -> str:
    for name, unit in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if number >= unit:
            return f"{number / unit:,.1f} {name}"
    return f"{number:,.0f}"


def _typed(value: float) -> str:
    """Return a whole number at least as large, with two digits that count."""
    whole = math.ceil(value)
    power = 10 ** max(0, len(str(whole)) - 2)
    return str(-(-whole // power) * power)
