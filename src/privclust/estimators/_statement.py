"""Statements of fits and profiles, put together from what was planned, measured and given."""

from __future__ import annotations

import math
from collections.abc import Mapping

from privclust.errors import ParameterError
from privclust.estimators._own_parameters import models_in, n_points_in, own_parameters
from privclust.models._release_lines import noise_of
from privclust.models.private_run import PrivateRun, Record
from privclust.models.statement import (
    Dependency,
    Participation,
    PublicPoints,
    Role,
    Statement,
)
from privclust.privacy.curator import Curator, noise_is_real
from privclust.privacy.plan import Plan
from privclust.queries.participation import Cohort, QueryParticipation
from privclust.queries.unit import Unit


def run_of(
    curator: Curator,
    estimator: str,
    unit: Unit,
    record: Record | None,
    cohort: Cohort | None = None,
    n_rows: int | None = None,
    noiseless: bool = False,
) -> PrivateRun:
    """Return what a statement says of a run that has ended."""
    plan: Plan = curator.plan
    return PrivateRun(
        curator.run,
        estimator,
        unit,
        math.inf if noiseless else plan.budget.epsilon,
        1.0 if noiseless else plan.budget.delta,
        plan.reserve,
        n_rows,
        noise_of(curator.releases),
        record,
        cohort,
    )


def dependencies_of(role: Role, statement: Statement) -> tuple[Dependency, ...]:
    """Return what follows from a model depends on: its run, and what that depends on itself."""
    return (Dependency(role, statement.run), *statement.dependencies)


def given_to(
    parameters: Mapping[str, object],
) -> tuple[tuple[Dependency, ...], tuple[PublicPoints, ...]]:
    """Return what a fit was given to start from: runs of models, and points called public.

    Both may be parts of tuples and lists.
    """
    runs: tuple[Dependency, ...] = ()
    points: tuple[PublicPoints, ...] = ()
    for name, value in own_parameters(parameters).items():
        for model in models_in(value):
            runs += dependencies_of("start", model.privacy_statement)
            points += model.privacy_statement.public_points
        n_points = n_points_in(value)
        if n_points:
            points += (PublicPoints(name, n_points),)
    return runs, points


def participation_of(
    participation: tuple[QueryParticipation, ...] | None, n_results: int
) -> Participation | None:
    """Return how many clients of a federation responded, where there was one."""
    if participation is None:
        return None
    earlier = n_results - len(participation)
    if not participation:
        return Participation(0, 0, earlier)
    fewest = min(participation, key=lambda one: one.responded)
    return Participation(fewest.responded, fewest.invited, earlier)


def check_models(parameters: Mapping[str, object], unit: Unit, epsilon: float) -> None:
    """Refuse to build a guarantee on any model that a parameter is or holds, as `init` does."""
    for name, value in own_parameters(parameters).items():
        for model in models_in(value):
            role = f"the model given as {name}"
            check_dependency(model.privacy_statement, unit, epsilon, role)


def check_dependency(statement: Statement, unit: Unit, epsilon: float, role: str) -> None:
    """Refuse to build a guarantee on a model that had no real noise, or protects another unit."""
    if not (statement.private or epsilon == math.inf or not noise_is_real()):
        raise ParameterError(
            f"{role} is NOT PRIVATE (noise: {statement.run.noise}), so what follows from it would "
            "not be private either, whatever epsilon is. Fit it with a finite epsilon and without "
            "privclust.testing."
        )
    if not statement.run.unit.protects_same(unit):
        protected, wanted = statement.run.unit.ledger_name, unit.ledger_name
        raise ParameterError(
            f"{role} protects each {protected!r}, and this would protect each {wanted!r}: what "
            "follows from both would guarantee neither. Set unit as the model was fitted, or fit "
            "a model that protects the same unit."
        )
