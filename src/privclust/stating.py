"""What a fit promised, put into words from what was planned, asked and answered."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from privclust.engines.base import Unit
from privclust.engines.federated import Attendance
from privclust.errors import ParameterError
from privclust.geometry.grid import UNIT
from privclust.parameters import Parameters
from privclust.privacy.budget import QUANTA, Budget, epsilon_of, mu_of, pure_spend
from privclust.privacy.curator import Release, noise_is_real
from privclust.privacy.plan import Plan
from privclust.release.statement import NOT_COVERED, Record, ReleaseLine, Statement
from privclust.version import __version__


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


def subject_of(model: Any, n_clusters: int) -> str:
    """Say what was fitted."""
    names = getattr(model, "feature_names_in_", None)
    listed = "" if names is None else f" ({', '.join(map(repr, names))})"
    kind = type(model).__name__
    return f"{kind}, {n_clusters} clusters, {model.n_features_in_} columns{listed}"


def start_named(model: Any) -> str | None:
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


def _mu(budget: Budget) -> float:
    """Return what a promise is accounted as; a pure one by the mu of its epsilon."""
    if budget.delta == 0:
        return pure_spend(int(budget.epsilon * QUANTA)).mu
    return mu_of(budget.epsilon, budget.delta)


def _replacing_epsilon(budget: Budget) -> float:
    """Return the epsilon, at the same delta, for one unit that leaves and one that comes."""
    return 2 * budget.epsilon if budget.delta == 0 else epsilon_of(2 * _mu(budget), budget.delta)


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
