"""Rows in memory: an array or a frame, and samples drawn from larger tables."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from privclust.domains.base import Domain
from privclust.engines._summing import on_all_cores, total
from privclust.engines.exact_sums import ExactSums
from privclust.engines.sampling import included, row_words, unit_words
from privclust.engines.units import GRID_BATCH_ROWS, GridRows, split_batches
from privclust.kernels.cores import available_cores
from privclust.kernels.grid import IntArray
from privclust.queries.base import Query
from privclust.queries.unit import ROW, Unit
from privclust.sources.cells import by_unit
from privclust.sources.frames import read_ids, rows_on_grid
from privclust.sources.guard import guarded

TASKS_PER_CORE = 4
"""Few, so that cores wait for the interpreter's lock as rarely as may be; not one, so that none is
idle for long while the last one works."""


@dataclass(frozen=True, eq=False)
class GridTable:
    """Rows on the grid, in the order of their units: where each unit starts, and its id."""

    rows: GridRows
    starts: IntArray | None = None
    ids: Any = None

    def drawn(self, sampling_exponent: int, key: bytes) -> GridTable:
        """Return the rows of the units that are included."""
        if self.starts is None:
            return GridTable(
                self.rows[included(row_words(key, 0, len(self.rows)), sampling_exponent)]
            )
        chosen = included(unit_words(key, self.ids), sampling_exponent)
        counts = np.diff(np.append(self.starts, len(self.rows)))
        kept = counts[chosen]
        rows = self.rows[np.repeat(chosen, counts)]
        return GridTable(rows, np.cumsum(kept) - kept, self.ids.filter(chosen))


class NumpyEngine:
    """Sums queries over the rows of an array or frame.

    Rows are mapped to the grid on first use, inside `aggregate`, and kept as 32-bit integers.

    Parameters
    ----------
    rows : array or frame of shape (n, d)
        Numbers of any real type (`privclust.sources.frames`). Never touched outside `aggregate`.
    domain : Domain
        What the user declares about the values.
    threads : int, optional
        Worker threads; by default one per core. The result does not depend on it.
    unit : Unit
        Whose rows count as one; with a column of ids, `rows` has that column too.

    Examples
    --------
    >>> from privclust.domains.ball import Ball
    >>> from privclust.queries.base import Count
    >>> engine = NumpyEngine(np.zeros((5, 2)), Ball([0.0, 0.0], 1.0))
    >>> engine.aggregate(Count())[0] // 2**26
    5
    """

    def __init__(
        self, rows: Any, domain: Domain, threads: int | None = None, unit: Unit = ROW
    ) -> None:
        self.n_columns = domain.center.size
        self.unit = unit
        self._threads = threads or available_cores()
        self._load: Callable[[], GridTable] = partial(read_table, rows, domain, unit, self._threads)
        self._table: GridTable | None = None

    @classmethod
    def holding(
        cls, load: Callable[[], GridTable], n_columns: int, unit: Unit, threads: int
    ) -> NumpyEngine:
        """Return an engine over rows that `load` returns on first use."""
        engine = cls.__new__(cls)
        engine.n_columns, engine.unit, engine._threads = n_columns, unit, threads
        engine._load, engine._table = load, None
        return engine

    @guarded
    def aggregate(self, query: Query) -> ExactSums:
        """Return the sum of what all units contribute to the query."""
        table = self._loaded()
        batches = list(split_batches(table.rows, table.starts))
        at_once = math.ceil(len(batches) / (TASKS_PER_CORE * self._threads)) or 1
        tasks = [batches[start : start + at_once] for start in range(0, len(batches), at_once)]
        found = ExactSums(query.size)
        for sums in on_all_cores(partial(total, query, self.unit), tasks, self._threads):
            found += sums
        return found

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare: rows are in memory."""

    def sample(self, sampling_exponent: int, key: bytes) -> NumpyEngine:
        """Return an engine over some of the units, each in or out by a bit that `key` decides."""
        return NumpyEngine.holding(
            lambda: self.drawn(sampling_exponent, key), self.n_columns, self.unit, self._threads
        )

    def drawn(self, sampling_exponent: int, key: bytes) -> GridTable:
        """Return the rows of a sample; only an engine calls this."""
        return self._loaded().drawn(sampling_exponent, key)

    def write(self, file: Path) -> None:
        """Write the rows into a new file, whole or not at all, for this user's eyes only.

        Ids are not written, so what is read again cannot be sampled by unit.
        """
        table = self._loaded()
        unfinished = file.with_name(f"{file.name}.part")
        with open(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as opened:
            np.save(opened, table.rows.astype(np.int32, copy=False))
            np.save(opened, np.zeros(0) if table.starts is None else table.starts)
        unfinished.replace(file)

    def read_from(self, file: Path) -> NumpyEngine:
        """Return an engine over the rows that `write` put into a file, in place of its own."""

        def load() -> GridTable:
            with file.open("rb") as opened:
                rows, starts = np.load(opened), np.load(opened)
            return GridTable(rows, None if self.unit.column is None else starts)

        return NumpyEngine.holding(load, self.n_columns, self.unit, self._threads)

    def _loaded(self) -> GridTable:
        if self._table is None:
            self._table = self._load()
        return self._table


def read_table(table: Any, domain: Domain, unit: Unit, threads: int = 1) -> GridTable:
    """Return all rows of a table in memory on the grid; only an engine calls this."""
    rows = np.empty((len(table), domain.center.size), dtype=np.int32)

    def read(start: int) -> None:
        stop = start + GRID_BATCH_ROWS
        rows[start:stop] = rows_on_grid(table, start, stop, domain, unit.column)

    # At least one piece, so that a table of the wrong shape fails whether or not it has rows.
    starts = range(0, max(1, len(table)), GRID_BATCH_ROWS)
    for _ in on_all_cores(read, starts, threads):
        pass
    if unit.column is None:
        return GridTable(rows)
    order, unit_starts, ids = by_unit(read_ids(table, unit.column))
    return GridTable(rows[order], unit_starts, ids)
