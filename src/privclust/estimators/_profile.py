"""Profiles of a fitted model's clusters: what other columns are like in them, paid for anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privclust.algorithms import profile as algorithm
from privclust.algorithms._cost import cost_of
from privclust.domains.base import Domain
from privclust.domains.bounds import Declarations, declared_columns
from privclust.domains.profiled import ProfileDomain
from privclust.errors import BoundsError, ColumnError, Message, Parameter, ParameterError, safe_repr
from privclust.estimators._common_parameters import Parameters, budget_of
from privclust.estimators._cost_check import check_cost
from privclust.estimators._input import OpenTable, open_profiled
from privclust.estimators._recorded_run import PlannedRun
from privclust.estimators._recording import (
    Recording,
    fact_of_dependencies,
    fact_of_period,
    fingerprint_of,
    ledger_of,
    run_to_resume,
    source_of,
    versions,
)
from privclust.estimators._statement import check_dependency, dependencies_of
from privclust.models.cluster_model import ClusterModel
from privclust.models.private_run import PrivateRun
from privclust.models.profile import Profile, clusters_of
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.ledger import Ledger
from privclust.queries.unit import COORDINATES_MAX, Unit


@dataclass(frozen=True)
class ProfileRequest:
    """What a profile may spend and who pays, as a user types it."""

    epsilon: float
    delta: float | None = None
    ledger: str | None = None
    dataset: str | None = None
    period: str | None = None
    resume: str | None = None


def open_profile(
    estimator: Parameters,
    model: ClusterModel,
    X: Any,
    columns: Sequence[str],
    bounds: Declarations | None,
) -> OpenTable:
    """Put a table behind an engine that reads a model's columns and those to profile."""
    names = model.feature_names_in
    if names is None:
        raise ColumnError(
            "a profile reads columns by name, and this model was fitted on a table without names. "
            "Fit it on a DataFrame, an Arrow table or files."
        )
    check_column_names(columns)
    if bounds is None:
        raise BoundsError(
            "bounds are missing. Give bounds of the columns to profile, such as {'income': (0, "
            "1e6)}, from knowledge of the field, not from the rows."
        )
    declared, origin = declared_columns(bounds, columns)
    domain = ProfileDomain(model.domain, tuple(map(str, names)), declared)
    size = len(model.cluster_centers) * sum(domain.n_places)
    if size > COORDINATES_MAX:
        raise ParameterError(
            f"this profile measures {size:,} shares, more than {COORDINATES_MAX:,}. Profile fewer "
            "columns at a time, or declare fewer levels."
        )
    return open_profiled(estimator, X, domain, origin)


def check_column_names(columns: Sequence[str]) -> None:
    """Refuse what is not a list of names; one text would be read letter by letter."""
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError("columns must be a list of names, such as ['income', 'ward'].")


@dataclass(frozen=True, eq=False)
class PreparedProfile:
    """A profile that is checked and priced; none of its rows has been read."""

    model: ClusterModel
    planned: algorithm.ProfilePlan
    run: PlannedRun

    def carry_out(self, before_end: Callable[[], None] | None = None) -> Profile:
        """Measure; `before_end` is called when everything has been, before the run ends."""

        def work(curator: Curator) -> None:
            algorithm.run(curator, self.planned)

        model, noted = self.model, self.run.table.domain.noted
        done = self.run.carry_out(work, before_end)
        n_clusters, statement = len(model.cluster_centers), model.privacy_statement
        guarantee = done.statement(
            "profile",
            model.estimator,
            n_clusters,
            tuple(column.name for column in noted),
            dependencies_of("clusters", statement),
            statement.public_points,
        )
        return Profile.of(clusters_of(model), noted, n_clusters, done.releases, guarantee)


def prepare_profile(
    estimator: Parameters,
    model: ClusterModel,
    table: OpenTable,
    request: ProfileRequest,
    facts: Mapping[str, str] | None = None,
) -> PreparedProfile:
    """Check and price a profile; nothing is read or charged.

    `facts` are recorded in the ledger beside what it records of every profile.
    """
    domain, unit, statement = table.domain, table.engine.unit, model.privacy_statement
    check_dependency(statement, unit, request.epsilon, "the model to profile")
    budget = _budget(statement.run, request.epsilon, request.delta)
    account = _account(estimator, statement.run, request)
    ledger, label = ledger_of(*account, unit, is_profile=True)
    _check_account(statement.run, ledger, label)
    planned = algorithm.plan(model.domain.to_ball(model.cluster_centers), domain, budget)
    check_cost(cost_of(planned), "this profile", unit)
    resume = run_to_resume(request.resume, ledger)
    source = source_of(table.snapshot, ledger, resume)
    recorded_facts = {
        **_facts(model, domain, budget, unit, table.bounds_origin),
        **fact_of_period(estimator.period if request.period is None else request.period),
        **({} if source is None else source.facts),
        **(facts or {}),
    }
    call = "profile(X, ..., resume=RUN)"
    recorded = Recording(ledger, label, recorded_facts, resume, call, source)
    run = PlannedRun("profile", table, planned.spending, recorded)
    return PreparedProfile(model, planned, run)


def _budget(fit: PrivateRun, epsilon: float, delta: float | None) -> Budget:
    if float("inf") in (fit.epsilon, epsilon):
        raise ParameterError(
            "a profile needs a finite epsilon, and a model that was fitted with one: of centres "
            "without noise nothing is private. Fit with a finite epsilon first."
        )
    wanted = fit.delta if delta is None else delta
    if wanted == 0:
        raise ParameterError(
            Message(
                "a profile has Gaussian noise and cannot guarantee ",
                Parameter("delta", 0),
                ", as this model does. Type a delta well below one over the number of rows, such "
                "as ",
                Parameter("delta", "1e-6"),
                ".",
            )
        )
    return budget_of(epsilon, wanted)


def _account(
    estimator: Parameters, fit: PrivateRun, request: ProfileRequest
) -> tuple[object, object]:
    """Return which ledger pays, and for which data set: the fit's, unless others are typed."""
    record = fit.record
    place = estimator.ledger if request.ledger is None else request.ledger
    label = estimator.dataset if request.dataset is None else request.dataset
    if label is None and record is not None:
        label = record.dataset
    if place is None and record is not None:
        raise ParameterError(
            Message(
                f"the fit is recorded in a ledger, for data set {safe_repr(record.dataset)}, and "
                "model files do not say where that is. Type its path or URL, as in ",
                Parameter("ledger", "budget.db", "ledger='budget.db'"),
                ", so that the profile is charged to the same account.",
            )
        )
    return place, label


def _check_account(fit: PrivateRun, account: Ledger | None, label: str) -> None:
    """Refuse an account that did not pay for the fit: the rows would have two budgets."""
    record = fit.record
    if record is None or account is None:
        return
    if label != record.dataset or fit.name not in {run.name for run in account.runs(label)}:
        raise ParameterError(
            f"the fit is run {fit.name} of data set {safe_repr(record.dataset)}, which this ledger "
            f"does not have under {safe_repr(label)}. Give the ledger and the data set that paid "
            "for the fit: rows with two accounts would be protected by neither."
        )


def _facts(
    model: ClusterModel, domain: Domain, budget: Budget, unit: Unit, origin: str
) -> dict[str, str]:
    """Return what is public about a profile, for the ledger."""
    return {
        "estimator": "profile",
        "n_clusters": str(len(model.cluster_centers)),
        "clusters": clusters_of(model),
        "columns": ", ".join(column.name for column in domain.noted),
        "epsilon": repr(budget.epsilon),
        "delta": repr(budget.delta),
        "bounds": fingerprint_of(domain),
        "bounds_origin": origin,
        "unit": unit.ledger_name,
        "max_rows_per_unit": str(unit.rows),
        **fact_of_dependencies([model]),
        **versions(),
    }
