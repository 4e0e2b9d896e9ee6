"""Fits and profiles at a node: what is sent, and what of the result is believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from privclust.errors import Message, Parameter, ParameterError
from privclust.estimators._common_parameters import Parameters, budget_of, seed_of, sizes_of
from privclust.estimators._profile import ProfileRequest, check_column_names
from privclust.estimators._progress import showing_progress
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import rounded_down
from privclust.models.model_file import model_from_bytes
from privclust.models.private_run import PrivateRun
from privclust.models.profile import Profile, clusters_of
from privclust.models.profile_file import profile_from_bytes
from privclust.models.statement import Statement
from privclust.privacy import progress
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.remote.error import RemoteError
from privclust.remote.request import request_of
from privclust.remote.runs import RunStatus
from privclust.remote.table import RemoteTable


def fit_remotely(estimator: Parameters, table: RemoteTable, resume: str | None) -> ClusterModel:
    """Let a node fit an estimator, and return the model if it is what was asked for."""
    kind, parameters = request_of(estimator)
    n_clusters, _ = sizes_of(estimator)
    seed_of(estimator.random_state)
    if resume is None:
        if estimator.delta is None:
            parameters["delta"] = table.describe().delta
        budget_of(estimator.epsilon, parameters["delta"])
    with _waiting():
        name, content = table._run_fit(kind, parameters, resume, _report)
    model = model_from_bytes(content, f"model of {name}")
    statement = model.privacy_statement
    _check_run(statement.run, name, kind, estimator.epsilon, parameters.get("delta"))
    found = (model.estimator, statement.kind, len(model.cluster_centers), statement.dependencies)
    if found != (kind, "fit", n_clusters, ()):
        _refuse(f"a model of {model.estimator} with {found[2]} clusters", statement)
    if table.columns is not None and set(table.columns) != set(model.feature_names_in or ()):
        _refuse("a model of other columns", statement)
    return model


def profile_remotely(
    model: ClusterModel,
    table: RemoteTable,
    columns: Sequence[str],
    bounds: object,
    request: ProfileRequest,
) -> Profile:
    """Let a node measure a profile of a model that it fitted."""
    check_column_names(columns)
    _check_unset("bounds", bounds, "the owner declared what columns may hold")
    for name in ("ledger", "dataset", "period"):
        _check_unset(name, getattr(request, name), "the node charges the account of the fit")
    fitted = model.privacy_statement.run
    delta = fitted.delta if request.delta is None else request.delta
    budget_of(request.epsilon, delta)
    content = {
        "fit": fitted.name,
        "columns": list(columns),
        "epsilon": float(request.epsilon),
        "delta": float(delta),
    }
    with _waiting():
        name, text = table._run_profile(content, request.resume, _report)
    found = profile_from_bytes(text, f"profile of {name}")
    statement = found.privacy_statement
    _check_run(statement.run, name, "profile", request.epsilon, delta)
    measured = tuple(column.column.name for column in found.columns)
    grouped = [one.run.name for one in statement.dependencies]
    if found.clusters != clusters_of(model) or set(measured) != set(columns):
        _refuse("a profile of other clusters or columns", statement)
    if grouped != [fitted.name]:
        _refuse("a profile that follows from other runs", statement)
    return found


def _check_unset(name: str, value: object, why: str) -> None:
    if value is not None:
        raise ParameterError(
            Message(
                Parameter(name),
                f" cannot be set for a remote table: {why}. Leave it out. Nothing was sent.",
            )
        )


def _check_run(run: PrivateRun, name: str, kind: str, epsilon: float, delta: object) -> None:
    """Refuse what says of itself that it is another run, or guarantees less than was typed."""
    found = f"a result of run {run.name} by {run.estimator} at epsilon {run.epsilon:g}"
    if (run.name, run.estimator) != (name, kind) or not run.epsilon <= epsilon:
        _refuse_text(f"{found}, where run {name} by {kind} at epsilon {epsilon:g} was requested")
    if isinstance(delta, int | float) and not run.delta <= delta:
        _refuse_text(f"{found} and delta {run.delta:g}, where delta {delta:g} was requested")


def _refuse(what: str, statement: Statement) -> None:
    _refuse_text(f"{what} as run {statement.run.name}, which is not what was requested")


def _refuse_text(what: str) -> None:
    raise RemoteError(f"the node sent {what}. It is not used. Tell the owner of the node.")


@contextmanager
def _waiting() -> Iterator[None]:
    """Show how far a run is; say what a ledger says where the budget does not suffice."""
    try:
        with showing_progress():
            yield
    except RemoteError as error:
        if error.kind != "budget-exceeded":
            raise
        refusal = _over_budget(error)
    else:
        return
    raise BudgetExceededError(refusal)


def _over_budget(error: RemoteError) -> Message | str:
    requested, remaining = (error.numbers.get(name) for name in ("requested", "remaining"))
    if requested is None or remaining is None:
        return str(error)
    affordable = rounded_down(remaining)
    return Message(
        "the data set's budget does not cover this run; nothing was read.\n"
        f"  Requested:  epsilon {requested:.4g}\n"
        f"  Remaining:  epsilon {remaining:.4g}\n"
        "Ask for at most ",
        Parameter("epsilon", affordable, f"epsilon = {affordable}"),
        "; a budget never grows.",
    )


def _report(status: RunStatus, seconds_left: float) -> None:
    progress.report(progress.Wait(status.state, status.progress, seconds_left))
