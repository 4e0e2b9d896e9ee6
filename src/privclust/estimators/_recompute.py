"""Models worked out anew from the results in their ledger: no row is read and nothing is spent.

A model file can hold anything that somebody wrote into it. What a finished run measured is in its
ledger, and all else follows from that: the same code on the same results gives the same numbers.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from privclust.domains.origin import FACTS_OF_TABLES
from privclust.domains.profiled import ProfileDomain
from privclust.engines.absent import AbsentEngine
from privclust.errors import NotRecomputableError
from privclust.estimators import _fit
from privclust.estimators._input import MEASURED, OpenTable
from privclust.estimators._recording import (
    FACTS_OF_CALLERS,
    fingerprint_of,
    versions,
)
from privclust.estimators._refit import refit
from privclust.models.cluster_model import ClusterModel
from privclust.models.model_file import to_json
from privclust.models.profile import Profile
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import Run
from privclust.privacy.progress import watching
from privclust.sources.cells import Kind
from privclust.sources.schema import Schema

if TYPE_CHECKING:
    from privclust.estimators.base import PrivateClusterer

_NOT_OF_ESTIMATORS = FACTS_OF_CALLERS | FACTS_OF_TABLES
_NOT_FROM_RESULTS = ("statement", "parameters", "decimal")
"""What a ledger is compared with in other ways, and how files are written."""


def differences_from_results(fitted: PrivateClusterer, place: str) -> list[str]:
    """Return what in a model is not what follows from its results in the ledger at `place`.

    Parameters
    ----------
    fitted : PrivateClusterer
        That `load` returns of a file as somebody hands it over.
    place : str
        Path or URL of the ledger that recorded its fit.

    Raises
    ------
    NotRecomputableError
        If the model follows from more than its results, such as another model or public points, or
        other versions made it.
    LedgerError
        If the ledger recorded a fit with other parameters or bounds.
    """
    models = fitted.model_, recompute(fitted, place)
    given, found = (json.loads(to_json(model)) for model in models)
    return [key for key in given if key not in _NOT_FROM_RESULTS and given[key] != found.get(key)]


def recompute(fitted: PrivateClusterer, place: str) -> ClusterModel:
    """Return the model that follows from the results in the ledger at `place`."""
    model, kind = fitted.model_, type(fitted)
    statement = model.privacy_statement
    run = Ledger.open(place).run(statement.run.name)
    _check_recomputable(model, run)
    estimator = kind.from_model(model)
    estimator.set_params(
        n_clusters=len(model.fitted.centers),
        ledger=place,
        dataset=run.label,
        period=run.facts.get("period"),
    )
    with watching(lambda step: None):  # nobody waits for rows, so there is no bar
        fit = _fit.prepare(
            estimator,
            _without_rows(model),
            estimator.plan,
            estimator.run,
            statement.run.name,
            {name: run.facts[name] for name in _NOT_OF_ESTIMATORS & run.facts.keys()},
        )
        again, _ = fit.carry_out()
    return again if model.refit_from is None else refit(again, kind.from_model(model))


def _check_recomputable(model: ClusterModel, run: Run) -> None:
    facts, cause = run.facts, None
    others = [
        f"{name} {facts.get(name)}" for name, one in versions().items() if facts.get(name) != one
    ]
    if others:
        cause = f"other versions made it: {', '.join(others)}"
    elif run.state != "finished":
        cause = "its run did not come to its end"
    elif {"init", "follows_from"} & set(facts) or facts.get("server_data", "None") != "None":
        cause = "it starts from another model or from points that are in no ledger"
    elif model.privacy_statement.run.unit.clients or model.privacy_statement.participation:
        cause = "its rows lie with clients of a federation"
    elif model.parameters.get("scale") == MEASURED:
        cause = "its columns were scaled by what was measured"
    if cause is not None:
        raise NotRecomputableError(cause)


def _without_rows(model: ClusterModel) -> OpenTable:
    """Return a table of the model's columns behind an engine that must not be used."""
    statement, columns = model.privacy_statement, model.n_features_in
    engine = AbsentEngine(model.domain.center.size, statement.run.unit)
    number: Kind = "number"
    schema = Schema(model.feature_names_in, (number,) * columns)
    return OpenTable(engine, schema, model.domain, statement.bounds_origin, lambda domain: engine)


def declares_as_recorded(profile: Profile, model: ClusterModel, ledger: Ledger) -> bool:
    """Tell whether a profile declares of its columns what its ledger recorded.

    Its numbers are worked out anew from its results whenever it is read.
    """
    names = tuple(map(str, model.feature_names_in or ()))
    declared = tuple(one.column for one in profile.columns)
    domain = ProfileDomain(model.domain, names, declared)
    recorded = ledger.run(profile.privacy_statement.run.name).facts
    return recorded.get("bounds") == fingerprint_of(domain)
