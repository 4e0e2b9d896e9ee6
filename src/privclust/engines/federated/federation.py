"""A federation as one table: who takes part, and what is public about their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from privclust._frames import clears_frames
from privclust.domains.base import Domain
from privclust.engines._types import check_columns
from privclust.engines.federated._request import Columns
from privclust.engines.federated.client import CLIENT, Client
from privclust.engines.federated.engine import Exchange, FederatedEngine
from privclust.engines.federated.table import (
    FederatedTable,
    common_columns,
    given_columns,
    lies_in,
)
from privclust.errors import ParameterError, safe_repr
from privclust.queries.unit import ROW, Unit
from privclust.sources.schema import Schema


@dataclass(frozen=True, eq=False)
class Federation(FederatedTable):
    """Clients that each hold rows of the same columns; an estimator's `fit` takes it for a table.

    Parameters
    ----------
    exchange : callable
        How requests travel (`privclust.engines.federated.flower`); `Federation.in_process` needs
        none.
    clients : sequence of str
        Names of the clients, which are public.
    columns : sequence of str, or int
        The columns to cluster, or how many there are if they have no names.
    minimum : int, optional
        The fewest clients with whose responses a fit goes on; by default all.
    clients_per_unit : int, default=1
        At how many clients one row's owner, or one id, may have rows. Noise grows with it, so
        it is 1; somebody at two clients is then protected with twice the mu that is stated.
    on_finish : callable, optional
        Tells clients that a fit has ended, so that they forget its samples.
    schemas : sequence of Schema, optional
        What clients declare of their columns, as `Client.schema` has it, if the server knows it:
        types are then checked before anything is charged. Vectors must be declared.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> tables = {name: rng.normal(60.0, 5.0, (2000, 2)) for name in ("north", "south")}
    >>> from privclust import PEMeans
    >>> federation = Federation.in_process(tables)
    >>> model = PEMeans(1, delta=1e-6, bounds=(0, 120), random_state=0).fit(federation)
    >>> model.participation_[0]
    QueryParticipation(responded=2, invited=2)
    """

    labelled_by = (
        "rows of a federation are labelled where they are: fit, and let each client call "
        "model.predict or model.transform on its own table."
    )
    exchange: Exchange
    clients: tuple[str, ...]
    columns: Columns
    minimum: int
    clients_per_unit: int
    on_finish: Callable[[bytes], object]
    schemas: tuple[Schema, ...]

    def __init__(
        self,
        exchange: Exchange,
        clients: Iterable[str],
        columns: Iterable[str] | int,
        *,
        minimum: int | None = None,
        clients_per_unit: int = 1,
        on_finish: Callable[[bytes], object] = lambda fit: None,
        schemas: Iterable[Schema] = (),
    ) -> None:
        names = tuple(clients)
        given = given_columns(columns)
        fewest = len(names) if minimum is None else minimum
        if len(set(names)) < len(names) or not lies_in(fewest, len(names)):
            raise ParameterError(
                "a federation needs clients with names that differ, and a minimum between 1 and "
                f"their number; got {len(names)} name(s) and minimum={safe_repr(minimum)}."
            )
        if not lies_in(clients_per_unit, len(names)):
            raise ParameterError(
                "clients_per_unit must be an integer between 1 and the number of clients, "
                f"{len(names)}, got {safe_repr(clients_per_unit)}."
            )
        values = (exchange, names, given, fewest, clients_per_unit, on_finish, tuple(schemas))
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    @clears_frames
    def in_process(
        cls,
        tables: Mapping[str, Any],
        columns: Iterable[str] | None = None,
        *,
        minimum: int | None = None,
        clients_per_unit: int = 1,
    ) -> Federation:
        """Return a federation of tables in this process, for tests, notebooks and rehearsals.

        `tables` has one for each client, by name. `columns` are by default all that they have; give
        them if one is a column of ids. `minimum` and `clients_per_unit` are those of the class.
        """
        clients = {name: Client(table) for name, table in tables.items()}

        def exchange(requests: Mapping[str, bytes]) -> Iterable[tuple[str, bytes]]:
            return ((name, clients[name].respond(request)) for name, request in requests.items())

        def on_finish(fit: bytes) -> None:
            for client in clients.values():
                client.forget(fit)

        schemas = [client.schema for client in clients.values()]
        return cls(
            exchange,
            clients,
            common_columns(schemas) if columns is None else columns,
            schemas=schemas,
            minimum=minimum,
            clients_per_unit=clients_per_unit,
            on_finish=on_finish,
        )

    def __repr__(self) -> str:
        names, count = self.columns, len(self.clients)
        columns = f"{names:,}" if isinstance(names, int) else ", ".join(map(safe_repr, names))
        return (
            f"<Federation of {count:,} client{'s' if count > 1 else ''}, columns: {columns}; a fit "
            f"needs responses of {self.minimum:,}>"
        )

    @property
    def declared(self) -> Schema:
        """What the first client declares of its columns."""
        return self.schemas[0] if self.schemas else Schema(None, ())

    def open_engine(
        self, columns: Sequence[str] | None, domain: Domain, unit: Unit
    ) -> FederatedEngine:
        """Return an engine over `columns`, or refuse them before anything is charged.

        None stands for the federation's own columns. The `unit` of column ``"client"`` is a whole
        client. Columns that a client declares otherwise than the `domain` are refused, as is what
        every client would refuse, whatever the query.
        """
        chosen = self if columns is None else replace(self, columns=tuple(columns))
        names = None if isinstance(chosen.columns, int) else chosen.columns
        protected = self.protected(unit)
        for schema in self.schemas:
            check_columns(schema, names, domain, ROW if protected.whole else unit)
        engine = FederatedEngine(chosen, domain, protected)
        engine.check_request()
        return engine

    def protected(self, unit: Unit) -> Unit:
        """Return `unit` with the number of clients at which it may have rows."""
        whole = unit.column == CLIENT
        return replace(unit, whole=whole, clients=1 if whole else self.clients_per_unit)
