"""Adding up batches on all cores, exactly."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from itertools import islice
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from privclust.engines.exact_sums import ExactSums
from privclust.engines.units import Batch, batch_sum
from privclust.queries.base import Query
from privclust.queries.unit import Unit

Item = TypeVar("Item")
Result = TypeVar("Result")

_BATCHES_AT_ONCE = 64
"""64 batches of 2^13 units of at most 2^41 add up to less than 2^63."""


def on_all_cores(
    work: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Work on items in parallel and yield results in order, taking few items ahead of time.

    Examples
    --------
    >>> list(on_all_cores(abs, [-1, -2, 3], threads=2))
    [1, 2, 3]
    """
    waiting: deque[Future[Result]] = deque()

    def quietly(item: Item) -> Result:
        with np.errstate(all="ignore"):
            return work(item)

    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        for item in items:
            waiting.append(pool.submit(quietly, item))
            del item  # rows, which no frame should hold when something fails
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def total(query: Query, unit: Unit, batches: Iterable[Batch]) -> ExactSums:
    """Add up batches."""
    found = ExactSums(query.size)
    remaining = iter(batches)
    while some := list(islice(remaining, _BATCHES_AT_ONCE)):
        sums = np.zeros(query.size, dtype=np.int64)
        for batch in some:
            sums += batch_sum(query, unit, batch)
        found += sums
    return found


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread for a while: others already keep every core busy."""
    limit: AbstractContextManager[object] = _blas().limit(limits=1)
    return limit


@cache
def _blas() -> ThreadpoolController:
    # Kept, because looking for libraries takes milliseconds.
    return ThreadpoolController().select(user_api="blas")
