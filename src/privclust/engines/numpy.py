"""Rows in memory: an array or a frame."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from privclust.domain import Domain, to_unit_grid
from privclust.engines.base import bounded_sum, guarded
from privclust.engines.frames import read_rows
from privclust.geometry.grid import IntArray
from privclust.queries import Query

CHUNK_ROWS = 8192


class NumpyEngine:
    """Sums queries over the rows of an array.

    Rows are mapped to the grid on first use, inside `aggregate`, and kept as 32-bit whole numbers.

    Parameters
    ----------
    rows : array or frame of shape (n, d)
        Numbers of any real type (`privclust.engines.frames`). Never touched outside `aggregate`.
    domain : Domain
        What the user promises about the values.
    threads : int, optional
        Worker threads; by default one per core. The answer does not depend on it.

    Examples
    --------
    >>> from privclust.domain import Ball
    >>> from privclust.queries import Count
    >>> engine = NumpyEngine(np.zeros((5, 2)), Ball([0.0, 0.0], 1.0))
    >>> engine.aggregate(Count())[0] // 2**26
    5
    """

    def __init__(self, rows: Any, domain: Domain, threads: int | None = None) -> None:
        self.n_columns = domain.center.size
        self._rows = rows
        self._domain = domain
        self._threads = threads or os.cpu_count() or 1
        self._blas = ThreadpoolController().select(user_api="blas")
        self._grid: list[NDArray[np.int32]] | None = None

    @guarded
    def aggregate(self, query: Query) -> list[int]:
        """Return the sum of the query's contributions over all rows, as Python integers."""
        if self._grid is None:
            self._grid = [
                to_unit_grid(self._domain, chunk).astype(np.int32) for chunk in self._chunks()
            ]

        def partial(chunk: NDArray[np.int32]) -> IntArray:
            with np.errstate(all="ignore"):
                return bounded_sum(query, query.contribute(chunk.astype(np.float64)))

        total = np.zeros(query.size, dtype=object)
        # One BLAS thread each: the pool already keeps every core busy.
        with self._blas.limit(limits=1), ThreadPoolExecutor(self._threads) as pool:
            for sums in pool.map(partial, self._grid):
                total += sums
        return [int(value) for value in total]

    def _chunks(self) -> Iterator[NDArray[Any]]:
        # At least one chunk, so that a table of the wrong shape fails whether or not it has rows.
        for start in range(0, max(1, len(self._rows)), CHUNK_ROWS):
            yield read_rows(self._rows, start, start + CHUNK_ROWS)
