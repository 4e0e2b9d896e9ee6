"""From a request to a job: priced, stored and reserved, once for each Idempotency-Key."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from privclust.errors import CostError, Message, NamesParameter
from privclust.node.booking import Price, Request
from privclust.node.jobs.job import ENDED, Job, Kind, NewJob, status_at
from privclust.node.jobs.store import ConflictError, Quota, QuotaError
from privclust.node.names import run_name
from privclust.node.policy.policy import AnalystPolicy
from privclust.node.requests.problems import RequestError, refused
from privclust.node.web.parts import Node
from privclust.privacy.accounting import epsilon_of_spend
from privclust.privacy.ledger._admission import RunConflictError
from privclust.privacy.ledger.ledger import BudgetExceededError

MARGIN = 2.0
"""How much faster than its public time a fit is to be, by its estimate."""
ROUNDING, THOUSANDTH = 1.001, 0.001
"""What rounding may add: whether a fit of all that is left is affordable, the ledger decides."""

NO_SUCH_FIT = (
    "No fit of this table can have these parameters together. Some estimators need a delta above "
    "0, and scale='none' columns of plain numbers."
)


def submit(
    node: Node, analyst: AnalystPolicy, kind: Kind, request: Request, idempotency_key: str
) -> Job:
    """Return the job of a request, which exists once however often the request is sent."""
    policy, now = node.policy, node.clock()
    table = policy.tables[request.table]
    url = policy.issuers[analyst.issuer].url
    run = run_name(node.name_key, url, analyst.subject, table.name, idempotency_key)
    is_new = node.jobs.get(run) is None
    price: Price | None = None
    outcomes: list[str] = []

    def log(outcome: str) -> None:
        units, budget = (price.units, price.budget) if price else (None, None)
        node.audit_log.write(
            now, analyst.id, table.name, outcome, fit=run, seconds=units, budget=budget
        )
        outcomes.append(outcome)

    try:
        price = priced(node, request)
        balance = Balance.of(node, analyst, request, price)
        if is_new:
            check_pace(price)
            _check_affordable(analyst, price, balance)
        text = request.canonical().decode()
        new = NewJob(run, kind, analyst.id, table.name, text, price.units, table.seconds)
        # Logged first: what cannot be is neither stored nor reserved, and so never runs.
        job = _stored(node, new, analyst, now, lambda: log("queued"))
        _reserve(node, job, balance)
    except Exception as error:
        if is_new:
            log(error.problem.kind if isinstance(error, RequestError) else "failed")
        raise
    finally:
        if outcomes:  # the ledger may refuse what was queued: it counts once, by what came of it
            node.metrics.count_job(outcomes[-1])
    return job


def priced(node: Node, request: Request) -> Price:
    """Return what a request costs, or refuse what no fit can be like."""
    _check_period(node, request)
    try:
        price = node.booking.price(request)
    except CostError:
        raise refused(
            "too-costly",
            "It would take more computing or memory than this node allows. Choose fewer clusters "
            "or columns.",
        ) from None
    except (ValueError, TypeError) as error:
        # Prices follow from the request and the policy, so that texts of the library's own may go
        # out; those of other libraries help nobody.
        known = isinstance(error, NamesParameter) or isinstance(next(iter(error.args), 0), Message)
        raise refused("invalid-request", str(error) if known else NO_SUCH_FIT) from None
    delta = node.ledger.dataset(node.policy.tables[request.table].dataset).budget.delta
    if price.budget.delta > delta:
        raise refused(
            "not-allowed",
            f"delta may be at most that of the owner's ledger, {delta:g}. Leave it out.",
            delta=delta,
        )
    return price


@dataclass(frozen=True)
class Balance:
    """What a request would spend and what is left, both at the ledger's delta."""

    requested: float
    remaining: float
    delta: float

    @classmethod
    def of(cls, node: Node, analyst: AnalystPolicy, request: Request, price: Price) -> Balance:
        """Compare a price with what the analyst has left."""
        table = node.policy.tables[request.table]
        delta = node.ledger.dataset(table.dataset).budget.delta
        requested = epsilon_of_spend(price.budget.capacity, delta)
        return cls(requested, node.booking.epsilon_left(analyst, table), delta)

    @property
    def covers(self) -> bool:
        """Whether enough is left, as far as can be told before the ledger decides."""
        return self.requested <= ROUNDING * self.remaining + THOUSANDTH

    def refusal(self) -> RequestError:
        """Return the error of a request that spends too much."""
        known: dict[str, Any] = {}
        if self.requested < math.inf:
            known["requested"] = self.requested
        return refused(
            "budget-exceeded",
            "It would spend more than you have left on this data set. Nothing was read. Ask for "
            "at most the remaining epsilon, with a new Idempotency-Key, or talk to the owner.",
            **known,
            remaining=self.remaining,
            delta=self.delta,
        )


def check_pace(price: Price) -> None:
    """Refuse what may not be ready in its public time: that it is late would tell of the rows."""
    if price.estimate > price.units / MARGIN:
        raise refused(
            "too-costly",
            "It may take longer than fits of this table have. Choose fewer clusters or columns, or "
            "another estimator.",
        )


def _check_affordable(analyst: AnalystPolicy, price: Price, balance: Balance) -> None:
    """Refuse what is clearly too much before it is stored: the ledger has the last word."""
    if price.units > analyst.work_per_day:
        raise refused(
            "too-costly",
            "It takes longer than what you have in a day. Talk to the owner of the node.",
            price=price.units,
            work_per_day=analyst.work_per_day,
        )
    if not balance.covers:
        raise balance.refusal()


def _stored(
    node: Node, new: NewJob, analyst: AnalystPolicy, now: float, log: Callable[[], None]
) -> Job:
    quota = Quota(analyst.max_queued, analyst.work_per_day)
    try:
        return node.jobs.submit(new, quota, now, log)
    except ConflictError as error:
        raise refused("conflict", str(error)) from None
    except QuotaError as error:
        raise refused("quota-exceeded", str(error)) from None


def _reserve(node: Node, job: Job, balance: Balance) -> None:
    # What an analyst may see decides, not what is known inside: else the time that sending a
    # request again takes would tell when the fit was ready.
    state = status_at(job, node.clock()).state
    if state not in ENDED:
        try:
            node.booking.reserve(job)
        except BudgetExceededError:
            node.jobs.refuse(job.run)
            state = "refused"
        except RunConflictError:  # bounds or unit of the policy are others than when it was queued
            raise refused(
                "conflict", "The owner changed what this table declares. Send it with a new key."
            ) from None
    if state == "refused":
        raise balance.refusal()


def _check_period(node: Node, request: Request) -> None:
    """Refuse a period where a data set has none, and the other way round."""
    periods = node.ledger.dataset(node.policy.tables[request.table].dataset).periods
    if (request.period is None) == (periods == 1):
        return
    raise refused(
        "invalid-request",
        f"The data set of this table has {periods} periods that share its budget. Name one, such "
        "as '2026-W07', with the parameter period."
        if periods > 1
        else "The data set of this table has no periods. Leave period out.",
    )
