"""What the endpoints of a node work with: each part can be replaced, and none of them is a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from privclust.node.audit_log import AuditLog
from privclust.node.fit_request import FitRequest, ProfileRequest
from privclust.node.identity import Identities
from privclust.node.metrics import Metrics
from privclust.node.policy import AnalystPolicy, Policy, TablePolicy
from privclust.privacy.accounting import Budget
from privclust.privacy.ledger.records import Dataset

JobKind = Literal["fit", "profile"]
Request: TypeAlias = FitRequest | ProfileRequest


class StoredJob(Protocol):
    """A job as it is stored; `state` is the node's own view, not yet the analyst's."""

    @property
    def run(self) -> str:
        """Its name, which is also that of its run in the ledger."""

    @property
    def kind(self) -> JobKind:
        """What it makes."""

    @property
    def analyst(self) -> str:
        """The id of whom it is for."""

    @property
    def table_name(self) -> str:
        """What it reads."""

    @property
    def request(self) -> str:
        """The request as canonical JSON."""

    @property
    def price(self) -> float:
        """In public units."""

    @property
    def submitted(self) -> int:
        """In POSIX seconds, as the next two."""

    @property
    def starts_at(self) -> int:
        """When it starts, in public."""

    @property
    def release_at(self) -> int:
        """When its result is released, at the earliest."""

    @property
    def result(self) -> str | None:
        """The text of the model or profile file."""


class PublicStatus(Protocol):
    """What an analyst may see of a job at a time."""

    @property
    def state(self) -> str:
        """queued, running, refused, finished, failed or cancelled."""

    @property
    def progress(self) -> float:
        """The part of its time that has passed, in tenths."""


class Jobs(Protocol):
    """The jobs of a node."""

    def submit(
        self,
        run: str,
        kind: JobKind,
        analyst: AnalystPolicy,
        table: TablePolicy,
        request: str,
        price: float,
        now: float,
    ) -> StoredJob:
        """Store a job, or return the one of this name; RequestError if that is another's request.

        Also if quotas of the analyst do not allow it.
        """

    def refuse(self, run: str) -> None:
        """Note that the ledger refused a job."""

    def cancel(self, run: str, now: float) -> StoredJob | None:
        """End a job unless it ended, and return it."""

    def get(self, run: str) -> StoredJob | None:
        """Return a job."""

    def of_analyst(self, analyst: str) -> Sequence[StoredJob]:
        """Return the jobs of an analyst by the id."""

    def status_at(self, job: Any, now: float) -> PublicStatus:
        """Return what may be seen of a job."""


class Price(Protocol):
    """What a request costs."""

    @property
    def units(self) -> float:
        """Estimated seconds of one core, whatever the rows."""

    @property
    def budget(self) -> Budget:
        """The guarantee of its own, at its own delta."""


class Booking(Protocol):
    """Prices and reservations, as `privclust.node.booking.Booking` has them."""

    def price(self, request: Request) -> Price:
        """Return what a request costs; ParameterError if no fit can be like that."""

    def reserve(self, job: Any) -> None:
        """Reserve what a job spends, once whatever happens; BudgetExceededError if too much."""

    def epsilon_left(self, analyst: AnalystPolicy, table: TablePolicy) -> float:
        """Return the largest epsilon that one more fit of the analyst may have."""

    def forecast(self, request: FitRequest) -> dict[str, Any] | None:
        """Return what to expect of a fit, where the owner says about how many rows there are."""


class Accounts(Protocol):
    """The ledger, as far as endpoints look into it."""

    def dataset(self, label: str) -> Dataset:
        """Return the account of a data set."""


@dataclass(frozen=True)
class Node:
    """All parts of a running node.

    Attributes
    ----------
    policy : Policy
        What is allowed.
    identities : Identities
        Who sends a request.
    jobs, booking, ledger
        What was requested, what it costs, and what data sets there are.
    name_key : bytes
        The secret behind names of runs.
    clock : callable
        Returns POSIX seconds.
    audit_log, metrics
        What the owner sees of it.
    """

    policy: Policy
    identities: Identities
    jobs: Jobs
    booking: Booking
    ledger: Accounts
    name_key: bytes
    clock: Callable[[], float]
    audit_log: AuditLog
    metrics: Metrics
