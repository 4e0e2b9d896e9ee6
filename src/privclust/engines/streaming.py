"""Rows outside memory: read as Arrow batches, once more for each query, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privclust.domains.base import Domain
from privclust.engines._summing import on_all_cores, total
from privclust.engines.memory import GridTable, NumpyEngine
from privclust.engines.sampling import Reserve, included, later_key, row_words
from privclust.engines.units import GRID_BATCH_ROWS, Batch
from privclust.queries.base import Count, Query
from privclust.queries.unit import ROW
from privclust.sources._reading import on_grid
from privclust.sources.guard import guarded
from privclust.sources.streams import Source

RESERVE_BYTES = 2**26
"""Rows set aside for a sample while another query is summed take no more memory than this."""


class _Part(NamedTuple):
    """What a batch adds to the sum; its rows that may be in the sample, with their words."""

    sums: NDArray[np.object_]
    n_read: int
    words: NDArray[np.uint32]
    rows: NDArray[np.int32]


class ArrowEngine:
    """Sums queries over a table that is read again for each of them; every row is a unit.

    Parameters
    ----------
    source : Source
        How to read it.
    columns : sequence of str
        The columns to cluster, in the order of the domain.
    domain : Domain
        What the user declares about the values.
    threads : int, optional
        Worker threads; by default one per core. The result does not depend on it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from privclust.domains.ball import Ball
    >>> from privclust.sources.streams import source_of
    >>> source = source_of(lambda: pa.table({"age": [40, 50]}))
    >>> ArrowEngine(source, ["age"], Ball([60.0], 60.0)).aggregate(Count())[0] // 2**26
    2
    """

    unit = ROW

    def __init__(
        self, source: Source, columns: Sequence[str], domain: Domain, threads: int | None = None
    ) -> None:
        self.n_columns = domain.center.size
        self._source = source
        self._columns = list(columns)
        self._domain = domain
        self._threads = threads or os.cpu_count() or 1
        self._key: bytes | None = None
        self._reserve: Reserve | None = None
        self._turn = 0

    @guarded
    def aggregate(self, query: Query) -> list[int]:
        """Return the sum of the query's contributions over all rows, as Python integers."""
        if self._turn or self._key is None:
            return self._pass(query, None)
        reserve = self._new_reserve(self._key, 0, RESERVE_BYTES // (4 * self.n_columns))
        found = self._pass(query, reserve)
        self._reserve = reserve
        return found

    def expect_sample(self, key: bytes) -> None:
        """Set rows aside while the next query is summed, to save a sample from reading anew."""
        self._key, self._reserve = key, None

    def sample(self, sampling_exponent: int, key: bytes) -> NumpyEngine:
        """Return an engine over some of the rows, each in or out by a bit that `key` decides."""

        def drawn() -> GridTable:
            reserve, self._reserve = self._reserve, None  # for one sample only
            if key != self._key or reserve is None or reserve.sampling_exponent > sampling_exponent:
                reserve = self._new_reserve(key, sampling_exponent, None)
                self._pass(Count(), reserve)
            return GridTable(reserve.drawn(sampling_exponent))

        return NumpyEngine.holding(drawn, self.n_columns, ROW, self._threads)

    def _new_reserve(self, key: bytes, sampling_exponent: int, capacity: int | None) -> Reserve:
        # Read anew, the table may come in another order: its rows then have other bits.
        secret = later_key(key, self._turn)
        self._turn += 1
        return Reserve(secret, sampling_exponent, self.n_columns, capacity)

    def _pass(self, query: Query, reserve: Reserve | None) -> list[int]:
        """Read all rows once: add up the query, and fill the reserve."""

        def work(batch: tuple[Any, int, int]) -> _Part:
            cells, start, sampling_exponent = batch
            if reserve is None:
                words = np.empty(0, dtype=np.uint32)
                chosen = np.zeros(cells.num_rows, dtype=bool)
            else:
                words = row_words(reserve.key, start, cells.num_rows)
                chosen = included(words, sampling_exponent)
                words = words[chosen]
            kept = []

            def read() -> Iterator[Batch]:
                for begin in range(0, cells.num_rows, GRID_BATCH_ROWS):
                    rows = on_grid(self._domain, cells.slice(begin, GRID_BATCH_ROWS), self._columns)
                    kept.append(rows[chosen[begin : begin + GRID_BATCH_ROWS]].astype(np.int32))
                    yield Batch(rows, None)

            sums = total(query, ROW, read())
            return _Part(sums, cells.num_rows, words, np.concatenate(kept))

        found = np.zeros(query.size, dtype=object)
        for part in on_all_cores(work, self._batches(reserve), self._threads):
            found += part.sums
            if reserve is not None:
                reserve.add(*part[1:])
        return [int(value) for value in found]

    def _batches(self, reserve: Reserve | None) -> Iterator[tuple[Any, int, int]]:
        start = 0
        for cells in self._source.batches(self._columns):
            yield cells, start, 0 if reserve is None else reserve.sampling_exponent
            start += cells.num_rows
