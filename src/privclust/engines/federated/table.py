"""What all federations have in common as tables: public columns, and rows that are elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence

from privclust.domains.profiled import ProfileDomain
from privclust.domains.reader import Use
from privclust.engines.base import Table
from privclust.engines.federated._request import Columns
from privclust.errors import ColumnError, ParameterError, safe_repr
from privclust.queries.unit import Unit
from privclust.sources.cells import Kind
from privclust.sources.schema import Schema


class FederatedTable(Table):
    """A table whose rows lie in several places.

    Attributes
    ----------
    columns : tuple of str, or int
        The columns to cluster, or how many there are if they have no names.
    """

    columns: Columns

    @property
    @abstractmethod
    def declared(self) -> Schema:
        """What is known of the columns in each place: names and types, or nothing."""

    @property
    def schema(self) -> Schema:
        """Names and types of the columns, which are public; types may be unknown."""
        return self._schema(self.columns)

    def clustered(
        self, unit: Unit, named: Collection[str] | None, uses: Mapping[str, Use] | None
    ) -> Schema:
        """Return the columns to cluster: all but that of `unit`, whether or not they are `named`.

        `uses` are checked by `open_engine`, against what each place declares.
        """
        if isinstance(self.columns, int):
            return self.schema
        return self._schema(tuple(name for name in self.columns if name != unit.column))

    def profiled(self, unit: Unit, domain: ProfileDomain) -> Schema:
        """Return the columns that a profile of `domain` reads, whatever the `unit`.

        `open_engine` checks their types.
        """
        return self._schema(domain.names)

    def _schema(self, columns: Columns) -> Schema:
        unknown: Kind = "unknown"
        known = self.declared
        if isinstance(columns, int):
            return Schema(None, known.kinds if known.n_columns == columns else (unknown,) * columns)
        kinds = dict(zip(known.names or (), known.kinds, strict=False))
        lengths = tuple(pair for pair in known.lengths if pair[0] in columns)
        return Schema(columns, tuple(kinds.get(name, unknown) for name in columns), lengths)


def given_columns(columns: Iterable[str] | int) -> Columns:
    """Return what a user gives as columns: a list of names, or how many there are."""
    if isinstance(columns, str):  # whose letters would be taken for names
        raise ParameterError(
            f"columns must be a list of names, or how many there are, got "
            f"{safe_repr(columns)}. Name a single column as [{safe_repr(columns)}]."
        )
    return columns if isinstance(columns, int) else tuple(columns)


def common_columns(schemas: Sequence[Schema]) -> Columns:
    """Return the columns that all tables have, or refuse tables that differ."""
    if len({(schema.names, schema.n_columns) for schema in schemas}) > 1:
        raise ColumnError(
            "the tables of a federation must have the same columns in the same order. Name those "
            "to cluster with columns=[...]."
        )
    if not schemas:
        return 0  # refused with the empty list of clients
    return schemas[0].n_columns if schemas[0].names is None else schemas[0].names


def lies_in(number: object, most: int) -> bool:
    """Tell whether something is an integer from 1 to `most`."""
    return isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= most
