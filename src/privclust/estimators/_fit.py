"""One fit, room by room: what every estimator does around its algorithm."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from privclust.algorithms._merge import merge
from privclust.algorithms._scale import variances
from privclust.domains._places import in_ball, in_units
from privclust.domains._scaled import by_spread
from privclust.domains.base import Box, Domain
from privclust.domains.mixed import Mixed
from privclust.domains.sphere import Sphere
from privclust.errors import TooManyClustersError
from privclust.estimators._cost import check_cost, cost_of
from privclust.estimators._derived_cost import k_path_cost, refit_cost
from privclust.estimators._input import MEASURED, OpenTable, on_each_part
from privclust.estimators._parameters import (
    budget_of,
    parameters_of,
    seed_of,
    sizes_of,
    whole_number,
)
from privclust.estimators._recording import recording
from privclust.estimators._statement import given_to, participation_of, run_of
from privclust.kernels.grid import GRID, FloatArray, norms, to_grid
from privclust.kernels.nearest import nearest
from privclust.models._release_lines import lines_of
from privclust.models.clustering import Clustering, Coreset, Precision
from privclust.models.k_path import KPath, k_path
from privclust.models.statement import Statement
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan

KEPT_BY_REFIT = (
    "domain_",
    "n_features_in_",
    "feature_names_in_",
    "center_names_",
    "releases_",
    "coreset_",
)


class AlgorithmPlan(Protocol):
    """What any algorithm's plan has."""

    @property
    def spending(self) -> Plan:
        """The slots."""


def fit(
    model: Any,
    table: OpenTable,
    plan: Callable[..., AlgorithmPlan],
    run: Callable[[Curator, Any, np.random.Generator], Clustering],
    resume: str | None = None,
) -> None:
    """Run an algorithm on a table and keep what it releases on `model`."""
    given, schema, domain = parameters_of(model), table.schema, table.domain
    n_clusters, n_rows = sizes_of(given)
    seed = seed_of(given.random_state)
    planned = plan(n_clusters, domain.center.size, budget_of(given), n_rows)
    check_cost(cost_of(planned), unit=table.engine.unit)
    noiseless = given.epsilon == math.inf
    recorded = recording(model, domain, table.bounds_origin, table.engine.unit, seed, resume)
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
        try:
            if given.scale == MEASURED:
                curator, domain = _rescaled(curator, table)
            found = run(curator, planned, np.random.default_rng(recorded.seed))
        finally:
            table.close()
        head = curator.close()
    if noiseless:
        found = _known_exactly(found)
    keep_columns(model, domain, schema.n_columns, schema.names)
    model.releases_ = curator.releases
    vars(model).pop("attendance_", None)
    if table.attendance is not None:
        model.attendance_ = table.attendance
    dependencies, public_points = given_to(model)
    kind, record = type(model).__name__, recorded.record(head)
    model.privacy_statement_ = Statement(
        "fit",
        kind,
        n_clusters,
        schema.n_columns if schema.names is None else tuple(map(str, schema.names)),
        run_of(curator, kind, table.engine.unit, record, n_rows, noiseless),
        lines_of(curator.releases, noiseless),
        table.bounds_origin,
        dependencies,
        public_points,
        participation_of(table.attendance, len(curator.releases)),
    )
    keep(model, found)
    delta = planned.spending.budget.delta
    if not noiseless and delta * found.n_rows > 1:
        warnings.warn(
            f"delta={delta:g} is more than one over the number of rows, "
            f"about {found.n_rows:,}: a delta that large would allow publishing a row as it is. "
            f"Type a value well below, such as {10.0 ** -(len(str(found.n_rows)) + 1):g}.",
            stacklevel=4,
        )


def keep_columns(model: Any, domain: Domain, n_columns: int, names: Sequence[str] | None) -> None:
    """Put what is public about the columns on `model`: the domain, how many, what they are called.

    A category has a coordinate for each of its levels, which has a name of its own.
    """
    model.domain_, model.n_features_in_ = domain, n_columns
    for name in ("feature_names_in_", "center_names_"):
        vars(model).pop(name, None)
    if names is not None:
        own = isinstance(domain, Mixed) or (isinstance(domain, Sphere) and domain.vector)
        coordinates = domain.feature_names if own else names  # type: ignore[attr-defined]
        model.feature_names_in_ = np.array(names, dtype=object)
        model.center_names_ = np.array(coordinates, dtype=object)


def keep(model: Any, found: Clustering) -> None:
    """Put a clustering of the unit ball on `model`, in the user's units, largest cluster first."""
    domain: Domain = model.domain_
    order = np.argsort(-found.sizes, kind="stable")
    centers = in_units(domain, found.centers[order])
    lengths = norms(centers)[:, None] if isinstance(domain, Sphere) else np.ones((len(order), 1))
    model.cluster_centers_ = centers / np.where(lengths > 0, lengths, 1.0)
    model.cluster_sizes_ = found.sizes[order]
    model.n_rows_ = found.n_rows
    if found.precision is not None:
        stderr = found.precision.center_stderr[order, None] * domain.spread / lengths
        slopes = domain.slopes(model.cluster_centers_) if isinstance(domain, Mixed) else 1.0
        model.center_stderr_ = stderr * slopes
        model.size_stderr_ = found.precision.size_stderr[order]
        model.cluster_radii_ = found.precision.radii[order]
    if found.coreset is not None:
        model.coreset_ = replace(found.coreset, points=in_units(domain, found.coreset.points))


def choices(model: Any) -> KPath:
    """Return what other numbers of clusters would give, from the coreset alone."""
    coreset = replace(model.coreset_, points=in_ball(model.domain_, model.coreset_.points))
    rng = np.random.default_rng(seed_of(model.random_state) or 0)
    most = model.max_clusters or max(32, 2 * model.n_clusters)
    n_points, n_columns = coreset.points.shape
    check_cost(k_path_cost(n_points, most, n_columns), "this k_path")
    return k_path(coreset, most, rng)


def label_parts(model: Any, X: Any, keep: Callable[[NDArray[np.int64]], None]) -> None:
    """Hand labels to `keep`, part by part, so that they need not fit in memory."""
    centers = _centers(model)

    def work(rows: FloatArray) -> FloatArray:
        keep(nearest(rows, centers))
        return np.empty(0)

    on_each_part(work, model, X)


def labels(model: Any, X: Any) -> NDArray[np.int64]:
    """Return the index of the nearest centre for each row, as the fit itself would vote."""
    centers = _centers(model)
    return on_each_part(lambda rows: nearest(rows, centers), model, X)  # type: ignore[no-any-return]


def distances(model: Any, X: Any) -> FloatArray:
    """Return the distance of each row to each centre, in radii of the domain."""
    centers = _centers(model)

    def measured(rows: FloatArray) -> FloatArray:
        return np.column_stack(
            [np.sqrt(((rows - center) ** 2).sum(axis=1)) / GRID for center in centers]
        )

    return on_each_part(measured, model, X)  # type: ignore[no-any-return]


def refit(model: Any, n_clusters: object) -> Any:
    """Return a new fitted estimator with another number of clusters, from the coreset alone."""
    wanted = whole_number("n_clusters", n_clusters)
    coreset: Coreset = model.coreset_
    available = int(np.count_nonzero(coreset.weights > 0))
    if wanted > available:
        raise TooManyClustersError(
            f"the coreset has {available} point(s) with rows, too few for {wanted} cluster(s). Ask "
            f"for fewer, or fit again with max_clusters={wanted}, which spends budget again and "
            "needs rows enough for as many."
        )
    check_cost(refit_cost(len(coreset.points), wanted, coreset.points.shape[1]), "this refit")
    statement: Statement = model.privacy_statement_
    # Parameters may have been changed since the fit; the statement says what held then.
    other = clone(model).set_params(n_clusters=wanted, epsilon=statement.run.epsilon)
    if statement.run.epsilon < math.inf:
        other.set_params(delta=statement.run.delta)
    for name in KEPT_BY_REFIT:
        if hasattr(model, name):
            setattr(other, name, getattr(model, name))
    other.privacy_statement_ = replace(statement, kind="refit", n_clusters=wanted)
    points = replace(coreset, points=in_ball(model.domain_, coreset.points))
    rng = np.random.default_rng(seed_of(model.random_state))
    merged = merge(points, wanted, rng)
    keep(other, Clustering(merged.centers, merged.sizes, model.n_rows_, merged.precision))
    return other


def tags(given: Any) -> Any:
    """Return scikit-learn's tags with what is true of every estimator here."""
    given.input_tags.allow_nan = True
    given.non_deterministic = True
    return given


def _centers(model: Any) -> FloatArray:
    return to_grid(in_ball(model.domain_, model.cluster_centers_))


def _rescaled(curator: Curator, table: OpenTable) -> tuple[Curator, Domain]:
    """Measure how columns are spread, and ask the same rows on that scale from then on."""
    domain = table.domain
    assert isinstance(domain, Box | Mixed)
    assert table.reopened is not None
    domain = by_spread(domain, variances(curator, domain.reach / domain.spread))
    return curator.over(table.reopened(domain)), domain


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
