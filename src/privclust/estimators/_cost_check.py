"""Refuse what would take more computing or memory than the limits allow; docs/limits.md."""

from __future__ import annotations

import math
import warnings

from privclust.algorithms._cost import Cost
from privclust.engines.federated._request import SIZE_MAX
from privclust.engines.federated.wire import MESSAGE_MAX
from privclust.errors import CostError
from privclust.models.cost_limits import GIB, MEMORY_VARIABLE, MINUTES_VARIABLE, current_limits
from privclust.models.formatting import spoken, spoken_memory
from privclust.queries.unit import Unit

LONG_SECONDS = 60.0
"""Fits that take longer, whatever the number of rows, say so first."""
MESSAGE_MARGIN = 2**24
"""Bytes of a query beside what rows are compared with: columns, domain, radii, a projection."""


def check_cost(cost: Cost, subject: str = "this fit", unit: Unit | None = None) -> None:
    """Refuse what is beyond the limits, and say so if it will take long.

    With a `unit`, no result may have more numbers than its noise was proved for; with one of a
    federation, no more than a client responds with, and no query may be longer than a client reads.
    """
    if unit is not None and 0 < unit.l0 < cost.largest:
        raise CostError(
            f"{subject} measures up to {_count(cost.largest)} numbers at once, and with a unit "
            f"other than single rows at most {unit.l0:,} are allowed. Ask for fewer clusters "
            "or columns. Nothing was read or spent."
        )
    if unit is not None and unit.clients:
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
    """Refuse queries to which no client of a federation would respond."""
    if cost.largest > SIZE_MAX:
        raise CostError(
            f"{subject} measures up to {_count(cost.largest)} numbers at once, and clients of a "
            f"federation respond with at most {SIZE_MAX:,}. Ask for fewer clusters or columns. "
            "Nothing was measured or spent."
        )
    if cost.sent > MESSAGE_MAX - MESSAGE_MARGIN:
        raise CostError(
            f"{subject} sends clients queries of up to {_count(cost.sent)} bytes, and they read "
            f"at most {MESSAGE_MAX - MESSAGE_MARGIN:,}. Ask for fewer clusters or columns. Nothing "
            "was measured or spent."
        )


def beyond_limits(cost: Cost) -> str | None:
    """Return which limits a cost exceeds and how to raise them; None if it exceeds none."""
    allowed = current_limits()
    limits, in_python, in_environment = [], [], []
    if cost.seconds > 60 * allowed.minutes:
        enough = _typed(cost.seconds / 60)
        limits.append(f"{allowed.minutes:,.10g} minutes")
        in_python.append(f"minutes={enough}")
        in_environment.append(f"{MINUTES_VARIABLE}={enough}")
    if cost.memory > allowed.memory:
        enough = _typed(cost.memory / GIB)
        limits.append(spoken_memory(allowed.memory))
        in_python.append(f'memory="{enough} GiB"')
        in_environment.append(f"{MEMORY_VARIABLE}={enough}GiB")
    if not limits:
        return None
    return (
        f"The limit is {' and '.join(limits)}. If you mean it, raise it by 'with privclust.limits("
        f"{', '.join(in_python)}):' in Python, or by {' '.join(in_environment)} in the environment "
        "of a command."
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


def _count(number: float) -> str:
    for name, unit in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if number >= unit:
            return f"{number / unit:,.1f} {name}"
    return f"{number:,.0f}"


def _typed(value: float) -> str:
    """Return an integer at least as large, with two digits that count."""
    whole = math.ceil(value)
    power = 10 ** max(0, len(str(whole)) - 2)
    return str(-(-whole // power) * power)
