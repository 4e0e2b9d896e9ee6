"""Tables as users give them, put behind an engine; nothing is read but names and types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from privclust._frames import clears_frames
from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.bounds import NOT_NEEDED, SERVER_DATA, UNSTATED, bounded_columns, read_bounds
from privclust.domains.profiled import ProfileDomain
from privclust.domains.reader import Use
from privclust.domains.sphere import Sphere
from privclust.engines.base import AnyEngine, Table
from privclust.engines.factory import local_table, open_engine, remote_table, table_of
from privclust.engines.federated.engine import FederatedEngine
from privclust.engines.federated.table import FederatedTable
from privclust.engines.noisy import NoisyEngine
from privclust.errors import BoundsError, ColumnError, ParameterError, safe_repr
from privclust.estimators._common_parameters import Parameters, number, unit_of
from privclust.kernels.grid import FloatArray
from privclust.queries.participation import Cohort, QueryParticipation
from privclust.queries.unit import Unit
from privclust.remote.table import RemoteTable
from privclust.sources.schema import Schema
from privclust.sources.snapshot import Snapshot

if TYPE_CHECKING:
    from privclust.estimators.base import PrivateClusterer

MEASURED = "private"
"""The scale that is measured and paid for."""


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table behind its engine, and what is public about it."""

    engine: AnyEngine
    schema: Schema
    domain: Domain
    bounds_origin: str
    reopened: Callable[[Domain], AnyEngine] = field(repr=False)
    """Puts the same rows behind another engine, on another scale. It holds the rows, so that no
    traceback must print it."""
    snapshot: Snapshot | None = None
    """What holds the state of the table that every pass reads, where something does."""

    @property
    def participation(self) -> tuple[QueryParticipation, ...] | None:
        """How many clients responded to each query, if the table is a federation."""
        engine = self.engine
        if isinstance(engine, FederatedEngine | NoisyEngine):
            return tuple(engine.participation)
        return None

    @property
    def noise_ratio(self) -> float:
        """How many times as large as for one table with the same guarantee the noise will be."""
        return self.engine.noise_ratio if isinstance(self.engine, NoisyEngine) else 1.0

    @property
    def cohort(self) -> Cohort | None:
        """Nodes that add the noise themselves, if the table is a federation of such."""
        return self.engine.cohort if isinstance(self.engine, NoisyEngine) else None

    def close(self, ended: bool = True) -> None:
        """Let go of the table, also where clients hold samples of it and nodes a fit that ended."""
        engine = self.engine
        if self.snapshot is not None:
            self.snapshot.close()
        if isinstance(engine, FederatedEngine) or (isinstance(engine, NoisyEngine) and ended):
            engine.close()


@clears_frames
def open_table(
    estimator: Parameters,
    X: Any,
    around: Domain | None = None,
    *,
    may_measure_scale: bool = False,
) -> OpenTable:
    """Put a table behind an engine.

    The columns that bounds name are clustered; if bounds name none, all but that of ids. `around`
    is a domain that public data give, in place of bounds and radius.
    """
    unit = unit_of(estimator)
    if estimator.scale == MEASURED and (isinstance(X, FederatedTable) or not may_measure_scale):
        raise ParameterError(
            f"scale={MEASURED!r} is for PrivateKMeans on one table, without init. Leave it out, "
            "and give columns weights in a bounds file (docs/bounds.md)."
        )
    table, named = table_of(X), bounded_columns(estimator.bounds)
    whole = table.schema
    if unit.column is not None and unit.column in (named or ()):
        raise BoundsError(
            f"bounds name {unit.column!r}, which is the unit: its ids say whose rows belong "
            "together and are not clustered. Take it out of the bounds."
        )
    if named is None and unit.column is None and whole.looks_like_a_row:
        # Its cells would be published as the names of columns.
        raise ColumnError(
            "the first line of the CSV file holds a value, so it may be a row. Put a line of "
            "names before it, or give bounds by the names that it has."
        )
    if around is None and not _counts_directions(estimator):
        _check_extent(estimator)
    uses = _vectors(whole) if _counts_directions(estimator) else named
    schema = table.clustered(unit, named, uses)
    domain, origin = _domain(estimator, schema, around)
    return _opened(table, schema, domain, origin, unit)


@clears_frames
def open_profiled(estimator: Parameters, X: Any, domain: ProfileDomain, origin: str) -> OpenTable:
    """Put a table behind an engine that reads the columns of a profile by their names."""
    table, unit = table_of(X), unit_of(estimator)
    return _opened(table, table.profiled(unit, domain), domain, origin, unit)


def _opened(table: Table, schema: Schema, domain: Domain, origin: str, unit: Unit) -> OpenTable:
    def reopened(another: Domain) -> AnyEngine:
        return open_engine(table, schema.names, another, unit)

    return OpenTable(reopened(domain), schema, domain, origin, reopened, table.snapshot)


def check_can_be_labelled(X: Any) -> None:
    """Refuse rows that are elsewhere, before a fit of them is paid for."""
    table = X if isinstance(X, RemoteTable) else remote_table(X)
    if table is not None:
        raise TypeError(table.labelled_by)


@clears_frames
def on_each_part(work: Callable[[FloatArray], Any], fitted: PrivateClusterer, X: Any) -> Any:
    """Apply `work` to the rows of a table on the grid, part by part, and put results together.

    For the holder of the rows: `predict` and `transform`.
    """
    check_can_be_labelled(X)
    table, unit, model = local_table(X), fitted.unit, fitted.model_
    domain, names = model.domain, model.feature_names_in
    schema = table.schema
    if schema.names is None or unit not in schema.names:
        unit = None
    uses = _vectors(schema) if domain.vector_lengths else domain.uses
    schema = table.clustered(Unit(unit), None if names is None else set(names), uses)
    if schema.n_columns != model.n_features_in:
        raise ValueError(
            f"X has {schema.n_columns} features, but {type(fitted).__name__} is expecting "
            f"{model.n_features_in} features as input."
        )
    schema.check_lengths(domain)
    if schema.names is None and domain.uses:
        raise TypeError("declared columns are found by their names. Give a table that has names.")
    columns = None if schema.names is None else names or schema.names
    return table.on_each_part(work, columns, domain, Unit(unit))


def _counts_directions(estimator: Parameters) -> bool:
    """Tell whether rows count by their direction alone."""
    metric = getattr(estimator, "metric", "euclidean")
    if metric not in ("euclidean", "cosine"):
        raise ParameterError(f"metric must be 'euclidean' or 'cosine', got {safe_repr(metric)}.")
    return bool(metric == "cosine")


def _vectors(schema: Schema) -> dict[str, Use]:
    return {name: "vector" for name, _ in schema.lengths}


def _sphere(given: Parameters, schema: Schema) -> Sphere:
    if (given.bounds, given.radius, given.scale) != (None, None, None):
        raise BoundsError(
            "metric='cosine' lets rows count by their direction alone. Leave bounds, radius and "
            "scale out."
        )
    if schema.kinds == ("unknown",):
        raise ColumnError(
            "the types of the federation's columns are not known here, and one number has no "
            "direction. Declare a column of vectors with schemas=[...], which takes what "
            "Client(table).schema gives, or name several columns of numbers."
        )
    if "vector" not in schema.kinds:
        return Sphere(schema.n_columns)
    if schema.names is None or schema.n_columns > 1:
        raise ColumnError(
            "a column of vectors is clustered alone. Leave the other columns out, but for that of "
            "ids, or give columns of numbers only."
        )
    (name,) = schema.names
    return Sphere(dict(schema.lengths)[name], name)


def _check_extent(given: Parameters) -> None:
    """Refuse a fit that does not say where values lie; its columns' types come second."""
    if (given.bounds is None) == (given.radius is None):
        cause = "bounds are missing" if given.bounds is None else "bounds and radius are both given"
        raise BoundsError(
            f"{cause}. Give either bounds, such as {{'age': (0, 120)}}, with a lower and an upper "
            "value per column, or radius, the largest distance from the origin. Take them from "
            "knowledge of the field, not from the rows."
        )


def _domain(given: Parameters, schema: Schema, around: Domain | None) -> tuple[Domain, str]:
    if around is not None:
        return around, SERVER_DATA
    if _counts_directions(given):
        return _sphere(given, schema), NOT_NEEDED
    if given.scale not in (None, "bounds", "none", MEASURED):
        raise BoundsError(
            f"scale must be 'bounds', 'none', {MEASURED!r} (of PrivateKMeans) or None, got "
            f"{safe_repr(given.scale)}."
        )
    if given.radius is not None:
        radius = number("radius", given.radius)
        if given.scale in ("bounds", MEASURED):
            raise BoundsError(
                f"scale={given.scale!r} needs bounds per column; with a radius use 'none'."
            )
        return Ball(np.zeros(schema.n_columns), radius), UNSTATED
    assert given.bounds is not None
    read = read_bounds(given.bounds, schema.names, schema.n_columns)
    domain = read.domain.unscaled() if given.scale == "none" else read.domain
    return domain, read.origin
