"""One fit, room by room: what every estimator does around its algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from privclust.algorithms.merging import merge
from privclust.bounds import UNSTATED, Bounds, read_bounds
from privclust.domain import Ball, Box, Domain, from_unit, to_unit_grid
from privclust.engines.base import guarded
from privclust.engines.frames import Schema, read_rows, schema_of
from privclust.engines.numpy import NumpyEngine
from privclust.errors import shown
from privclust.geometry.grid import GRID, UNIT, FloatArray, to_grid
from privclust.geometry.nearest import nearest
from privclust.privacy.budget import Budget, epsilon_of, mu_of
from privclust.privacy.curator import Curator, Release
from privclust.privacy.plan import Plan
from privclust.recording import recording
from privclust.release.clustering import Clustering, Coreset, Precision
from privclust.release.statement import Record, ReleaseLine, Statement

VERSION = version("privclust")
KEPT_BY_REFIT = (
    "domain_",
    "n_features_in_",
    "feature_names_in_",
    "releases_",
    "coreset_",
)


class AlgorithmPlan(Protocol):
    """What any algorithm's plan has."""

    @property
    def spending(self) -> Plan:
        """The slots."""


@dataclass(frozen=True)
class Parameters:
    """What a user may set on every estimator; all of it public."""

    n_clusters: int
    epsilon: float
    delta: float | None
    bounds: Bounds | None
    radius: float | None
    scale: str | None
    n_rows: int | None
    ledger: str | None
    dataset: str | None
    random_state: int | None


@dataclass(frozen=True, eq=False)
class OpenTable:
    """A table behind its engine, and what is public about it."""

    engine: NumpyEngine
    schema: Schema
    domain: Domain
    bounds_origin: str


def open_table(model: Any, X: Any) -> OpenTable:
    """Put a table behind an engine; nothing of it is read but its columns.

    The caller then deletes its own reference, so that once parameters are checked no frame of ours
    shows rows, should a debugger print the variables of a traceback.
    """
    schema = schema_of(X)
    domain, origin = _domain(_parameters(model), schema)
    return OpenTable(NumpyEngine(X, domain), schema, domain, origin)


def fit(
    model: Any,
    table: OpenTable,
    plan: Callable[..., AlgorithmPlan],
    run: Callable[[Curator, Any, np.random.Generator], Clustering],
    resume: str | None = None,
) -> None:
    """Run an algorithm on a table and keep what it releases on `model`."""
    given, schema, domain = _parameters(model), table.schema, table.domain
    n_rows = None if given.n_rows is None else whole_number("n_rows", given.n_rows)
    seed = _seed(given.random_state)
    planned = plan(
        whole_number("n_clusters", given.n_clusters), schema.n_columns, _budget(given), n_rows
    )
    noiseless = given.epsilon == math.inf
    recorded = recording(model, domain, seed, resume)
    curator = Curator.open(
        table.engine,
        planned.spending,
        recorded.ledger,
        recorded.label,
        recorded.facts,
        noiseless,
        recorded.resume,
    )
    # The engine spreads rows over the cores itself; BLAS threads beside it would only spin.
    with threadpool_limits(1, "blas"), recorded.telling_how_to_resume(curator.run):
        found = run(curator, planned, np.random.default_rng(recorded.seed))
        head = curator.close()
    if noiseless:
        found = _known_exactly(found)
    model.domain_ = domain
    model.n_features_in_ = schema.n_columns
    vars(model).pop("feature_names_in_", None)
    if schema.names is not None:
        model.feature_names_in_ = np.array(schema.names, dtype=object)
    model.releases_ = curator.releases
    model.privacy_statement_ = _statement(
        _subject(model, given.n_clusters),
        given,
        planned.spending,
        curator.releases,
        table.bounds_origin,
        recorded.record(curator.run, head),
    )
    keep(model, found)


def keep(model: Any, found: Clustering) -> None:
    """Put a clustering of the unit ball on `model`, in the user's units, largest cluster first."""
    domain: Domain = model.domain_
    order = np.argsort(-found.sizes, kind="stable")
    model.cluster_centers_ = _within(domain, from_unit(domain, found.centers[order]))
    model.cluster_sizes_ = found.sizes[order]
    model.n_rows_ = found.n_rows
    if found.precision is not None:
        model.center_stderr_ = found.precision.center_stderr[order, None] * domain.spread
        model.size_stderr_ = found.precision.size_stderr[order]
        model.cluster_radii_ = found.precision.radii[order]
    if found.coreset is not None:
        points = _within(domain, from_unit(domain, found.coreset.points))
        model.coreset_ = replace(found.coreset, points=points)


def refit(model: Any, n_clusters: object) -> Any:
    """Return a new fitted estimator with another number of clusters, from the coreset alone."""
    wanted = whole_number("n_clusters", n_clusters)
    coreset: Coreset = model.coreset_
    available = int(np.count_nonzero(coreset.weights > 0))
    if wanted > available:
        raise ValueError(
            f"the coreset has {available} point(s) with rows, too few for {wanted} cluster(s). Ask "
            f"for fewer, or fit again with max_clusters={wanted}, which spends budget again and "
            "needs rows enough for as many."
        )
    statement: Statement = model.privacy_statement_
    # Parameters may have been changed since the fit; the statement says what held then.
    other = clone(model).set_params(n_clusters=wanted, epsilon=statement.epsilon)
    if statement.epsilon < math.inf:
        other.set_params(delta=statement.delta)
    for name in KEPT_BY_REFIT:
        if hasattr(model, name):
            setattr(other, name, getattr(model, name))
    subject = f"{_subject(other, wanted)}; from the coreset of another fit, at no further cost"
    other.privacy_statement_ = replace(statement, subject=subject)
    points = replace(coreset, points=_in_unit(model, coreset.points))
    rng = np.random.default_rng(_seed(model.random_state))
    merged = merge(points, wanted, rng)
    keep(other, Clustering(merged.centers, merged.sizes, model.n_rows_, merged.precision))
    return other


def labels(model: Any, X: Any) -> NDArray[np.int64]:
    """Return the index of the nearest centre for each row, as the fit itself would vote."""
    return nearest(_on_grid(model, X), _centers(model))


def distances(model: Any, X: Any) -> FloatArray:
    """Return the distance of each row to each centre, in radii of the domain."""
    rows, centers = _on_grid(model, X), _centers(model)
    return np.column_stack(
        [np.sqrt(((rows - center) ** 2).sum(axis=1)) / GRID for center in centers]
    )


def tags(given: Any) -> Any:
    """Return scikit-learn's tags with what is true of every estimator here."""
    given.input_tags.allow_nan = True
    given.non_deterministic = True
    return given


def _parameters(model: Any) -> Parameters:
    return Parameters(**{name: getattr(model, name) for name in Parameters.__dataclass_fields__})


def _on_grid(model: Any, X: Any) -> FloatArray:
    schema = schema_of(X)
    fitted_names = getattr(model, "feature_names_in_", None)
    if schema.n_columns != model.n_features_in_:
        raise ValueError(
            f"X has {schema.n_columns} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    if schema.names and fitted_names is not None and schema.names != tuple(fitted_names):
        raise ValueError(
            "The feature names should match those that were passed during fit, in the same order."
        )
    return _read(model.domain_, X)


@guarded
def _read(domain: Domain, X: Any) -> FloatArray:
    return to_unit_grid(domain, read_rows(X, 0, len(X)))


def _centers(model: Any) -> FloatArray:
    return to_grid(_in_unit(model, model.cluster_centers_))


def _in_unit(model: Any, points: FloatArray) -> FloatArray:
    domain: Domain = model.domain_
    unit: FloatArray = (points - domain.center) / domain.spread
    return unit


def _within(domain: Domain, points: FloatArray) -> FloatArray:
    lower, upper = domain.center - domain.reach, domain.center + domain.reach
    return np.clip(points, lower, upper)


def _domain(given: Parameters, schema: Schema) -> tuple[Domain, str]:
    if (given.bounds is None) == (given.radius is None):
        cause = "bounds are missing" if given.bounds is None else "bounds and radius are both given"
        raise ValueError(
            f"{cause}. Give one of bounds, such as {{'age': (0, 120)}}, with a lower and an upper "
            "value per column, and radius, the largest distance from the origin. Take them from "
            "knowledge of the field, not from the rows."
        )
    if given.scale not in (None, "bounds", "none"):
        raise ValueError(f"scale must be 'bounds', 'none' or None, got {shown(given.scale)}.")
    if given.radius is not None:
        radius = _number("radius", given.radius)
        if given.scale == "bounds":
            raise ValueError("scale='bounds' needs bounds per column; with a radius use 'none'.")
        return Ball(np.zeros(schema.n_columns), radius), UNSTATED
    assert given.bounds is not None
    read = read_bounds(given.bounds, schema.names, schema.n_columns)
    if given.scale == "none":
        return Box(read.box.lower, read.box.upper, weights=read.box.reach), read.origin
    return read.box, read.origin


def _budget(given: Parameters) -> Budget:
    epsilon = _number("epsilon", given.epsilon)
    if epsilon == math.inf:
        return Budget(64.0, 1e-6)
    if given.delta is None:
        raise ValueError(
            "delta is missing. It is the probability with which the promise may fail: type a "
            "value well below one over the number of rows, such as delta=1e-6."
        )
    return Budget(epsilon, _number("delta", given.delta))


def _subject(model: Any, n_clusters: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    listed = "" if names is None else f" ({', '.join(map(repr, names))})"
    kind = type(model).__name__
    return f"{kind}, {n_clusters} clusters, {model.n_features_in_} columns{listed}"


def _known_exactly(found: Clustering) -> Clustering:
    """Return a clustering without noise with standard errors of zero."""
    if found.precision is None or found.coreset is None:
        return found
    return replace(
        found,
        precision=_exact(found.precision),
        coreset=replace(found.coreset, precision=_exact(found.coreset.precision)),
    )


def _exact(precision: Precision) -> Precision:
    nothing = np.zeros(len(precision.radii))
    return replace(precision, center_stderr=nothing, size_stderr=nothing)


def _statement(
    subject: str,
    given: Parameters,
    plan: Plan,
    releases: tuple[Release, ...],
    origin: str,
    record: Record | None,
) -> Statement:
    noise = " and ".join(sorted({release.noise for release in releases}))
    mu = mu_of(plan.budget.epsilon, plan.budget.delta)
    replacing = None
    whole = sum(release.charge.mu2 for release in releases)
    noiseless = given.epsilon == math.inf
    if noiseless:
        n_rows = "not protected."
    elif given.n_rows is None:
        n_rows = "protected; a noisy count is among the answers."
    else:
        replacing = epsilon_of(2 * mu, plan.budget.delta)
        n_rows = (
            f"{given.n_rows}, typed by the user and used as a constant. If it is exact, the "
            f"promise is for replacing one row instead, at epsilon = {replacing:.3g} and the same "
            "delta."
        )
    return Statement(
        subject=subject,
        private=noise == "OpenDP",
        unit="row",
        adjacency="two tables of the same columns, one of which has one row more.",
        epsilon=math.inf if noiseless else plan.budget.epsilon,
        delta=1.0 if noiseless else plan.budget.delta,
        mu=math.inf if noiseless else mu,
        replacing_epsilon=replacing,
        noise=noise,
        n_rows=n_rows,
        bounds_origin=origin,
        record=record,
        releases=tuple(
            ReleaseLine(
                release.slot,
                release.query,
                release.mechanism,
                release.answer.size,
                _sensitivity(release),
                0.0 if noiseless else release.sigma / 2**release.halvings,
                release.charge.mu2 / whole,
                2**release.halvings,
            )
            for release in releases
        ),
        version=VERSION,
    )


def _sensitivity(release: Release) -> float:
    """Return the most one row can add to an answer, in the norm its noise is made for."""
    charge = release.charge
    return release.scale / UNIT * (charge.mu if release.mechanism == "gaussian" else charge.epsilon)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        kind = type(value).__name__
        remedy = "Type it without quotes." if isinstance(value, str) else "Type a number."
        raise TypeError(f"{name} must be a number, got {shown(value)} ({kind}). {remedy}")
    return float(value)


def whole_number(name: str, value: object) -> int:
    """Return a parameter as an int, or say what it should be."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(
            f"{name} must be a whole number of at least 1, got {shown(value)}. Type one such as 8."
        )
    return int(value)


def _seed(value: object) -> int | None:
    if value is None or (isinstance(value, int | np.integer) and value >= 0):
        return None if value is None else int(value)
    raise ValueError(
        f"random_state must be None or a whole number from 0 up, got {shown(value)}. It seeds "
        "public choices only; generators are refused because two fits would share their state."
    )
