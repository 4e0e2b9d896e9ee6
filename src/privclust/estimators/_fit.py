"""One fit: what every estimator does around its algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np

from privclust.algorithms._cost import AlgorithmPlan, cost_of
from privclust.algorithms._scale import variances
from privclust.domains.base import Domain
from privclust.errors import Message, Parameter, warn_user
from privclust.estimators._common_parameters import (
    Parameters,
    budget_of,
    seed_of,
    sizes_of,
)
from privclust.estimators._cost_check import check_cost
from privclust.estimators._fit_task import Task
from privclust.estimators._input import MEASURED, OpenTable
from privclust.estimators._own_parameters import check_own_parameters
from privclust.estimators._recorded_run import FinishedRun, PlannedRun
from privclust.estimators._recording import recording
from privclust.estimators._statement import check_models, given_to
from privclust.kernels.grid import FloatArray
from privclust.models._column_notes import nothing_differs
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import ADVICE_MAX, Clustering, Coreset, Precision
from privclust.models.model_file import NOT_SAVED
from privclust.models.quality import Quality
from privclust.models.statement import Statement
from privclust.privacy.curator import Curator

ON_TAILS = (
    "If a column has a long tail, as amounts, counts and durations have, declare its logarithm: "
    'transform = "log1p" in a bounds file, "transform": "log1p" in a mapping.'
)
_PLAIN = (str, bool, int, float, np.generic, type(None))


@dataclass(frozen=True, eq=False)
class PreparedFit:
    """A fit that is checked and priced; none of its rows has been read.

    Attributes
    ----------
    estimator : Parameters
        The estimator, with its parameters.
    task : Task
        What it has to do.
    planned : AlgorithmPlan
        What its algorithm will measure.
    run : PlannedRun
        What it will cost, and who pays.
    algorithm : callable
        The algorithm's `run`.
    """

    estimator: Parameters
    task: Task
    planned: AlgorithmPlan
    run: PlannedRun
    algorithm: Callable[[Curator, Any, np.random.Generator], Clustering]

    def carry_out(
        self, before_end: Callable[[], None] | None = None
    ) -> tuple[ClusterModel, Message | None]:
        """Measure; return what is released, and what to say of it.

        `before_end` is called when everything has been measured, before the run ends.
        """
        table, recorded, estimator = self.run.table, self.run.recorded, self.estimator
        rng = np.random.default_rng(int(recorded.facts["seed"]))

        def work(curator: Curator) -> tuple[Clustering, Domain]:
            domain = table.domain
            if estimator.scale == MEASURED:
                curator, domain = _rescaled(curator, table)
            found = self.algorithm(curator, self.planned, rng)
            return self.task.check_outcome(found, self.run.name), domain

        return self._released(self.run.carry_out(work, before_end))

    def _released(
        self, done: FinishedRun[tuple[Clustering, Domain]]
    ) -> tuple[ClusterModel, Message | None]:
        kind, table, noiseless = self.run.name, self.run.table, self.run.noiseless
        names, (found, domain) = table.schema.names, done.result
        parameters = self.estimator.get_params(deep=False)
        columns = table.schema.n_columns if names is None else tuple(map(str, names))
        n_clusters = self.task.n_clusters
        statement = done.statement("fit", kind, n_clusters, columns, *given_to(parameters))
        bounded = domain.bounded_columns(tuple(map(str, names or range(table.schema.n_columns))))
        has_bounded_numbers = any(column.use == "number" for column in bounded or ())
        advice = _advice(found, statement, has_bounded_numbers)
        model = ClusterModel(
            estimator=kind,
            parameters=public_parameters(parameters),
            domain=domain,
            n_features_in=table.schema.n_columns,
            feature_names_in=None if names is None else tuple(names),
            releases=done.releases,
            privacy_statement=statement,
            coreset=_coreset(domain, found.coreset, noiseless),
            participation=done.participation,
            fit_warning=None if advice is None else str(advice),
            **cluster_fields(domain, _known_exactly(found) if noiseless else found),
        )
        if found.advice is None:
            return model, None
        # Where that is so, what noise hides is not a matter of rows or epsilon.
        reason = nothing_differs(model)
        if reason is not None and len(reason) <= ADVICE_MAX:
            advice = _extended(Message(reason), statement)
            model = replace(model, fit_warning=str(advice))
        return model, advice


def prepare(
    estimator: Parameters,
    table: OpenTable,
    plan: Callable[[Task], AlgorithmPlan],
    algorithm: Callable[[Curator, Any, np.random.Generator], Clustering],
    resume: str | None = None,
    facts: Mapping[str, str] | None = None,
) -> PreparedFit:
    """Check and price a fit of an estimator's algorithm to a table; nothing is read or charged.

    `facts` are recorded in the ledger beside what it records of every fit.
    """
    task = _task(estimator, table)
    check_own_parameters(estimator)
    seed = seed_of(estimator.random_state)
    planned = plan(task)
    task.check_spending(planned.spending)
    check_cost(cost_of(planned), unit=table.engine.unit)
    check_models(estimator.get_params(deep=False), task.unit, estimator.epsilon)
    recorded = recording(estimator, table, seed, resume, facts or {})
    run = PlannedRun(
        type(estimator).__name__,
        table,
        planned.spending,
        recorded,
        task.n_rows,
        noiseless=estimator.epsilon == math.inf,
    )
    return PreparedFit(estimator, task, planned, run, algorithm)


def _advice(found: Clustering, statement: Statement, has_bounded_numbers: bool) -> Message | None:
    """Return what to say of a fit, with what its columns and its unit add to that."""
    advice = found.advice or found.warned
    if advice is None:
        return None
    tails = [f" {ON_TAILS}"] if has_bounded_numbers and found.most_is_far else []
    return _extended(Message(*advice.parts, *tails), statement)


def _extended(advice: Message, statement: Statement) -> Message:
    """Return what is said of a fit with how its rows were counted, where that matters."""
    counted = [] if statement.counted_as is None else [f" {statement.counted_as}"]
    return Message(*advice.parts, *counted)


class ClusterFields(TypedDict):
    """The fields of a `ClusterModel` that follow from a clustering."""

    n_rows: int
    cluster_centers: FloatArray
    cluster_sizes: FloatArray
    center_stderr: FloatArray | None
    size_stderr: FloatArray | None
    cluster_radii: FloatArray | None
    quality: Quality | None


def cluster_fields(domain: Domain, found: Clustering) -> ClusterFields:
    """Return a clustering of the unit ball in the user's units, largest cluster first."""
    order = np.argsort(-found.sizes, kind="stable")
    centers = domain.to_units(found.centers[order])
    lengths, centers = domain.lengths(centers), domain.unit_length(centers)
    fields = ClusterFields(
        n_rows=found.n_rows,
        cluster_centers=centers,
        cluster_sizes=found.sizes[order],
        center_stderr=None,
        size_stderr=None,
        cluster_radii=None,
        quality=found.quality,
    )
    if found.precision is not None:
        stderr = found.precision.center_stderr[order, None] * domain.scales / lengths
        fields["center_stderr"] = stderr * domain.slopes(centers)
        fields["size_stderr"] = found.precision.size_stderr[order]
        fields["cluster_radii"] = found.precision.radii[order]
    return fields


def public_parameters(given: Mapping[str, object]) -> dict[str, object]:
    """Return what a model keeps of parameters: plain values, and none that names a place."""
    return {
        name: value
        for name, value in given.items()
        if name not in NOT_SAVED and isinstance(value, _PLAIN)
    }


def warn_of_large_delta(model: ClusterModel) -> None:
    """Warn if delta alone would allow publishing a row."""
    run, n_rows = model.privacy_statement.run, model.n_rows
    if run.epsilon < math.inf and run.delta * n_rows > 1:
        warn_user(
            Message(
                Parameter("delta", f"{run.delta:g}"),
                f" is more than one over the number of rows, about {n_rows:,}: a delta that large "
                "would allow publishing a row as it is. Type a value well below, such as "
                f"{10.0 ** -(len(str(n_rows)) + 1):g}.",
            )
        )


def warn_of_large_epsilon(model: ClusterModel) -> None:
    """Warn if the guarantee says little, with what the best test for one unit finds."""
    composed = model.privacy_statement.composed
    if composed.private and composed.weak:
        warn_user(composed.strength)


def _task(estimator: Parameters, table: OpenTable) -> Task:
    n_clusters, n_rows = sizes_of(estimator)
    return Task(
        n_clusters,
        table.domain.center.size,
        budget_of(estimator.epsilon, estimator.delta),
        n_rows,
        table.domain,
        table.engine.unit,
        table.schema.names,
        table.noise_ratio,
    )


def _rescaled(curator: Curator, table: OpenTable) -> tuple[Curator, Domain]:
    """Measure the variance of each column, and the same rows on that scale from then on."""
    domain = table.domain
    assert table.reopened is not None
    domain = domain.rescaled(variances(curator, domain.half_widths / domain.scales))
    return curator.over(table.reopened(domain)), domain


def _known_exactly(found: Clustering) -> Clustering:
    """Return a clustering without noise with standard errors of zero."""
    precision = None if found.precision is None else _exact(found.precision)
    quality = None if found.quality is None else found.quality.without_errors()
    return replace(found, precision=precision, quality=quality)


def _coreset(domain: Domain, found: Coreset | None, noiseless: bool) -> Coreset | None:
    """Return a coreset of the unit ball in the user's units."""
    if found is None:
        return None
    precision = _exact(found.precision) if noiseless else found.precision
    return Coreset(domain.to_units(found.points), found.weights, precision)


def _exact(precision: Precision) -> Precision:
    nothing = np.zeros(len(precision.radii))
    return replace(precision, center_stderr=nothing, size_stderr=nothing)
