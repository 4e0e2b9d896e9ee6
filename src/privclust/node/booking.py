"""From a request to a run in the ledger: the same steps where rows are and where they are not.

The web process prices and reserves a run with the names of columns alone. The process of the job
repeats both with the owner's files, which changes nothing, and measures.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from privclust import estimators
from privclust.algorithms._cost import seconds_of
from privclust.engines.absent import AbsentTable
from privclust.errors import PolicyError
from privclust.estimators import _fit, _profile
from privclust.estimators._recording import ANALYST
from privclust.estimators.base import PrivateClusterer
from privclust.models.model_file import model_from_bytes, to_json
from privclust.models.profile_file import profile_to_json
from privclust.node.federations.responding import reply_to_requests
from privclust.node.jobs.job import Job
from privclust.node.jobs.store import JobStore
from privclust.node.policy.policy import AnalystPolicy, Policy, TablePolicy
from privclust.node.requests.fit_request import FitRequest, ProfileRequest, estimator_of
from privclust.planning.forecast import forecast
from privclust.privacy.accounting import Budget
from privclust.privacy.ledger._admission import Cap
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.ledger import Ledger
from privclust.sources.dialects import Files

Request = FitRequest | ProfileRequest
Prepared = _fit.PreparedFit | _profile.PreparedProfile


@dataclass(frozen=True)
class Price:
    """What a run costs: public units of work, and its own guarantee.

    Attributes
    ----------
    units : float
        The seconds for which it has a lane of the node: what its table's policy says.
    estimate : float
        Seconds of one core that it is estimated to take, from public numbers.
    budget : Budget
        The guarantee of the run, at its own delta.
    """

    units: float
    estimate: float
    budget: Budget


@dataclass(frozen=True)
class Booking:
    """Prices and reserves what analysts request, and carries it out where the rows are.

    Parameters
    ----------
    policy : Policy
        What the owner allows.
    jobs : JobStore
        Where jobs are kept; profiles follow from fits in it.
    """

    policy: Policy
    jobs: JobStore

    def price(self, request: Request) -> Price:
        """Return what a request costs; its parameters are checked, and nothing is charged."""
        prepared, table = self._prepared(request), self.policy.tables[request.table]
        estimate = seconds_of(prepared.planned, table.about_rows or 0)
        return Price(table.seconds, estimate, prepared.run.plan.budget)

    def reserve(self, job: Job) -> None:
        """Set aside what a job may spend, once, however often this is repeated."""
        cap, head = cap_of(self.policy.analysts[job.analyst]), HeadFile(self.policy.node.head)
        head.check(self._ledger())
        self._prepared(self.request(job), job).run.reserve(job.run, cap)
        head.advance(self._ledger())

    def carry_out(self, job: Job, wait: Callable[[], None]) -> str:
        """Measure what a job requests on the owner's rows, and return the file to release.

        `wait` returns at the time at which the result is to be shown, before the run ends. A table
        that the owner withdrew from the analyst since is refused, before anything is read.
        """
        if self.policy.table_for(self.policy.analysts[job.analyst], job.table_name) is None:
            raise PolicyError("the policy no longer gives this analyst the table of this job.")
        self.reserve(job)
        request = self.request(job)
        rows = Files(list(self.policy.tables[request.table].files))
        prepared = self._prepared(request, job, rows)
        if isinstance(prepared, _fit.PreparedFit):
            model, _ = prepared.carry_out(wait)
            released = to_json(model)
        else:
            released = profile_to_json(prepared.carry_out(wait))
        HeadFile(self.policy.node.head).advance(self._ledger())  # before anything leaves
        return released

    def epsilon_left(self, analyst: AnalystPolicy, table: TablePolicy) -> float:
        """Return the largest epsilon that one more fit of an analyst may have."""
        return self._ledger().epsilon_left(table.dataset, cap_of(analyst))

    def forecast(self, request: FitRequest) -> dict[str, Any] | None:
        """Return what to expect of a fit, from public numbers; None if there are too few."""
        table = self.policy.tables[request.table]
        if table.about_rows is None or request.estimator != "PrivateKMeans":
            return None
        run = self._prepared(request).run
        expected = forecast(
            table.about_rows,
            run.table.domain.center.size,
            request.n_clusters,
            epsilon=run.plan.budget.epsilon,
            delta=run.plan.budget.delta,
            max_rows_per_unit=table.max_rows_per_unit,
        )
        return asdict(expected)

    def request(self, job: Job) -> Request:
        """Return the request that a job holds."""
        content = json.loads(job.request)
        columns = tuple(content.pop("columns"))
        if job.kind == "fit":
            return FitRequest(columns=columns, **content)
        fit = self.request(self._fitted(content["fit"]))
        return ProfileRequest(
            columns=columns,
            table=fit.table,
            n_clusters=fit.n_clusters,
            period=fit.period,
            **content,
        )

    def _prepared(
        self, request: Request, job: Job | None = None, rows: Files | None = None
    ) -> Prepared:
        """Check and price a request; with a `job` it may be reserved, with its `rows` measured."""
        facts = {} if job is None else {ANALYST: job.analyst}
        resume = None if job is None or rows is None else job.run
        if isinstance(request, ProfileRequest):
            return self._profile(request, rows, resume, facts)
        table = self.policy.tables[request.table]
        # The same in all processes that work on a job, and of a size that model files hold.
        seed = 0 if job is None else int(job.run[:8], 16)
        estimator = estimator_of(request, self.policy, seed)
        if estimator.delta is None:
            estimator.set_params(delta=self._ledger().dataset(table.dataset).budget.delta)
        opened = estimator._open(_absent(table, table.columns) if rows is None else rows)
        return _fit.prepare(estimator, opened, estimator.plan, estimator.run, resume, facts)

    def _profile(
        self,
        request: ProfileRequest,
        rows: Files | None,
        resume: str | None,
        facts: dict[str, str],
    ) -> _profile.PreparedProfile:
        table, result = self.policy.tables[request.table], self._fitted(request.fit).result
        assert result is not None
        assert table.profile_columns is not None
        model = model_from_bytes(result.encode(), "model")
        kind: type[PrivateClusterer] = getattr(estimators, model.estimator)
        estimator = kind.from_model(model)
        absent = _absent(table, {**table.columns, **table.profile_columns})
        bounds = table.profile_columns.only(request.columns)
        opened = _profile.open_profile(
            estimator, model, absent if rows is None else rows, request.columns, bounds
        )
        account = (self.policy.node.ledger, table.dataset, request.period)
        payer = _profile.ProfileRequest(request.epsilon, request.delta, *account, resume)
        return _profile.prepare_profile(estimator, model, opened, payer, facts)

    def _fitted(self, run: str) -> Job:
        found = self.jobs.get(run)
        assert found is not None
        return found

    def _ledger(self) -> Ledger:
        return Ledger.open(self.policy.node.ledger)


def carry_out(policy: Policy, job: Job, wait: Callable[[], None]) -> str | None:
    """Measure what a job requests, in a process of its own; replies are nothing to release."""
    if job.kind == "replies":
        reply_to_requests(policy, job)
        return None
    return Booking(policy, JobStore(policy.node.ledger)).carry_out(job, wait)


def cap_of(analyst: AnalystPolicy) -> Cap:
    """Return what all that an analyst does with a data set may cost together."""
    return Cap(ANALYST, analyst.id, analyst.epsilon)


def _absent(table: TablePolicy, columns: Iterable[str]) -> AbsentTable:
    """Return a table of its declared columns and its unit, without rows."""
    return AbsentTable((*columns, *([table.unit] if table.unit else [])))
