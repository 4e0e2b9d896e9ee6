"""All parts of a running web process of a node; none of them reads a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from privclust.node.audit_log import AuditLog
from privclust.node.booking import Booking
from privclust.node.federations.hosted import Joined
from privclust.node.federations.sum_requests import SumRequestStore
from privclust.node.identity import Identities
from privclust.node.jobs.store import JobStore
from privclust.node.policy.policy import Policy
from privclust.node.web.metrics import Metrics
from privclust.privacy.ledger.ledger import Ledger


@dataclass(frozen=True)
class Node:
    """What the endpoints work with.

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
    requests : SumRequestStore
        What federations ask.
    federations : mapping
        What the node takes part in, by name.
    """

    policy: Policy
    identities: Identities
    jobs: JobStore
    booking: Booking
    ledger: Ledger
    name_key: bytes
    clock: Callable[[], float]
    audit_log: AuditLog
    metrics: Metrics
    requests: SumRequestStore
    federations: Mapping[str, Joined] = field(default_factory=dict)
