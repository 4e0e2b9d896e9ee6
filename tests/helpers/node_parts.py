"""Stand-ins for a node's database and prices, which a test can set and look into."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from privclust.node.audit_log import AuditLog
from privclust.node.fit_request import FitRequest
from privclust.node.identity import Identities
from privclust.node.metrics import Metrics
from privclust.node.parts import JobKind, Node, Request
from privclust.node.policy import AnalystPolicy, Policy, TablePolicy
from privclust.node.problems import refused
from privclust.privacy.accounting import Budget
from privclust.privacy.ledger.ledger import BudgetExceededError
from privclust.privacy.ledger.records import Dataset


@dataclass
class Clock:
    """A time that stands still until a test moves it."""

    now: float

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class MemoryJob:
    """A job as the database would have it."""

    run: str
    kind: JobKind
    analyst: str
    table_name: str
    request: str
    price: float
    submitted: int
    starts_at: int
    release_at: int
    state: str = "queued"
    visible_at: int | None = None
    result: str | None = None


@dataclass(frozen=True)
class MemoryStatus:
    """A public state."""

    state: str
    progress: float


@dataclass
class MemoryJobs:
    """Jobs of one lane, in a dictionary."""

    jobs: dict[str, MemoryJob] = field(default_factory=dict)

    def submit(
        self,
        run: str,
        kind: JobKind,
        analyst: AnalystPolicy,
        table: TablePolicy,
        request: str,
        price: float,
        now: float,
    ) -> MemoryJob:
        start = int(now)
        new = MemoryJob(
            run, kind, analyst.id, table.name, request, price, start, start, start + table.seconds
        )
        known = self.jobs.get(run)
        if known is not None:
            if (known.kind, known.request) != (kind, request):
                raise refused("conflict", "Another request has this key.")
            return known
        queued = [one for one in self.of_analyst(analyst.id) if one.state == "queued"]
        if len(queued) >= analyst.max_queued:
            raise refused("quota-exceeded", "Too many jobs wait.")
        self.jobs[run] = new
        return new

    def refuse(self, run: str) -> None:
        self.jobs[run] = replace(self.jobs[run], state="refused")

    def cancel(self, run: str, now: float) -> MemoryJob | None:
        if self.status_at(self.jobs[run], now).state in ("queued", "running"):
            self.jobs[run] = replace(self.jobs[run], state="cancelled")
        return self.jobs[run]

    def get(self, run: str) -> MemoryJob | None:
        return self.jobs.get(run)

    def of_analyst(self, analyst: str) -> list[MemoryJob]:
        return [job for job in self.jobs.values() if job.analyst == analyst]

    def status_at(self, job: Any, now: float) -> MemoryStatus:
        if job.state in ("refused", "cancelled"):
            return MemoryStatus(job.state, 0.0)
        share = int(10 * (now - job.starts_at) / (job.release_at - job.starts_at)) / 10
        if job.visible_at is None or now < job.visible_at:
            return MemoryStatus("queued" if now < job.starts_at else "running", min(share, 1.0))
        return MemoryStatus(job.state, 1.0)

    def finish(self, run: str, result: str | None, state: str = "finished") -> None:
        """Let a job end; it is seen from its release on."""
        job = self.jobs[run]
        self.jobs[run] = replace(job, state=state, result=result, visible_at=job.release_at)


@dataclass(frozen=True)
class MemoryPrice:
    """What a request costs."""

    units: float
    budget: Budget


@dataclass
class MemoryBooking:
    """Prices of one unit a cluster, and a budget of so much epsilon for everybody."""

    left: float = 4.0
    reserved: dict[str, float] = field(default_factory=dict)
    failure: Exception | None = None
    refuses: bool = False

    def price(self, request: Request) -> MemoryPrice:
        if self.failure is not None:
            raise self.failure
        given = getattr(request, "parameters", None) or asdict(request)
        return MemoryPrice(float(request.n_clusters), Budget(given.get("epsilon", 1.0), 1e-6))

    def reserve(self, job: Any) -> None:
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
    """Return a node of stand-ins."""
    given: dict[str, Any] = {
        "jobs": MemoryJobs(),
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
