"""Rows outside memory: read as Arrow batches in constant memory, anew for each query if many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privclust.domains.base import Domain
from privclust.engines._summing import on_all_cores, total
from privclust.engines.exact_sums import ExactSums
from privclust.engines.memory import GridTable, NumpyEngine
from privclust.engines.sampling import Reserve, SampleRows, included, later_key, row_words
from privclust.engines.units import GRID_BATCH_ROWS, Batch
from privclust.kernels.cores import available_cores
from privclust.queries.base import Count, Query
from privclust.queries.unit import ROW
from privclust.sources._reading import on_grid
from privclust.sources.guard import guarded
from privclust.sources.streams import Source

RESERVE_BYTES = 2**26
"""Rows set aside for a sample while another query is summed take no more memory than this."""
TASK_ROWS = 4 * GRID_BATCH_ROWS
"""What a core works on at a time: less than a batch that is read, which may be all there is."""


class _Part(NamedTuple):
    """What a batch adds to the sum; its rows that may be in the sample, with their words."""

    sums: ExactSums
    n_read: int
    words: NDArray[np.uint32]
    rows: NDArray[np.int32]


class ArrowEngine:
    """Sums queries over a table that is read again for each of them; every row is a unit.

    If the rows set aside while the first query is summed turn out to be all of them, they are kept:
    so small a table is read once.

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
        self._threads = threads or available_cores()
        self._key: bytes | None = None
        self._reserve: Reserve | None = None
        self._whole: NumpyEngine | None = None
        self._turn = 0

    @guarded
    def aggregate(self, query: Query) -> ExactSums:
        """Return the sum of the query's contributions over all rows."""
        if self._whole is not None:
            return self._whole.aggregate(query)
        if self._turn or self._key is None:
            return self._pass(query, None)
        capacity = RESERVE_BYTES // (4 * self.n_columns)
        reserve = Reserve(self._next_key(self._key), 0, self.n_columns, capacity)
        found = self._pass(query, reserve)
        self._reserve = reserve
        rows = reserve.whole()
        if rows is not None:
            self._whole = self._over(lambda: GridTable(rows))
        return found

    def expect_sample(self, key: bytes) -> None:
        """Set rows aside while the next query is summed, to save a sample from reading anew."""
        self._key, self._reserve = key, None

    def sample(self, sampling_exponent: int, key: bytes) -> NumpyEngine:
        """Return an engine over some of the rows, each in or out by a bit that `key` decides."""

        def drawn() -> GridTable:
            reserve, self._reserve = self._reserve, None  # for one sample only
            if key != self._key or reserve is None or reserve.sampling_exponent > sampling_exponent:
                return self._drawn_anew(sampling_exponent, self._next_key(key))
            return GridTable(reserve.drawn(sampling_exponent))

        return self._over(drawn)

    def _drawn_anew(self, sampling_exponent: int, secret: bytes) -> GridTable:
        if self._whole is not None:
            return self._whole.drawn(sampling_exponent, secret)
        some = SampleRows(secret, sampling_exponent, self.n_columns)
        self._pass(Count(), some)
        return GridTable(some.drawn())

    def _over(self, load: Callable[[], GridTable]) -> NumpyEngine:
        return NumpyEngine.holding(load, self.n_columns, ROW, self._threads)

    def _next_key(self, key: bytes) -> bytes:
        # Read anew, the table may come in another order: its rows then have other bits.
        secret = later_key(key, self._turn)
        self._turn += 1
        return secret

    def _pass(self, query: Query, reserve: Reserve | SampleRows | None) -> ExactSums:
        """Read all rows once: add up the query, and keep those that may be in the sample."""

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

        found = ExactSums(query.size)
        for part in on_all_cores(work, self._batches(reserve), self._threads):
            found += part.sums
            if reserve is not None:
                reserve.add(*part[1:])
        return found

    def _batches(self, reserve: Reserve | SampleRows | None) -> Iterator[tuple[Any, int, int]]:
        start = 0
        for arrived in self._source.batches(self._columns):
            for begin in range(0, arrived.num_rows, TASK_ROWS):
                cells = arrived.slice(begin, TASK_ROWS)
                yield cells, start, 0 if reserve is None else reserve.sampling_exponent
                start += cells.num_rows
