"""Stand-ins for a node's clock, prices and budgets, which a test can set and look into."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from privclust.node.audit_log import AuditLog
from privclust.node.booking import Price, Request
from privclust.node.federations.sum_requests import SumRequestStore
from privclust.node.identity import Identities
from privclust.node.jobs.job import Job
from privclust.node.jobs.store import JobStore
from privclust.node.policy.policy import AnalystPolicy, Policy, TablePolicy
from privclust.node.requests.fit_request import FitRequest
from privclust.node.web.metrics import Metrics
from privclust.node.web.parts import Node
from privclust.privacy.accounting import Budget
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.privacy.ledger.records import Dataset


@dataclass
class Clock:
    """A time that stands still until a test moves it."""

    now: float

    def __call__(self) -> float:
        return self.now


@dataclass
class MemoryBooking:
    """Prices of one unit a cluster, and a budget of so much epsilon for everybody."""

    left: float = 4.0
    reserved: dict[str, float] = field(default_factory=dict)
    failure: Exception | None = None
    refuses: bool = False

    def price(self, request: Request) -> Price:
        if self.failure is not None:
            raise self.failure
        given = getattr(request, "parameters", None) or asdict(request)
        return Price(float(request.n_clusters), 0.0, Budget(given.get("epsilon", 1.0), 1e-6))

    def reserve(self, job: Job) -> None:
        if self.refuses:
            raise BudgetExceededError("a canary of an error")
        self.reserved.setdefault(job.run, job.price)

    def epsilon_left(self, analyst: AnalystPolicy, table: TablePolicy) -> float:
        return self.left

    def forecast(self, request: FitRequest) -> dict[str, Any] | None:
        return {"n_clusters": request.n_clusters}


@dataclass
class MemoryAccounts:
    """Data sets of one period."""

    periods: int = 1

    def dataset(self, label: str) -> Dataset:
        return Dataset(label, Budget(4.0, 1e-6), "row", "", self.periods)


def node_of(policy: Policy, now: float, **parts: Any) -> Node:
    """Return a node of stand-ins, with the real store of jobs."""
    given: dict[str, Any] = {
        "jobs": JobStore(policy.node.ledger),
        "requests": SumRequestStore(policy.node.ledger),
        "booking": MemoryBooking(),
        "ledger": MemoryAccounts(),
        "clock": Clock(now),
    }
    return Node(
        policy=policy,
        identities=Identities(policy),
        name_key=b"k" * 32,
        audit_log=AuditLog(policy.node.audit_log, policy.digest),
        metrics=Metrics(),
        **(given | parts),
    )
