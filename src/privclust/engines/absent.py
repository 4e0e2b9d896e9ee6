"""Tables whose rows are not here: names of columns alone, to check and price a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privclust.domains.base import Domain
from privclust.engines.base import Engine, Table
from privclust.queries.base import Query
from privclust.queries.unit import Unit
from privclust.sources.cells import Kind
from privclust.sources.schema import Schema


@dataclass(frozen=True)
class AbsentEngine:
    """An engine without rows, which must not be used."""

    n_columns: int
    unit: Unit

    def aggregate(self, query: Query) -> Sequence[int]:
        """Fail: there is nothing to sum."""
        raise AssertionError("the rows of this table are elsewhere")

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare."""

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        """Return an engine over some of the units, which must not be used either."""
        return self


@dataclass(frozen=True)
class AbsentTable(Table):
    """The columns of a table whose rows this process has no access to.

    Examples
    --------
    >>> AbsentTable(("age", "income")).schema.n_columns
    2
    """

    names: tuple[str, ...]
    """What the columns are called, in the order of the table."""

    @property
    def schema(self) -> Schema:
        """Names of the columns; as in a CSV file, any may hold what bounds declare."""
        cell: Kind = "cell"
        return Schema(self.names, (cell,) * len(self.names))

    def open_engine(self, columns: Sequence[str] | None, domain: Domain, unit: Unit) -> Engine:
        """Return an engine that must not be used."""
        return AbsentEngine(domain.center.size, unit)
