"""One measurement: how much noise, and exact sums that are gone before anything else happens."""

from __future__ import annotations

import math
from collections.abc import Callable

from privclust.engines.base import Engine
from privclust.engines.exact_sums import clamped
from privclust.kernels.grid import IntArray
from privclust.privacy.accounting import QUANTA
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.records import StoredResult
from privclust.queries.base import Query, Sensitivity
from privclust.sources.guard import guarded

_ROUND_UP = 1 + 2.0**-50


@guarded
def stored_result(
    engine: Engine,
    query: Query,
    draw: Callable[[IntArray], IntArray],
    store: Callable[[IntArray], StoredResult],
) -> StoredResult | str:
    """Sum, add noise and store; return what is stored, or why it could not be."""
    # Guarded as a whole: no frame that holds the exact sum outlives this call, whatever fails.
    # Nor one with a result that was not stored: measured again, its slot would give another.
    exact = clamped(engine.aggregate(query))
    if exact.shape != (query.size,):
        raise ValueError  # one coordinate more would be a release that nobody planned
    noisy = draw(exact)
    try:
        return store(noisy)
    except LedgerError as error:
        return str(error)


def sigma_of(bounds: Sensitivity, quanta: int) -> float:
    """Return the noise by which what a unit changes is hidden at mu² = `quanta`, rounded up."""
    return round_up(math.sqrt(bounds.l2_squared * QUANTA / quanta))


def round_up(value: float) -> float:
    """Return a number that is not below the value, of which it was rounded to nearest."""
    return value * _ROUND_UP
