"""Fits and profiles at a node: what is sent, and what of the result is believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from privclust.errors import Message, Parameter, ParameterError
from privclust.estimators._common_parameters import Parameters, budget_of, seed_of, sizes_of
from privclust.estimators._profile import ProfileRequest, check_column_names
from privclust.estimators._progress import showing_progress
from privclust.models.cluster_model import ClusterModel
from privclust.models.model_file import model_from_bytes
from privclust.models.private_run import PrivateRun
from privclust.models.profile import Profile, clusters_of
from privclust.models.profile_file import profile_from_bytes
from privclust.privacy import progress
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.remote._fields import printable
from privclust.remote.error import RemoteError, parts_of
from privclust.remote.request import not_for_a_node, request_of
from privclust.remote.runs import RunStatus
from privclust.remote.table import RemoteTable

Parts = list[str | Parameter]
"""Of a message."""


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
    _check_name(statement.run, name)
    if statement.kind != "fit" or statement.dependencies:
        _refuse(f"as fit {name} what is none")
    others = {model.estimator, statement.run.estimator} - {kind}
    differences: Parts = [f"estimator {printable(other)}" for other in sorted(others)]
    if len(model.cluster_centers) != n_clusters:
        differences.append(Parameter("n_clusters", len(model.cluster_centers)))
    differences += _weaker(statement.run, estimator.epsilon, parameters.get("delta"))
    names = list(map(printable, model.feature_names_in or ()))
    if table.columns is not None and set(table.columns) != set(names):
        differences.append(Parameter("columns", names))
    _check_same(name, differences, resume)
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
    if bounds is not None:
        raise not_for_a_node("bounds", "the owner declared what columns may hold")
    for name in ("ledger", "dataset", "period"):
        if getattr(request, name) is not None:
            raise not_for_a_node(name, "the node charges the account of the fit")
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
    _check_name(statement.run, name)
    if statement.run.estimator != "profile":
        _refuse(f"as profile {name} what is none")
    differences = _weaker(statement.run, request.epsilon, delta)
    measured = [printable(column.column.name) for column in found.columns]
    if set(measured) != set(columns):
        differences.append(Parameter("columns", measured))
    grouped = [one.run.name for one in statement.dependencies]
    if grouped != [fitted.name]:
        differences.append(f"the model of run {printable(', '.join(grouped))}")
    elif found.clusters != clusters_of(model):
        differences.append("a model with other clusters")
    _check_same(name, differences, request.resume)
    return found


def _weaker(run: PrivateRun, epsilon: float, delta: object) -> Parts:
    """Return what of a run guarantees less than was typed."""
    found: Parts = [] if run.epsilon <= epsilon else [Parameter("epsilon", run.epsilon)]
    if isinstance(delta, int | float) and not run.delta <= delta:
        found.append(Parameter("delta", run.delta))
    return found


def _check_name(run: PrivateRun, name: str) -> None:
    if run.name != name:
        _refuse(f"run {printable(run.name)}, where run {name} was requested")


def _check_same(name: str, differences: Parts, resume: str | None) -> None:
    """Refuse a run with other parameters: who resumes one may have typed others then."""
    if not differences:
        return
    listed = [part for one in differences for part in (", ", one)][1:]
    if resume is None:
        _refuse(f"run {name} with other parameters: ", *listed)
    raise ParameterError(
        Message(
            f"run {name} was started with other parameters: ",
            *listed,
            ". Resume it with those; nothing more was spent.",
        )
    )


def _refuse(*what: str | Parameter) -> NoReturn:
    end = ". It is not used. Tell the owner of the node."
    raise RemoteError(Message("the node sent ", *what, end))


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


def _over_budget(error: RemoteError) -> str:
    requested, remaining = (error.numbers.get(name) for name in ("requested", "remaining"))
    if requested is None or remaining is None:
        return Message(*parts_of(error.args[0]))
    affordable = f"{remaining:g}"
    remedy: Parts = ["Nothing is left of it. Talk to the owner of the table."]
    if remaining > 0:
        parameter = Parameter("epsilon", affordable, f"epsilon = {affordable}")
        remedy = ["Ask for at most ", parameter, ", or talk to the owner of the table."]
    return Message(
        "what is left of your part of the budget, or of the table's total, does not cover this "
        "run; nothing was read.\n"
        f"  Requested:  epsilon {requested:.4g}\n"
        f"  Remaining:  epsilon {affordable}\n",
        *remedy,
    )


def _report(status: RunStatus, seconds_left: float) -> None:
    progress.report(progress.Wait(status.state, status.progress, seconds_left))
