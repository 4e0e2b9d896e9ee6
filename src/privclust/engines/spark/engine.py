"""Tables of Spark: queries summed by Spark's workers, on classic Spark and Spark Connect alike.

Of pyspark only methods of what the user hands over are called, so that nobody else needs it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from privclust.domains.base import Domain
from privclust.engines._types import check_columns
from privclust.engines.base import Engine, Table
from privclust.engines.exact_sums import ExactSums
from privclust.engines.memory import GridTable, NumpyEngine
from privclust.engines.sampling import later_key
from privclust.engines.spark._logs import silenced
from privclust.engines.spark._tasks import (
    GRID_ROWS,
    SAMPLE,
    SUMS,
    Reader,
    Reading,
    added_up,
    brought_to_grid,
    drawn,
    merged,
    summed,
    units_drawn,
    units_summed,
)
from privclust.kernels.cores import available_cores
from privclust.queries.base import Query
from privclust.queries.unit import ROW, Unit
from privclust.sources.guard import guarded
from privclust.sources.schema import Schema

MERGERS = 8
"""So many tasks at most add up the sums of all others, and the driver adds up theirs."""


@dataclass(frozen=True, eq=False)
class SparkTable(Table):
    """A table that Spark reads.

    Attributes
    ----------
    declared : Schema
        What Spark says of its columns.
    partitions : int
        Into how many parts Spark cuts a table: its setting ``spark.sql.shuffle.partitions``.
    opened : callable
        From names of columns to a frame, and how its tasks find these columns there.
    """

    labelled_by = (
        "rows in Spark are labelled by Spark: fit, and call model.predict on the frames that "
        "DataFrame.mapInPandas hands over (docs/spark.md)."
    )
    declared: Schema
    partitions: int
    opened: Callable[[Sequence[str]], tuple[Any, Reader]]

    @property
    def schema(self) -> Schema:
        """Names and types of its columns, which are public."""
        return self.declared

    def open_engine(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> Engine:
        """Return an engine over these columns, or refuse them before anything is charged."""
        check_columns(self.declared, columns, domain, unit)
        names = columns or ()
        if unit.column is None:
            return SparkEngine(self, names, domain)
        return SparkUnitsEngine(self, names, domain, unit)


class SparkEngine:
    """Sums queries over a table of Spark, read again for each of them; every row is a unit.

    Parameters
    ----------
    table : SparkTable
        How Spark reads it.
    columns : sequence of str
        The columns to cluster, in the order of the domain.
    domain : Domain
        What the user declares about the values.
    """

    unit = ROW

    def __init__(self, table: SparkTable, columns: Sequence[str], domain: Domain) -> None:
        self.n_columns = domain.center.size
        self._table = table
        self._columns = list(columns)
        self._domain = domain
        self._turn = 0

    @guarded
    def aggregate(self, query: Query) -> ExactSums:
        """Return the sum of the query's contributions over all rows."""
        with silenced():
            frame, reading = self._opened()
            sums = frame.mapInArrow(partial(summed, reading=reading, query=query), SUMS)
            return _added_up(sums, self._table.partitions, query.size)

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare: a sample is drawn in a pass of its own."""

    def sample(self, sampling_exponent: int, key: bytes) -> NumpyEngine:
        """Return an engine over some of the rows, each in or out by a bit that `key` decides."""

        def load() -> GridTable:
            # Read anew, the table may come in another order: its rows then have other bits.
            secret = later_key(key, self._turn)
            self._turn += 1
            with silenced():
                frame, reading = self._opened()
                task = partial(
                    drawn, reading=reading, sampling_exponent=sampling_exponent, key=secret
                )
                sample = frame.mapInArrow(task, SAMPLE).toArrow()
                return _together(sample, self.n_columns, ROW)

        return NumpyEngine.holding(load, self.n_columns, ROW, available_cores())

    def _opened(self) -> tuple[Any, Reading]:
        frame, reader = self._table.opened(self._columns)
        return frame, Reading(reader, self._columns, self._domain)


class SparkUnitsEngine:
    """Sums queries over all rows of each id together, wherever in the table they lie.

    On first use rows are brought to the grid and together by id, once, and kept by Spark until
    the engine is no longer used.

    Parameters
    ----------
    table : SparkTable
        How Spark reads the table.
    columns : sequence of str
        The columns to cluster, in the order of the domain.
    domain : Domain
        What the user declares about the values.
    unit : Unit
        Whose rows count as one.
    """

    def __init__(
        self, table: SparkTable, columns: Sequence[str], domain: Domain, unit: Unit
    ) -> None:
        self.n_columns = domain.center.size
        self.unit = unit
        self._table = table
        self._columns = list(columns)
        self._domain = domain
        self._kept: Any = None

    @guarded
    def aggregate(self, query: Query) -> ExactSums:
        """Return the sum of what all units contribute to the query."""
        task = partial(units_summed, n_columns=self.n_columns, unit=self.unit, query=query)
        with silenced():
            sums = self._by_unit().mapInArrow(task, SUMS)
            return _added_up(sums, self._table.partitions, query.size)

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare: a unit's inclusion bit follows from its id."""

    def sample(self, sampling_exponent: int, key: bytes) -> NumpyEngine:
        """Return an engine over some of the units, each in or out by a bit that `key` decides."""

        def load() -> GridTable:
            task = partial(
                units_drawn, n_columns=self.n_columns, sampling_exponent=sampling_exponent, key=key
            )
            with silenced():
                sample = self._by_unit().mapInArrow(task, SAMPLE).toArrow()
            return _together(sample, self.n_columns, self.unit)

        return NumpyEngine.holding(load, self.n_columns, self.unit, available_cores())

    def _by_unit(self) -> Any:
        if self._kept is None:
            column = str(self.unit.column)
            frame, reader = self._table.opened([*self._columns, column])
            reading = Reading(reader, self._columns, self._domain)
            rows = frame.mapInArrow(
                partial(brought_to_grid, reading=reading, column=column), GRID_ROWS
            )
            # With a number given, Spark neither joins nor splits parts: no unit is torn.
            self._kept = rows.repartition(self._table.partitions, "id").persist()
            weakref.finalize(self, _release, self._kept).atexit = False
        return self._kept


def _release(frame: Any) -> None:
    with suppress(Exception):  # the session may have ended before
        frame.unpersist()


def _added_up(sums: Any, partitions: int, size: int) -> ExactSums:
    """Add up one cell per task in a tree: many tasks, a few, the driver."""
    few = sums.repartition(min(MERGERS, partitions)).mapInArrow(merged, SUMS)
    found = added_up(cell for (cell,) in few.collect())
    return ExactSums(size) if found is None else found


def _together(sample: Any, n_columns: int, unit: Unit) -> GridTable:
    """Put sampled rows together, which came as an Arrow table.

    Spark's JVM passes its batches on; of what `collect` fetches it would hold all rows at once.
    """
    rows, starts, size = [np.empty((0, n_columns), np.int32)], [np.empty(0, np.int64)], 0
    for packed, begins in zip(*sample.columns, strict=True):
        rows.append(np.frombuffer(packed.as_buffer(), np.int32).reshape(-1, n_columns))
        if begins.is_valid:
            starts.append(np.frombuffer(begins.as_buffer(), np.int64) + size)
        size += len(rows[-1])
    together = np.concatenate(rows)
    return (
        GridTable(together) if unit.column is None else GridTable(together, np.concatenate(starts))
    )
