"""What Spark's workers do with rows: the kernel of all other engines, and a guard around it.

Each function takes the Arrow batches of one task and yields few; Spark keeps what a task yields
only if the task succeeds, once, however often it was tried. What a task yields follows from its
rows and from what is bound to it, so that an attempt more or less changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privclust.domains.base import Domain
from privclust.engines._packed import packed, unpacked
from privclust.engines._summing import one_blas_thread, total
from privclust.engines.exact_sums import ExactSums
from privclust.engines.sampling import included, row_words
from privclust.engines.units import GRID_BATCH_ROWS, Batch, split_batches
from privclust.kernels.grid import FloatArray, IntArray
from privclust.queries.base import Query
from privclust.queries.unit import ROW, Unit
from privclust.sources._reading import on_grid
from privclust.sources.cells import ids
from privclust.sources.files import read_part
from privclust.sources.found_files import File
from privclust.sources.guard import guarded

Arguments = ParamSpec("Arguments")

SUMS, SAMPLE, GRID_ROWS = "sums binary", "rows binary, starts binary", "id binary, row binary"
"""Columns that tasks yield."""
_PART_ROWS = 40
"""Bits of an address that count rows of one file or partition."""


def in_task(work: Callable[Arguments, Iterator[Any]]) -> Callable[Arguments, Iterator[Any]]:
    """Run a task so that nothing about its rows escapes but what it yields."""

    @wraps(work)
    def quiet(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Iterator[Any]:
        steps, step = work(*args, **kwargs), guarded(next)
        while (batch := step(steps, None)) is not None:
            yield batch

    return quiet


class Cells(NamedTuple):
    """Some rows as they were read, and the address of the first; the others follow it."""

    batch: Any
    address: int


class Reader(Protocol):
    """From a task's batches to its rows."""

    def cells(self, batches: Iterator[Any]) -> Iterator[Cells]:
        """Return the rows, a limited number at a time."""


@dataclass(frozen=True)
class FrameReader:
    """Rows are those of the batches themselves, whose columns are these, in order."""

    columns: Sequence[str]

    def cells(self, batches: Iterator[Any]) -> Iterator[Cells]:
        """Return the rows of this task's partition, numbered."""
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        address = context.partitionId() << _PART_ROWS
        for batch in batches:
            yield Cells(batch.rename_columns(list(self.columns)), address)
            address += batch.num_rows


@dataclass(frozen=True, eq=False)
class FilesReader:
    """Batches have numbers, each of which stands for a part of a Parquet file.

    Attributes
    ----------
    files : sequence of File
        What there is to read.
    parts : int
        Into how many parts each file is cut.
    columns : sequence of str
        What to read of them.
    """

    files: Sequence[File]
    parts: int
    columns: Sequence[str]

    def cells(self, batches: Iterator[Any]) -> Iterator[Cells]:
        """Read the parts."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                place, part = divmod(number, self.parts)
                for row, cells in read_part(self.files[place], self.columns, part, self.parts):
                    yield Cells(cells, (place << _PART_ROWS) + row)


@dataclass(frozen=True, eq=False)
class Reading:
    """How a task comes to rows on the grid.

    Attributes
    ----------
    reader : Reader
        Where rows are.
    columns : sequence of str
        Which of the reader's columns are clustered, in the order of the domain.
    domain : Domain
        What the user declares about the values.
    """

    reader: Reader
    columns: Sequence[str]
    domain: Domain

    def on_grid(self, cells: Any) -> FloatArray:
        """Map rows as they were read to the grid."""
        return on_grid(self.domain, cells, self.columns)


@in_task
def summed(batches: Iterator[Any], reading: Reading, query: Query) -> Iterator[Any]:
    """Add up what the rows of a task contribute."""

    def read() -> Iterator[Batch]:
        for cells, _ in reading.reader.cells(batches):
            for part in _pieces(cells):
                yield Batch(reading.on_grid(part), None)

    with one_blas_thread():
        yield as_cell(total(query, ROW, read()))


@in_task
def drawn(
    batches: Iterator[Any], reading: Reading, sampling_exponent: int, key: bytes
) -> Iterator[Any]:
    """Pick the rows that are included."""
    for cells, address in reading.reader.cells(batches):
        chosen = included(row_words(key, address, cells.num_rows), sampling_exponent)
        for part in _pieces(cells.filter(pa.array(chosen))):
            yield _sample(reading.on_grid(part).astype(np.int32), None)


@in_task
def brought_to_grid(batches: Iterator[Any], reading: Reading, column: str) -> Iterator[Any]:
    """Map rows to the grid, beside their ids."""
    for cells, _ in reading.reader.cells(batches):
        for part in _pieces(cells):
            rows = packed(reading.on_grid(part).astype(np.int32))
            columns = [ids(part.column(column)).cast(pa.binary()), rows.cast(pa.binary())]
            yield pa.record_batch(columns, names=["id", "row"])


@in_task
def units_summed(batches: Iterator[Any], n_columns: int, unit: Unit, query: Query) -> Iterator[Any]:
    """Add up what the units of a task contribute, all rows of which it has."""
    table = unpacked(_table(batches), n_columns)
    with one_blas_thread():
        yield as_cell(total(query, unit, split_batches(table.rows, table.starts)))


@in_task
def units_drawn(
    batches: Iterator[Any], n_columns: int, sampling_exponent: int, key: bytes
) -> Iterator[Any]:
    """Pick the units that are included, with all their rows."""
    table = unpacked(_table(batches), n_columns).drawn(sampling_exponent, key)
    for batch in split_batches(table.rows, table.starts):
        yield _sample(np.asarray(batch.rows, dtype=np.int32), batch.starts)


@in_task
def merged(batches: Iterator[Any]) -> Iterator[Any]:
    """Add up sums of other tasks."""
    sums = added_up(cell for batch in batches for cell in batch.column(0).to_pylist())
    if sums is not None:
        yield as_cell(sums)


def as_cell(sums: ExactSums) -> Any:
    """Return sums as a batch of one cell."""
    return pa.record_batch([pa.array([sums.to_bytes()], pa.binary())], names=["sums"])


def added_up(cells: Iterable[bytes]) -> ExactSums | None:
    """Add up cells of equally many sums; None if there is no cell.

    Examples
    --------
    >>> sums = ExactSums(2)
    >>> sums += np.array([-1, 2**62])
    >>> cell = as_cell(sums).column(0)[0].as_py()
    >>> added_up([cell, cell]) == [-2, 2**63]
    True
    """
    found: ExactSums | None = None
    for sums in map(ExactSums.from_bytes, cells):
        if found is None:
            found = sums
        else:
            found += sums
    return found


def _pieces(cells: Any) -> Iterator[Any]:
    for begin in range(0, cells.num_rows, GRID_BATCH_ROWS):
        yield cells.slice(begin, GRID_BATCH_ROWS)


def _sample(rows: NDArray[np.int32], starts: IntArray | None) -> Any:
    cells = [rows.tobytes(), None if starts is None else starts.tobytes()]
    columns = [pa.array([cell], pa.binary()) for cell in cells]
    return pa.record_batch(columns, names=["rows", "starts"])


def _table(batches: Iterator[Any]) -> Any:
    schema = pa.schema([("id", pa.binary()), ("row", pa.binary())])
    return pa.Table.from_batches([batch.cast(schema) for batch in batches], schema)
