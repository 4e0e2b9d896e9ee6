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

from privclust.algorithms.choosing import KPath, k_path
from privclust.algorithms.merging import merge
from privclust.algorithms.scaling import variances
from privclust.domain import Box, Domain
from privclust.engines.base import Unit
from privclust.engines.federated import Attendance
from privclust.errors import ParameterError, TooManyClustersError
from privclust.geometry.grid import GRID, UNIT, FloatArray, norms, to_grid
from privclust.geometry.nearest import nearest
from privclust.mixed import Mixed
from privclust.parameters import (
    Parameters,
    budget_of,
    parameters_of,
    seed_of,
    sizes_of,
    whole_number,
)
from privclust.privacy.budget import QUANTA, Budget, epsilon_of, mu_of, pure_spend
from privclust.privacy.curator import Curator, Release, noise_is_real
from privclust.privacy.plan import Plan
from privclust.recording import recording
from privclust.release.clustering import Clustering, Coreset, Precision
from privclust.release.places import in_ball, in_units
from privclust.release.statement import NOT_COVERED, Record, ReleaseLine, Statement
from privclust.scaled_domains import by_spread
from privclust.sphere import Sphere
from privclust.tables import MEASURED, OpenTable, on_each_part
from privclust.version import __version__

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
    noiseless = given.epsilon == math.inf
    recorded = recording(model, domain, table.engine.unit, seed, resume)
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
    model.privacy_statement_ = stated(
        _subject(model, given.n_clusters),
        given,
        table.engine.unit,
        planned.spending,
        curator.releases,
        table.bounds_origin,
        recorded.record(curator.run, head),
        told_of_clients(table.attendance, len(curator.releases)),
        _start(model),
    )
    keep(model, found)
    if not noiseless and model.privacy_statement_.delta * found.n_rows > 1:
        warnings.warn(
            f"delta={model.privacy_statement_.delta:g} is more than one over the number of rows, "
            f"about {found.n_rows:,}: so large, it would allow to publish a row as it is. Type a "
            f"value well below, such as {10.0 ** -(len(str(found.n_rows)) + 1):g}.",
            stacklevel=3,
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
    return k_path(coreset, model.max_clusters or max(32, 2 * model.n_clusters), rng)


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


def _subject(model: Any, n_clusters: int) -> str:
    names = getattr(model, "feature_names_in_", None)
    listed = "" if names is None else f" ({', '.join(map(repr, names))})"
    kind = type(model).__name__
    return f"{kind}, {n_clusters} clusters, {model.n_features_in_} columns{listed}"


def _start(model: Any) -> str | None:
    """Say what a fit was given to start from."""
    for name in ("init", "server_data"):
        given = getattr(model, name, None)
        if isinstance(given, np.ndarray):
            return f"{len(given)} points that the user calls public ({name})"
        if given is not None:
            before: Statement = given.privacy_statement_
            run = "unrecorded" if before.record is None else f"run {before.record.run}"
            return (
                f"a model ({run}) with a promise of its own, epsilon = {before.epsilon:g}, delta = "
                f"{before.delta:g}"
            )
    return None


def check_public(model: Any, epsilon: float, role: str) -> None:
    """Refuse to build a promise on a model that had no real noise."""
    statement: Statement = model.privacy_statement_
    if statement.private or epsilon == math.inf or not noise_is_real():
        return
    raise ParameterError(
        f"{role} is NOT PRIVATE (noise: {statement.noise}), so what follows from it would not be "
        "private either, whatever epsilon is. Fit it with a finite epsilon and without "
        "privclust.testing."
    )


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


def stated(
    subject: str,
    given: Parameters,
    unit: Unit,
    plan: Plan,
    releases: tuple[Release, ...],
    origin: str,
    record: Record | None,
    federated: tuple[str, ...],
    start: str | None = None,
) -> Statement:
    """Put into words what was asked, what it cost and what it promises."""
    noise = " and ".join(sorted({release.noise for release in releases}))
    mu, replacing = _mu(plan.budget), None
    whole = sum(release.charge.mu2 for release in releases)
    noiseless = given.epsilon == math.inf
    if noiseless:
        n_rows = "not protected."
    elif given.n_rows is None:
        n_rows = "protected; a noisy count is among the answers."
    else:
        replacing = _replacing_epsilon(plan.budget)
        n_rows = (
            f"{given.n_rows}, typed by the user and used as a constant. If it is exact, the "
            f"promise is for replacing one {unit.name} instead, at epsilon = {replacing:.3g} and "
            "the same delta."
        )
    return Statement(
        subject=subject,
        private=noise == "OpenDP",
        unit=unit.name,
        adjacency=_adjacency(unit),
        epsilon=math.inf if noiseless else plan.budget.epsilon,
        delta=1.0 if noiseless else plan.budget.delta,
        mu=math.inf if noiseless else mu,
        replacing_epsilon=replacing,
        noise=noise,
        n_rows=n_rows,
        bounds_origin=origin,
        start=start,
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
        version=__version__,
        not_covered=(_several(unit), *federated, *NOT_COVERED),
    )


def _mu(budget: Budget) -> float:
    """Return what a promise is accounted as; a pure one by the mu of its epsilon."""
    if budget.delta == 0:
        return pure_spend(int(budget.epsilon * QUANTA)).mu
    return mu_of(budget.epsilon, budget.delta)


def _replacing_epsilon(budget: Budget) -> float:
    """Return the epsilon, at the same delta, for one unit that leaves and one that comes."""
    return 2 * budget.epsilon if budget.delta == 0 else epsilon_of(2 * _mu(budget), budget.delta)


def told_of_clients(attendance: tuple[Attendance, ...] | None, n_answers: int) -> tuple[str, ...]:
    """Say what a federation adds to what the promise does not speak of."""
    if attendance is None:
        return ()
    taking_part = []
    if attendance:
        fewest = min(attendance, key=lambda one: one.answered)
        taking_part.append(
            f"{fewest.answered} of {fewest.asked} clients or more answered each question"
        )
    if len(attendance) < n_answers:
        # Answers that a ledger had stored: who gave them is not stored.
        taking_part.append(
            f"not counting {n_answers - len(attendance)} answered before the fit was resumed"
        )
    return (
        "what the server of the federation sees, which are exact sums of each client",
        f"who takes part ({', '.join(taking_part)})",
    )


def _adjacency(unit: Unit) -> str:
    if unit.whole:
        return (
            "two federations of the same clients, in one of which one client has no rows. No "
            f"client's vector may be longer than those of {unit.rows} row(s)."
        )
    tables, where, each = "tables", "", ""
    if unit.silos:
        clients = "one client" if unit.silos == 1 else f"each of up to {unit.silos} clients"
        tables, where, each = "federations", f" at {clients}", " at each client"
    if unit.column is None:
        return f"two {tables} of the same columns, one of which has one row more{where}."
    return (
        f"two {tables} of the same columns, one of which has all rows of one {unit.column!r} more"
        f"{where}, however many. Rows without one count as one {unit.column!r}"
        f"{each or ' together'}. None may add more to an answer than {unit.rows} row(s) may{each}."
    )


def _several(unit: Unit) -> str:
    if unit.whole:
        return "people with rows at several clients, who are protected less than one client is"
    more = f", or with rows at more than {unit.silos} client(s)" if unit.silos else ""
    if unit.column is None:
        return f"people with several rows{more}, who are protected less than one row is"
    return (
        f"people with several values of {unit.column!r}{more}, who are protected less than one is"
    )


def _sensitivity(release: Release) -> float:
    """Return the most one row can add to an answer, in the norm its noise is made for."""
    charge = release.charge
    return release.scale / UNIT * (charge.mu if release.mechanism == "gaussian" else charge.epsilon)
