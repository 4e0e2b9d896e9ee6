"""A federation of nodes as one table, for an estimator's `fit`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from privclust.cohorts.engine import CohortEngine, Node
from privclust.cohorts.member import RehearsedNode
from privclust.domains.base import Domain
from privclust.engines.factory import local_table
from privclust.engines.federated._request import Columns
from privclust.engines.federated.client import CLIENT
from privclust.engines.federated.table import (
    FederatedTable,
    common_columns,
    given_columns,
    lies_in,
)
from privclust.errors import ParameterError, safe_repr
from privclust.privacy.noise_shares import NoiseShare
from privclust.queries.unit import Unit
from privclust.sources.schema import Schema


@dataclass(frozen=True, eq=False)
class NodeFederation(FederatedTable):
    """Nodes that each hold rows of the same columns and trust nobody; `fit` takes it for a table.

    Every node adds its share of the noise, masks what it sends and charges its own ledger. Whoever
    fits sees noisy sums of all rows and nothing else (docs/proofs/noise-shares.md).

    Parameters
    ----------
    nodes : sequence of Node
        Who takes part; `NodeFederation.in_process` makes them for a rehearsal.
    columns : sequence of str, or int
        The columns to cluster, or how many there are if they have no names.
    coordinator : str
        What the policies of the nodes call whoever fits.
    colluding : int, default=1
        The guarantee holds against so many nodes together, whoever coordinates among them. Noise
        grows by sqrt(n / (n - colluding)).
    minimum : int, optional
        The smallest cohort with which a fit goes on; by default all nodes. Set `reserve` with it.
    reserve : float, default=0.0
        The part of mu² that is set aside to send requests again to those who are left when a node
        is gone.
    seconds : float, default=600.0
        How long to wait for the replies to one request.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> tables = {name: rng.normal(60.0, 5.0, (2000, 2)) for name in ("north", "south", "west")}
    >>> federation = NodeFederation.in_process(tables)
    >>> model = PrivateKMeans(1, delta=1e-6, bounds=(0, 120), random_state=0).fit(federation)
    >>> model.participation_[0]
    QueryParticipation(responded=3, invited=3)
    """

    labelled_by = (
        "rows of a federation are labelled where they are: fit, and let each node's owner call "
        "model.predict or model.transform on its own table."
    )
    nodes: Sequence[Node]
    columns: Columns
    coordinator: str
    colluding: int = 1
    minimum: int | None = None
    reserve: float = 0.0
    seconds: float = 600.0

    def __post_init__(self) -> None:
        n_nodes = len(self.nodes)
        if len({node.name for node in self.nodes}) < n_nodes:
            raise ParameterError("the nodes of a federation need names that differ.")
        if not (lies_in(self.colluding, n_nodes - 1) and self.colluding < self.smallest <= n_nodes):
            raise ParameterError(
                "colluding must be an integer of at least 1, minimum larger than that, and the "
                f"number of nodes at least minimum; got colluding={safe_repr(self.colluding)}, "
                f"minimum={safe_repr(self.minimum)} and {n_nodes} node(s)."
            )
        if not 0 <= self.reserve < 1 or not self.seconds > 0:
            raise ParameterError(
                "reserve is a part of the budget from 0 to below 1, and seconds are more than 0; "
                f"got {safe_repr(self.reserve)} and {safe_repr(self.seconds)}."
            )

    @classmethod
    def in_process(
        cls,
        tables: Mapping[str, Any],
        columns: Iterable[str] | None = None,
        *,
        colluding: int = 1,
        minimum: int | None = None,
        reserve: float = 0.0,
    ) -> NodeFederation:
        """Return a federation of nodes in this process, to rehearse with made-up rows.

        `tables` has one for each node, by name; `columns` are by default all that they have. The
        nodes do all that real ones do, with ledgers that end with the process. `colluding`,
        `minimum` and `reserve` are those of the class.
        """
        schemas = [local_table(table).schema for table in tables.values()]
        chosen = common_columns(schemas) if columns is None else given_columns(columns)
        nodes = tuple(RehearsedNode(name, table) for name, table in tables.items())
        return cls(nodes, chosen, "rehearsal", colluding, minimum, reserve)

    @property
    def smallest(self) -> int:
        """The smallest cohort with which a fit goes on."""
        return len(self.nodes) if self.minimum is None else self.minimum

    @property
    def noise_ratio(self) -> float:
        """How many times as large as for one table with the same guarantee the noise will be.

        `forecast` takes it. It is that of all nodes; after some are gone, noise is larger.

        Examples
        --------
        >>> tables = {name: [[1.0]] for name in ("north", "south", "west")}
        >>> round(NodeFederation.in_process(tables).noise_ratio, 3)
        1.225
        """
        return NoiseShare(len(self.nodes), self.colluding).ratio / math.sqrt(1 - self.reserve)

    @property
    def declared(self) -> Schema:
        """Nothing: types are each node's own affair."""
        return Schema(None, ())

    def protected(self, unit: Unit) -> Unit:
        """Return `unit` as one of a single node."""
        if unit.column == CLIENT:
            raise ParameterError(
                "a whole node cannot be the unit of this federation: each node protects what its "
                "own policy names. Leave unit out, or name the column of ids."
            )
        return replace(unit, clients=1)

    def open_engine(
        self, columns: Sequence[str] | None, domain: Domain, unit: Unit
    ) -> CohortEngine:
        """Return an engine over `columns` in a `domain`, or over the federation's own if None.

        It protects each `unit` at one node.
        """
        chosen = self.columns if columns is None else tuple(columns)
        return CohortEngine(self, chosen, domain, self.protected(unit))
