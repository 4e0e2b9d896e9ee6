"""Rows in memory: an array or a frame."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from privclust.domain import Domain, to_unit_grid
from privclust.engines.base import bounded_sum, guarded
from privclust.engines.frames import read_rows
from privclust.engines.sampling import heads
from privclust.geometry.grid import IntArray
from privclust.queries import Query

CHUNK_ROWS = 8192

GridRows = NDArray[np.int32]


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
        self._load: Callable[[], list[GridRows]] = self._mapped
        self._chunks: list[GridRows] | None = None

    @guarded
    def aggregate(self, query: Query) -> list[int]:
        """Return the sum of the query's contributions over all rows, as Python integers."""

        def partial(chunk: GridRows) -> IntArray:
            with np.errstate(all="ignore"):
                return bounded_sum(query, query.contribute(chunk.astype(np.float64)))

        total = np.zeros(query.size, dtype=object)
        # One BLAS thread each: the pool already keeps every core busy.
        with self._blas.limit(limits=1), ThreadPoolExecutor(self._threads) as pool:
            for sums in pool.map(partial, self._loaded()):
                total += sums
        return [int(value) for value in total]

    def sample(self, halvings: int, key: bytes) -> NumpyEngine:
        """Return an engine over some of the rows, each in or out by a coin that `key` decides."""

        def drawn() -> list[GridRows]:
            parts = [
                chunk[heads(key, block, len(chunk), halvings)]
                for block, chunk in enumerate(self._loaded())
            ]
            rows = np.concatenate(parts)
            return [rows[start : start + CHUNK_ROWS] for start in _starts(rows)]

        some = NumpyEngine(self._rows, self._domain, self._threads)
        some._load = drawn
        return some

    def _loaded(self) -> list[GridRows]:
        if self._chunks is None:
            self._chunks = self._load()
        return self._chunks

    def _mapped(self) -> list[GridRows]:
        return [
            to_unit_grid(self._domain, read_rows(self._rows, start, start + CHUNK_ROWS)).astype(
                np.int32
            )
            for start in _starts(self._rows)
        ]


def _starts(rows: Any) -> range:
    # At least one chunk, so that a table of the wrong shape fails whether or not it has rows.
    return range(0, max(1, len(rows)), CHUNK_ROWS)
