"""What an algorithm of one's own has to pass, on made-up tables only.

An algorithm is a `plan` and a `run`, as in `privclust.algorithms`. Every check returns a verdict
with what it found; nothing, if the algorithm is sound.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from privclust.audit._few_rows import FewRows
from privclust.audit.canaries import AlgorithmFunctions, attacks, planned_by, sightings
from privclust.audit.epsilon_bound import refuted
from privclust.audit.replay import Measurement, Transcript, replay_on_neighbour
from privclust.engines.base import Engine, kept_rows
from privclust.kernels.grid import FloatArray, to_grid
from privclust.privacy.accounting import QUANTA, Budget, Spend
from privclust.privacy.curator import Curator
from privclust.privacy.fingerprint import serialize
from privclust.privacy.release import Release
from privclust.queries.base import Query
from privclust.testing import SeededNoise, noise_from

SHAPES = ((1, 1), (2, 1), (2, 2), (3, 2))
"""Clusters and columns of the made-up tables."""
SURE = 1 - 5e-7
"""Confidence against each of two attackers: a sound algorithm fails once in a million audits."""


@dataclass(frozen=True)
class Verdict:
    """What one check did, with numbers, and all that it found wrong."""

    check: str
    did: str
    findings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


def verdicts(algorithm: AlgorithmFunctions, budget: Budget, fits: int) -> Iterator[Verdict]:
    """Check an algorithm in every way, the fastest first; the last makes twice `fits` fits."""
    yield check_replay(algorithm, budget)
    yield check_queries(algorithm, budget)
    yield check_plan(algorithm, budget)
    yield check_epsilon(algorithm, budget, fits)


def check_replay(algorithm: AlgorithmFunctions, budget: Budget) -> Verdict:
    """Run on neighbouring tables with equal noisy results: neither query nor outcome differs."""
    findings: list[str] = []
    pairs = 0
    for n_clusters, n_columns in SHAPES:
        table = _rows(n_clusters, n_columns)
        for canary in (np.zeros((1, n_columns)), np.eye(1, n_columns), table[:1]):
            neighbour = np.vstack([table, canary])
            for first, second in ((table, neighbour), (neighbour, table)):
                pairs += 1
                with _collecting(findings):
                    findings += _differences(algorithm, budget, n_clusters, first, second)
    return Verdict("replay", f"{pairs} runs on neighbouring tables", _once(findings))


def check_queries(algorithm: AlgorithmFunctions, budget: Budget) -> Verdict:
    """Make every query of rows alone and together: what one adds is its own, and bounded."""
    findings: list[str] = []
    measured = 0
    for n_clusters, n_columns in SHAPES:
        with _collecting(findings):
            transcript, releases = _recorded(algorithm, budget, n_clusters, n_columns)
            rows = to_grid(_rows(n_clusters, n_columns))
            for measurement, release in zip(transcript.measurements, releases, strict=False):
                measured += 1
                name = f"{type(measurement.query).__name__} in slot {release.slot!r}"
                findings += [f"{name}: {finding}" for finding in _faults(measurement.query, rows)]
    return Verdict(
        "queries", f"{measured} queries, each on rows alone and together", _once(findings)
    )


def check_plan(algorithm: AlgorithmFunctions, budget: Budget) -> Verdict:
    """Compare what happened with the plan, and with the budget that was given."""
    findings: list[str] = []
    measured = 0
    for n_clusters, n_columns in SHAPES:
        with _collecting(findings):
            planned = planned_by(algorithm, n_clusters, n_columns, budget).spending
            if planned.budget != budget or not budget.admits(planned.reserve):
                findings.append(
                    f"the plan is for epsilon {planned.budget.epsilon:g} and delta "
                    f"{planned.budget.delta:g}, not for the budget it was given"
                )
            transcript, releases = _recorded(algorithm, budget, n_clusters, n_columns)
            measured += len(releases)
            if transcript.reads > len(transcript.measurements):
                findings.append("exact results were read from the engine, past the Curator")
            if not sum((release.charge for release in releases), Spend()).within(planned.reserve):
                findings.append("releases cost more than the plan reserved")
            for measurement, release in zip(transcript.measurements, releases, strict=True):
                if measurement.scale < _least_scale(measurement, release.charge) * (1 - 1e-9):
                    findings.append(f"slot {release.slot!r} has less noise than it was charged for")
    return Verdict("plan", f"{measured} releases against their slots", _once(findings))


def check_epsilon(algorithm: AlgorithmFunctions, budget: Budget, fits: int) -> Verdict:
    """Guess from fits with and without a canary which is which: epsilon must not be refuted."""
    findings: list[str] = []
    did = f"{fits} fits with a canary and {fits} without"
    with _collecting(findings):
        seen = (sightings(algorithm, budget, present, range(fits)) for present in (False, True))
        for attacker, scores in attacks(*seen).items():
            likely = refuted(scores, budget.delta).epsilon_at(budget.delta)
            did += f"; the {attacker} show{'s' * (attacker == 'model')} at least {likely:.2f}"
            sure = refuted(scores, budget.delta, SURE).epsilon_at(budget.delta)
            if sure > budget.epsilon:
                findings.append(
                    f"epsilon is at least {sure:.2f} by what the {attacker} "
                    f"show{'s' * (attacker == 'model')}, beyond doubt"
                )
    return Verdict("epsilon", f"{did} of {budget.epsilon:g} (95 % confidence)", _once(findings))


def _differences(
    algorithm: AlgorithmFunctions,
    budget: Budget,
    n_clusters: int,
    first: FloatArray,
    second: FloatArray,
) -> list[str]:
    outcomes: list[Any] = []

    def fit(engine: Engine) -> None:
        outcomes.append(_fitted(algorithm, budget, n_clusters, engine)[1])

    findings = replay_on_neighbour(fit, FewRows(first), FewRows(second), SeededNoise(len(first)))
    if serialize(outcomes[0]) != serialize(outcomes[1]):
        findings.append("the outcome differs between neighbouring tables with equal noisy results")
    return findings


def _faults(query: Query, rows: FloatArray) -> list[str]:
    together = query.contribute(rows)
    backwards = query.contribute(rows[::-1])
    alone = [query.contribute(row[None]) for row in rows]
    faults = []
    for name in ("blocks", "values"):
        expected = getattr(together, name)
        singly = np.concatenate([getattr(one, name) for one in alone])
        reversed_back = getattr(backwards, name)[::-1]
        if not (np.array_equal(expected, singly) and np.array_equal(expected, reversed_back)):
            faults.append("what a row adds depends on the rows beside it")
    if not kept_rows(query, together).all():
        faults.append("a row adds more than is declared, and the engine leaves it out")
    return faults


def _least_scale(measurement: Measurement, charge: Spend) -> float:
    bounds = measurement.sensitivity
    if measurement.mechanism == "gaussian":
        return math.sqrt(bounds.l2_squared * QUANTA / charge.quanta)
    if measurement.mechanism == "laplace":
        return bounds.l1 / charge.epsilon
    return (1 if bounds.monotone else 2) * bounds.linf / charge.epsilon


def _recorded(
    algorithm: AlgorithmFunctions, budget: Budget, n_clusters: int, n_columns: int
) -> tuple[Transcript, tuple[Release, ...]]:
    transcript = Transcript(FewRows(_rows(n_clusters, n_columns)), SeededNoise(0))
    with noise_from(transcript):
        curator, _ = _fitted(algorithm, budget, n_clusters, transcript)
    return transcript, curator.releases


def _fitted(
    algorithm: AlgorithmFunctions, budget: Budget, n_clusters: int, engine: Engine
) -> tuple[Curator, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that noise hides so small clusters
        planned = planned_by(algorithm, n_clusters, engine.n_columns, budget)
        curator = Curator.open(engine, planned.spending)
        return curator, algorithm.run(curator, planned, np.random.default_rng(0))


def _rows(n_clusters: int, n_columns: int) -> FloatArray:
    """Return round groups of rows, some of them beyond the rim."""
    rng = np.random.default_rng(n_clusters)
    middles = rng.uniform(-0.7, 0.7, (n_clusters, n_columns))
    return np.repeat(middles, 12, axis=0) + rng.normal(0.0, 0.2, (12 * n_clusters, n_columns))


@contextmanager
def _collecting(findings: list[str]) -> Iterator[None]:
    """Whatever ends a run is a finding; rows are made up, so its words may be shown."""
    try:
        yield
    except Exception as error:
        words = error.args[0] if isinstance(error, KeyError) else error
        findings.append(f"it stopped with {type(error).__name__}: {words}")


def _once(findings: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(findings))
