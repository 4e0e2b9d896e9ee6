"""Units outside memory: rows brought together by id in temporary files without a name."""

from __future__ import annotations

import mmap
import tempfile
import weakref
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from privclust.domains.base import Domain
from privclust.engines._packed import packed, unpacked
from privclust.engines._row_buffer import RowBuffer
from privclust.engines._summing import on_all_cores, total
from privclust.engines.exact_sums import ExactSums
from privclust.engines.memory import GridTable, NumpyEngine
from privclust.engines.units import GRID_BATCH_ROWS, split_batches
from privclust.kernels.cores import available_cores
from privclust.queries.base import Query
from privclust.queries.unit import Unit
from privclust.sources._reading import on_grid
from privclust.sources.cells import ids
from privclust.sources.guard import guarded
from privclust.sources.streams import Source

PARTITIONS = 64


class SpilledEngine:
    """Sums queries over all rows of each id together, wherever in the table they lie.

    On first use the table is read once and written, on the grid, into temporary files, all rows
    of a unit into the same one. The files have no name in any folder, so that they end with the
    process, however it ends; they lie where ``TMPDIR`` says.

    Parameters
    ----------
    source : Source
        How to read the table.
    columns : sequence of str
        The columns to cluster, in the order of the domain.
    domain : Domain
        What the user declares about the values.
    unit : Unit
        Whose rows count as one.
    threads : int, optional
        Worker threads; by default one per core. The result does not depend on it.
    """

    def __init__(
        self,
        source: Source,
        columns: Sequence[str],
        domain: Domain,
        unit: Unit,
        threads: int | None = None,
    ) -> None:
        self.n_columns = domain.center.size
        self.unit = unit
        self._source = source
        self._columns = list(columns)
        self._domain = domain
        self._threads = threads or available_cores()
        self._files: list[Any] = []

    @guarded
    def aggregate(self, query: Query) -> ExactSums:
        """Return the sum of what all units contribute to the query."""

        def work(file: Any) -> ExactSums:
            table = self._read(file)
            return total(query, self.unit, split_batches(table.rows, table.starts))

        found = ExactSums(query.size)
        for sums in on_all_cores(work, self._spilled(), self._threads):
            found += sums
        return found

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare: a unit's inclusion bit follows from its id."""

    def sample(self, sampling_exponent: int, key: bytes) -> NumpyEngine:
        """Return an engine over some of the units, each in or out by a bit that `key` decides."""

        def drawn() -> GridTable:
            files = self._spilled()
            parts = on_all_cores(
                lambda file: self._read(file).drawn(sampling_exponent, key), files, self._threads
            )
            return _together(parts, self.n_columns)

        return NumpyEngine.holding(drawn, self.n_columns, self.unit, self._threads)

    def _spilled(self) -> list[Any]:
        if not self._files:
            self._files = self._written()
            weakref.finalize(self, _close, self._files)
        return self._files

    def _written(self) -> list[Any]:
        """Read the table once and write each row into the file of its unit."""
        files = [tempfile.TemporaryFile(buffering=2**18) for _ in range(PARTITIONS)]  # noqa: SIM115
        try:
            self._write(files)
        except BaseException:
            _close(files)  # rows lie in them
            raise
        return files

    def _write(self, files: list[Any]) -> None:
        schema = pa.schema([("id", pa.large_binary()), ("row", pa.binary(4 * self.n_columns))])
        writers = [pa.ipc.new_stream(file, schema) for file in files]
        batches = self._source.batches([*self._columns, str(self.unit.column)])
        for parts in on_all_cores(self._sorted_out, batches, self._threads):
            for place, part in parts:
                writers[place].write_batch(pa.record_batch(part, schema=schema))
        for writer, file in zip(writers, files, strict=True):
            writer.close()
            file.flush()

    def _sorted_out(self, cells: Any) -> list[tuple[int, list[Any]]]:
        """Return for each file the ids and rows of a batch that belong into it."""
        rows = np.empty((cells.num_rows, self.n_columns), dtype=np.int32)
        for begin in range(0, cells.num_rows, GRID_BATCH_ROWS):
            part = cells.slice(begin, GRID_BATCH_ROWS)
            rows[begin : begin + GRID_BATCH_ROWS] = on_grid(self._domain, part, self._columns)
        found = ids(cells.column(self.unit.column))
        encoded = found.dictionary_encode(null_encoding="encode")
        hashes = [zlib.crc32(id_ or b"") % PARTITIONS for id_ in encoded.dictionary.to_pylist()]
        places = np.array(hashes, dtype=np.int8)[encoded.indices.to_numpy()]
        order = np.argsort(places, kind="stable")
        cuts = np.searchsorted(places[order], np.arange(PARTITIONS + 1))
        parts = []
        for place, (begin, end) in enumerate(pairwise(cuts.tolist())):
            if begin < end:
                chosen = order[begin:end]
                parts.append((place, [found.take(pa.array(chosen)), packed(rows[chosen])]))
        return parts

    def _read(self, file: Any) -> GridTable:
        """Return the rows of one file, unit by unit."""
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        table = pa.ipc.open_stream(pa.py_buffer(content)).read_all()
        return unpacked(table, self.n_columns)


def _close(files: list[Any]) -> None:
    for file in files:
        file.close()


def _together(parts: Iterator[GridTable], n_columns: int) -> GridTable:
    buffer, size = RowBuffer(n_columns), 0
    starts, found = [], []
    for part in parts:
        assert part.starts is not None
        buffer.append(np.asarray(part.rows, dtype=np.int32))
        starts.append(part.starts + size)
        found.append(part.ids)
        size += len(part.rows)
    return GridTable(buffer.rows(), np.concatenate(starts), pa.concat_arrays(found))
