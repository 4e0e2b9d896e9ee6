"""Tables that this process reads itself: in memory, or as a stream of batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privclust.domains.base import Domain
from privclust.domains.reader import Use
from privclust.engines._types import check_columns, check_source_types, check_types
from privclust.engines.base import Table
from privclust.engines.memory import NumpyEngine
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.kernels.grid import FloatArray
from privclust.queries.unit import Unit
from privclust.sources._reading import ColumnReader
from privclust.sources.frames import read_rows, schema_of
from privclust.sources.guard import guarded
from privclust.sources.schema import Schema
from privclust.sources.snapshot import Snapshot
from privclust.sources.streams import Source

LocalEngine = NumpyEngine | ArrowEngine | SpilledEngine


class LocalTable(Table):
    """A table whose rows this process reads, so that it can label them."""

    @abstractmethod
    def open_engine(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> LocalEngine:
        """Return an engine over these columns, or refuse them before anything is charged."""

    @abstractmethod
    def check_types(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> None:
        """Refuse types that cannot be read, by a table of no rows."""

    def on_each_part(
        self,
        work: Callable[[FloatArray], Any],
        columns: Sequence[str] | None,
        domain: Domain,
        unit: Unit,
    ) -> Any:
        """Apply `work` to the rows on the grid, part by part, and put results together.

        For the holder of the rows: nothing that comes out is private.
        """
        self.check_types(columns, domain, unit)
        return _applied(work, domain, self._parts(columns, domain, unit))

    @abstractmethod
    def _parts(
        self, columns: Sequence[str] | None, domain: Domain, unit: Unit
    ) -> Iterator[FloatArray]:
        """Yield the features of all rows."""


@dataclass(frozen=True, eq=False, repr=False)
class MemoryTable(LocalTable):
    """An array, a list of rows or a frame."""

    rows: Any

    @property
    def schema(self) -> Schema:
        """Names and types of its columns, which are public."""
        return schema_of(self.rows)

    def clustered(
        self, unit: Unit, named: Collection[str] | None, uses: Mapping[str, Use] | None
    ) -> Schema:
        """Return the columns to cluster: those that are `named`, or all if they have no names."""
        return self.schema.features(unit.column, named if self.schema.names else None, uses)

    def check_types(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> None:
        """Refuse types that cannot be read, by a table of no rows."""
        check_types(self._chosen(columns, unit), domain, unit)

    def open_engine(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> NumpyEngine:
        """Return an engine over these columns, or refuse them before anything is charged."""
        check_columns(self.schema, columns, domain, unit)
        # A profile finds its columns by name.
        chosen = self.rows if domain.noted else self._chosen(columns, unit)
        check_types(chosen, domain, unit)
        return NumpyEngine(chosen, domain, unit=unit)

    def _chosen(self, columns: Sequence[str] | None, unit: Unit) -> Any:
        """Return the rows with these columns alone, in this order; as they are if they have it."""
        others = [name for name in self.schema.names or () if name != unit.column]
        if columns is None or others == list(columns):
            return self.rows
        used = [*columns] if unit.column is None else [*columns, unit.column]
        return self.rows.select(used) if hasattr(self.rows, "select") else self.rows[used]

    def _parts(
        self, columns: Sequence[str] | None, domain: Domain, unit: Unit
    ) -> Iterator[FloatArray]:
        rows = self._chosen(columns, unit)
        yield read_rows(rows, 0, len(rows), domain, unit.column)


@dataclass(frozen=True, eq=False, repr=False)
class StreamedTable(LocalTable):
    """A table that is read again for each query, or once into temporary files."""

    source: Source

    @property
    def schema(self) -> Schema:
        """Names and types of its columns, which are public."""
        return self.source.schema

    @property
    def snapshot(self) -> Snapshot | None:
        """What holds the state of the table that all its engines read, where something does."""
        return self.source.snapshot

    def check_types(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> None:
        """Refuse types that cannot be read, by a table of no rows."""
        check_source_types(self.source, columns or (), domain, unit)

    def open_engine(
        self, columns: Sequence[str] | None, domain: Domain, unit: Unit
    ) -> ArrowEngine | SpilledEngine:
        """Return an engine over these columns, or refuse them before anything is charged."""
        check_columns(self.schema, columns, domain, unit)
        if columns is None:
            raise TypeError("the columns of a table that is read as a stream need names.")
        self.check_types(columns, domain, unit)
        if unit.column is None:
            return ArrowEngine(self.source, columns, domain)
        return SpilledEngine(self.source, columns, domain, unit)

    def _parts(
        self, columns: Sequence[str] | None, domain: Domain, unit: Unit
    ) -> Iterator[FloatArray]:
        names = columns or ()
        yield np.empty((0, domain.center.size))
        for cells in self.source.batches(names):
            yield domain.read(ColumnReader(cells.column), names)


@guarded
def _applied(work: Callable[[FloatArray], Any], domain: Domain, parts: Iterator[FloatArray]) -> Any:
    return np.concatenate([work(domain.to_grid(part)) for part in parts])
