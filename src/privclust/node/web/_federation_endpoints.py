"""What a node does for the coordinators of its federations: without a row, as all endpoints.

Messages are bytes of `wire`, every one of them hostile. They are checked in full by
`cohorts.membership`, whose refusals are texts that depend on the message, the policy and the ledger
alone. What a process with rows has replied is read from a table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from hashlib import sha256
from typing import TypeAlias, TypeVar

from starlette.responses import Response

from privclust.cohorts.terms import Agreement
from privclust.domains.bounds import declared_columns
from privclust.errors import NodeRefusedError
from privclust.node.booking import cap_of
from privclust.node.federations.hosted import SIZE_MAX, Joined, request_of
from privclust.node.jobs.job import Job, NewJob
from privclust.node.jobs.store import ConflictError, Quota, QuotaError
from privclust.node.requests.problems import FAILED, NOT_FOUND, RequestError, refused
from privclust.node.web._endpoints import Call
from privclust.privacy.accounting import Budget
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError

AGREEMENT_BYTES_MAX = 2**20
"""Of terms and agreements: those of 1000 members have half as many."""
REQUEST_BYTES_MAX = 2**23
"""Of requests, which are kept until the fit ends: 64 centres of 16,000 columns. `wire` would take
32 times as much, which is too much for a process that serves four at once."""
OFFERS_MAX = 200
"""Of offers that wait for an agreement, and of fits that have not ended."""
MEDIA_TYPE = "application/octet-stream"
_HASH = re.compile(r"[0-9a-f]{64}")
Work: TypeAlias = Callable[[Call], Response]
Result = TypeVar("Result")


def _refusing(work: Work) -> Work:
    """Turn what a member refuses into a problem with the same text."""

    @wraps(work)
    def refusing(call: Call) -> Response:
        try:
            return work(call)
        except NodeRefusedError as error:
            raise refused("not-allowed", str(error)) from None
        except QuotaError as error:
            raise refused("quota-exceeded", str(error)) from None
        except ConflictError as error:
            raise refused("conflict", str(error)) from None
        except LedgerError:  # it cannot be reached, which no row has a part in
            raise refused("failed", FAILED.detail, status=503) from None

    return refusing


def federations(call: Call) -> Response:
    """List the federations that the analyst may coordinate."""
    found = [one for one in call.node.federations.values() if _may_coordinate(call, one)]
    return _json({"federations": [one.hosted.policy.name for one in found]})


def federation(call: Call) -> Response:
    """Describe one: who this node is in it, and what it allows."""
    found = _named(call)
    policy, table = found.hosted.policy, found.hosted.table
    columns, _ = declared_columns(table.columns, list(table.columns))
    return _json(
        {
            "name": policy.name,
            "member": policy.member,
            "identity": found.identity.public.hex(),
            "partners": {name: key.hex() for name, key in policy.partners.items()},
            "columns": [column.to_dict() for column in columns],
            "unit": table.unit,
            "max_rows_per_unit": table.max_rows_per_unit,
            "minimum": policy.minimum,
            "colluding": policy.colluding,
            "epsilon": policy.epsilon,
            "epsilon_alone": policy.epsilon_alone,
            "seconds": policy.seconds,
            "megabytes": policy.megabytes,
            "delta": call.node.ledger.dataset(table.dataset).budget.delta,
            "epsilon_left": call.node.booking.epsilon_left(call.analyst, table),
        }
    )


@_refusing
def offer(call: Call) -> Response:
    """Make an offer for a fit of the terms in the body."""
    found, now = _named(call), call.node.clock()
    store = found.hosted.store
    made_before = store.offer(sha256(call.body).digest()) is not None
    if not made_before and store.count_offers() >= OFFERS_MAX:
        found.forget_offers(now)
        if store.count_offers() >= OFFERS_MAX:
            raise QuotaError(
                f"{OFFERS_MAX} offers wait for an agreement, or are of fits that run. End fits, or "
                "wait for an hour."
            )
    made = _logged(call, found, "offered", lambda: found.membership(call.analyst).offer(call.body))
    return Response(made, media_type=MEDIA_TYPE)


@_refusing
def join(call: Call) -> Response:
    """Take part in the agreement in the body: set its price aside and queue what replies, once."""
    found = _named(call)
    membership = found.membership(call.analyst)
    agreement = _logged(call, found, None, lambda: membership.agreement(call.body))
    run, node = agreement.run, call.node
    is_new = node.jobs.get(run) is None
    terms, seconds = agreement.terms, found.hosted.policy.seconds
    budget = Budget(terms.epsilon, terms.delta)

    def log() -> None:
        _note(call, found, "agreed", run, seconds, budget)
        node.metrics.count_job("queued")

    # Logged first: what cannot be is neither stored nor set aside.
    job = _queued(call, found, agreement, log)
    try:
        if job.state == "refused":
            raise NodeRefusedError(
                f"{membership.policy.name} refuses: its ledger had too little left for this fit. "
                "Nothing was read there."
            )
        head = HeadFile(node.policy.node.head)
        head.check(membership.ledger)
        membership.join(call.body, cap_of(call.analyst))
        head.advance(membership.ledger)
    except NodeRefusedError:
        node.jobs.refuse(run)
        if is_new:
            _note(call, found, "not-allowed", run, seconds, budget)
        raise
    return Response(status_code=204)


@_refusing
def submit(call: Call) -> Response:
    """Keep the request in the body for the process that replies."""
    found = _named(call)
    membership = found.membership(call.analyst)
    request, agreement = membership.request(call.body, SIZE_MAX)
    job = call.node.jobs.get(agreement.run)
    if job is None:
        raise RequestError(NOT_FOUND)
    if _has_failed(call, job):
        raise RequestError(FAILED)
    if job.state == "finished":
        _queued(call, found, agreement)
    name, most = request.digest.hex(), found.hosted.policy.ledger_bytes
    if call.node.requests.submit(agreement.run, name, call.body, request.size, most):
        _note(call, found, "requested", agreement.run)
    return Response(status_code=202)


@_refusing
def reply(call: Call) -> Response:
    """Return a reply; nothing as long as there is none."""
    agreement, name = _agreed(call, call.path["agreement"]), call.path["request"]
    requested = call.node.requests.get(agreement.run, name) if _HASH.fullmatch(name) else None
    job, now = call.node.jobs.get(agreement.run), call.node.clock()
    if requested is None or job is None:
        raise RequestError(NOT_FOUND)
    if requested.outcome is None or now < requested.visible_at:
        if _has_failed(call, job):
            raise RequestError(FAILED)
        if requested.outcome is None and job.state == "finished":
            raise RequestError(NOT_FOUND)  # nobody serves it, unless it is sent again
        return Response(status_code=204)
    if requested.outcome == "failed":
        raise RequestError(FAILED)
    if requested.outcome == "refused":
        raise NodeRefusedError(requested.content.decode())
    return Response(requested.content, media_type=MEDIA_TYPE)


@_refusing
def end(call: Call) -> Response:
    """End the fit whose hash is the body: what was not charged is free again."""
    found = _named(call)
    membership = found.membership(call.analyst)
    try:
        agreement = membership.agreed(call.body)
    except NodeRefusedError:
        return Response(status_code=204)  # it has ended, or there was none for this coordinator
    node, run = call.node, agreement.run
    membership.ledger.close(run, finished=True)  # from here on, nothing is charged
    HeadFile(node.policy.node.head).advance(membership.ledger)
    node.jobs.close_replies(run, node.clock())
    node.requests.drop(run)
    membership.end(agreement.digest)
    _note(call, found, "ended", run)
    return Response(status_code=204)


def _queued(
    call: Call, found: Joined, agreement: Agreement, log: Callable[[], None] = lambda: None
) -> Job:
    """Return the job of a fit; one whose time was over has another time, if quotas allow it."""
    policy, analyst, now = found.hosted.policy, call.analyst, call.node.clock()
    request = request_of(policy.name, agreement.digest)
    new = NewJob(
        run=agreement.run,
        kind="replies",
        analyst=analyst.id,
        table_name=policy.table,
        request=request,
        price=float(policy.seconds),
        seconds=policy.seconds,
    )
    quota = Quota(analyst.max_queued, analyst.work_per_day)
    job = call.node.jobs.submit(new, quota, now, log)
    if job.state == "finished":
        return call.node.jobs.submit_again(new, quota, now)
    if _has_failed(call, job):
        raise RequestError(FAILED)
    return job


def _has_failed(call: Call, job: Job) -> bool:
    return job.state == "failed" and call.node.clock() >= (job.visible_at or 0)


def _agreed(call: Call, name: str) -> Agreement:
    """Return the agreement of a hash; none, and one of another coordinator, are alike."""
    membership = _named(call).membership(call.analyst)
    if _HASH.fullmatch(name):
        with suppress(NodeRefusedError):
            return membership.agreed(bytes.fromhex(name))
    raise RequestError(NOT_FOUND)


def _named(call: Call) -> Joined:
    found = call.node.federations.get(call.path["federation"])
    if found is None or not _may_coordinate(call, found):
        raise RequestError(NOT_FOUND)
    return found


def _may_coordinate(call: Call, found: Joined) -> bool:
    return call.analyst.id in found.hosted.policy.coordinators


def _logged(call: Call, found: Joined, outcome: str | None, work: Callable[[], Result]) -> Result:
    """Do something, and log what was refused; what was done if `outcome` names it."""
    try:
        done = work()
    except NodeRefusedError:
        _note(call, found, "not-allowed")
        raise
    if outcome is not None:
        _note(call, found, outcome)
    return done


def _note(
    call: Call,
    found: Joined,
    outcome: str,
    run: str | None = None,
    seconds: float | None = None,
    budget: Budget | None = None,
) -> None:
    now, table = call.node.clock(), found.hosted.policy.table
    call.node.audit_log.write(
        now, call.analyst.id, table, outcome, fit=run, seconds=seconds, budget=budget
    )


def _json(content: object) -> Response:
    return Response(json.dumps(content, allow_nan=False), media_type="application/json")
