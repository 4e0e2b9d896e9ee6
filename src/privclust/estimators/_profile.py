"""Profiles of a fitted model's clusters: what other columns are like in them, paid for anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from threadpoolctl import threadpool_limits

from privclust._version import __version__
from privclust.algorithms import profile as algorithm
from privclust.algorithms.profile import ColumnProfile, found_in
from privclust.domains._places import in_ball
from privclust.domains.bounds import Declarations, declared_columns
from privclust.domains.mixed import Column
from privclust.domains.profiled import Profiled, written
from privclust.errors import ColumnError, ParameterError, shown
from privclust.estimators._cost import check_cost, cost_of
from privclust.estimators._input import OpenTable, open_profiled
from privclust.estimators._parameters import budget_of, parameters_of
from privclust.estimators._recording import fact_of_dependency, fact_of_period, ledger_of, record_in
from privclust.estimators._statement import (
    check_dependency,
    dependencies_of,
    participation_of,
    run_of,
)
from privclust.kernels.grid import to_grid
from privclust.models._release_lines import lines_of
from privclust.models.intervals import Intervals
from privclust.models.private_run import PrivateRun
from privclust.models.statement import Statement
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.fingerprint import written_out
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.release import Release
from privclust.queries.unit import COORDINATES_MAX, Unit


@dataclass(frozen=True, eq=False)
class Profile:
    """What other columns are like in each cluster of a model; its statement says how private.

    Intervals hold the truth in 95 of 100 cases, by the noise alone: the truth is that of the rows
    nearest to each of the model's centres, clipped to the declared bounds.

    Attributes
    ----------
    clusters : str
        Hash of the centres, so that a profile is not taken for that of another model.
    sizes : Intervals of shape (k,)
        Numbers of rows of each cluster.
    columns : tuple of ColumnProfile
        Shares of levels and ranges, and means of numbers and dates.
    releases : tuple of Release
        The noisy answers that all numbers follow from.
    privacy_statement : Statement
        The guarantee of the profile and of the model it is grouped by, together: in words (print
        it) and as JSON (``to_json()``).

    Examples
    --------
    An estimator's `profile` shows one.
    """

    clusters: str
    sizes: Intervals
    columns: tuple[ColumnProfile, ...]
    releases: tuple[Release, ...]
    privacy_statement: Statement

    @classmethod
    def of(
        cls,
        clusters: str,
        columns: tuple[Column, ...],
        n_clusters: int,
        releases: tuple[Release, ...],
        statement: Statement,
    ) -> Profile:
        """Return the profile that follows from two answers, the `releases`.

        `clusters` is the hash of the centres, of which there are `n_clusters`; `columns` are those
        that were profiled, and `statement` is its guarantee.
        """
        found = found_in(releases, columns, n_clusters)
        return cls(clusters, found.sizes, found.columns, releases, statement)

    def __getitem__(self, name: str) -> ColumnProfile:
        """Return what was found about one column."""
        for column in self.columns:
            if column.column.name == name:
                return column
        known = ", ".join(repr(column.column.name) for column in self.columns)
        raise KeyError(f"the profile has no column {name!r}; it has {known}.")

    def __str__(self) -> str:
        return "\n".join(
            f"cluster {cluster}: "
            + "; ".join(f"{one.column.name} {summary(one, cluster)}" for one in self.columns)
            for cluster in range(len(self.sizes.values))
        )


def summary(column: ColumnProfile, cluster: int) -> str:
    """Return a column's mean in a cluster, or its most frequent level, with its interval."""
    if column.means is not None:
        return said(column, cluster)
    place = int(column.shares.values[cluster].argmax())
    return f"{column.labels[place]} {said(column, cluster, place)}"


def said(column: ColumnProfile, cluster: int, place: int | None = None) -> str:
    """Return the share of a place in a cluster, or the column's mean there, with its interval."""
    if place is not None:
        shares = column.shares
        value, lower, upper = (
            f"{100 * side[cluster, place]:.1f}"
            for side in (shares.values, shares.lower, shares.upper)
        )
        return f"{value} % ({lower} to {upper})"
    means = column.means
    assert means is not None
    step = float(means.upper[cluster] - means.lower[cluster]) / 4
    value, lower, upper = (
        written(column.column, float(side[cluster]), step)
        for side in (means.values, means.lower, means.upper)
    )
    return f"{value} ({lower} to {upper})"


def open_profile(model: Any, X: Any, columns: Sequence[str], bounds: Declarations) -> OpenTable:
    """Put a table behind an engine that reads a model's columns and those to profile."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ColumnError(
            "a profile reads columns by name, and this model was fitted on a table without names. "
            "Fit it on a DataFrame, an Arrow table or files."
        )
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError("columns must be a list of names, such as ['income', 'ward'].")
    declared, origin = declared_columns(bounds, columns)
    domain = Profiled(model.domain_, tuple(map(str, names)), declared)
    size = len(model.cluster_centers_) * sum(domain.n_places)
    if size > COORDINATES_MAX:
        raise ParameterError(
            f"this profile asks for {size:,} shares, more than {COORDINATES_MAX:,}. Profile fewer "
            "columns at a time, or declare fewer levels."
        )
    return open_profiled(model, X, domain, origin)


def ask(
    model: Any,
    table: OpenTable,
    epsilon: float,
    delta: float | None,
    ledger: str | None,
    dataset: str | None,
    period: str | None,
) -> Profile:
    """Ask a profile's questions, within what the data set's budget has left."""
    domain, unit = table.domain, table.engine.unit
    assert isinstance(domain, Profiled)
    check_dependency(model, unit, epsilon, "the model to profile")
    budget = _budget(model, epsilon, delta)
    account, label = ledger_of(*_account(model, ledger, dataset), unit)
    _check_account(model.privacy_statement_.run, account, label)
    planned = algorithm.plan(in_ball(model.domain_, model.cluster_centers_), domain, budget)
    check_cost(cost_of(planned), "this profile", unit)
    facts = _facts(model, domain, budget, unit, table.bounds_origin)
    facts |= fact_of_period(getattr(model, "period", None) if period is None else period)
    curator = Curator.open(table.engine, planned.spending, account, label, facts)
    with threadpool_limits(1, "blas"):
        try:
            algorithm.run(curator, planned)
        finally:
            table.close()
        head = curator.close()
    n_clusters = len(model.cluster_centers_)
    statement = Statement(
        "profile",
        type(model).__name__,
        n_clusters,
        tuple(column.name for column in domain.columns),
        run_of(curator, "profile", unit, record_in(account, label, head)),
        lines_of(curator.releases, noiseless=False),
        table.bounds_origin,
        dependencies_of("clusters", model),
        model.privacy_statement_.public_points,
        participation_of(table.attendance, len(curator.releases)),
    )
    return Profile.of(clusters_of(model), domain.columns, n_clusters, curator.releases, statement)


def clusters_of(model: Any) -> str:
    """Return a hash of a model's centres, as rows are assigned to them."""
    centers = to_grid(in_ball(model.domain_, model.cluster_centers_))
    return sha256(centers.tobytes()).hexdigest()[:16]


def _budget(model: Any, epsilon: float, delta: float | None) -> Budget:
    run: PrivateRun = model.privacy_statement_.run
    if float("inf") in (run.epsilon, epsilon):
        raise ParameterError(
            "a profile needs a finite epsilon, and a model that was fitted with one: of centres "
            "without noise nothing is private. Fit with a finite epsilon first."
        )
    wanted = run.delta if delta is None else delta
    if wanted == 0:
        raise ParameterError(
            "a profile has Gaussian noise and cannot promise delta=0, as this model does. Type a "
            "delta well below one over the number of rows, such as delta=1e-6."
        )
    return budget_of(replace(parameters_of(model), epsilon=epsilon, delta=wanted))


def _account(model: Any, ledger: str | None, dataset: str | None) -> tuple[object, object]:
    """Return which ledger pays, and for which data set: the fit's, unless others are typed."""
    record = model.privacy_statement_.record
    place = model.ledger if ledger is None else ledger
    label = model.dataset if dataset is None else dataset
    if label is None and record is not None:
        label = record.dataset
    if place is None and record is not None:
        raise ParameterError(
            f"the fit is recorded in a ledger, for data set {shown(record.dataset)}, and model "
            "files do not say where that is. Type ledger, its path or URL, so that the profile is "
            "charged to the same account."
        )
    return place, label


def _check_account(fit: PrivateRun, account: Ledger | None, label: str) -> None:
    """Refuse an account that did not pay for the fit: the rows would have two budgets."""
    record = fit.record
    if record is None or account is None:
        return
    if label != record.dataset or fit.name not in {run.name for run in account.runs(label)}:
        raise ParameterError(
            f"the fit is run {fit.name} of data set {shown(record.dataset)}, which this ledger "
            f"does not have under {shown(label)}. Give the ledger and the data set that paid for "
            "the fit: rows with two accounts would be protected by neither."
        )


def _facts(model: Any, domain: Profiled, budget: Budget, unit: Unit, origin: str) -> dict[str, str]:
    """Return what is public about a profile, for the ledger."""
    return {
        "estimator": "profile",
        "n_clusters": str(len(model.cluster_centers_)),
        "clusters": clusters_of(model),
        "columns": ", ".join(column.name for column in domain.columns),
        "epsilon": repr(budget.epsilon),
        "delta": repr(budget.delta),
        "bounds": sha256(written_out(domain)).hexdigest()[:16],
        "bounds_origin": origin,
        "unit": unit.ledger_name,
        "unit_rows": str(unit.rows),
        **fact_of_dependency(model),
        "privclust": __version__,
    }
