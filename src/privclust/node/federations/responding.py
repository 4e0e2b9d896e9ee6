"""The process that replies to the requests of one fit of a federation: the only one with its rows.

It goes on until the fit is ended, or its public time is over. Killed at any step, the next one
goes on: the ledger has one result for each slot and attempt, and a reply follows from that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from privclust.cohorts.member import Responder
from privclust.cohorts.membership import fault_of_request
from privclust.cohorts.sum_request import SumRequest
from privclust.cohorts.terms import Agreement
from privclust.engines.federated.wire import WireError, decode
from privclust.errors import NodeRefusedError
from privclust.node.federations.hosted import SIZE_MAX, Hosted, hosted, read_request
from privclust.node.federations.sum_requests import Outcome, SumRequestStore, SumState
from privclust.node.jobs.job import Job
from privclust.node.jobs.schedule import next_tick
from privclust.node.jobs.store import JobStore
from privclust.node.policy.policy import Policy
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger
from privclust.sources.dialects import Files

POLL = 0.1


def reply_to_requests(policy: Policy, job: Job) -> None:
    """Reply to what is requested in the fit of a job, until it ends."""
    name, digest = read_request(job.request)
    work = _Work(policy, job, hosted(policy, name), digest)
    while work.goes_on():
        if not work.reply_next():
            time.sleep(POLL)


class _Work:
    """One fit at this node, and what was opened for it so far."""

    def __init__(self, policy: Policy, job: Job, hosted: Hosted, digest: bytes) -> None:
        place = policy.node.ledger
        self._job = job
        self._hosted = hosted
        self._digest = digest
        self._tick = policy.node.tick
        self._jobs = JobStore(place, policy.node.lanes, policy.node.tick)
        self._requests = SumRequestStore(place)
        self._ledger = Ledger.open(place)
        self._head = HeadFile(policy.node.head)
        self._head.check(self._ledger)
        self._fit: _Fit | None = None

    def goes_on(self) -> bool:
        """Tell whether this process still has the job; end the job if its time is over."""
        found = self._jobs.get(self._job.run)
        if found is None or (found.state, found.lease) != ("queued", self._job.lease):
            return False
        now = time.time()
        if now < found.release_at:
            return True
        self._jobs.close_replies(found.run, now)
        return False

    def reply_next(self) -> bool:
        """Reply to one request, and tell whether there was one."""
        requested = self._requests.next(self._job.run)
        if requested is None:
            return False
        name, content = requested
        try:
            self._fit = self._fit or self._opened()
            if self._fit is None:  # ended before the request arrived
                self._jobs.close_replies(self._job.run, time.time())
                self._requests.drop(self._job.run)
                return False
            self._keep(name, "replied", self._fit.reply(content))
        except NodeRefusedError as error:
            self._keep(name, "refused", str(error).encode())
        except LedgerError:
            raise  # it cannot be reached: another process goes on
        except Exception:
            self._keep(name, "failed", b"")
            raise
        return True

    def _opened(self) -> _Fit | None:
        hosted = self._hosted
        agreement = hosted.store.agreement(self._digest)
        own = None if agreement is None else hosted.store.offer(agreement.terms.digest)
        if agreement is None or own is None:
            return None
        rows = Files(list(hosted.table.files))
        responder = Responder(hosted.member.name, agreement, own, rows, self._ledger)
        return _Fit(hosted, agreement, responder)

    def _keep(self, name: str, outcome: Outcome, content: bytes) -> None:
        """Show what became of a request, from the next public time on."""
        self._head.advance(self._ledger)
        visible_at = next_tick(time.time(), self._tick)
        self._requests.store(self._job.run, name, SumState(outcome, visible_at, content))


@dataclass(frozen=True, eq=False)
class _Fit:
    hosted: Hosted
    agreement: Agreement
    responder: Responder

    def reply(self, content: bytes) -> bytes:
        """Reply to a request; the process that took it is not trusted with rows."""
        member, terms = self.hosted.member, self.agreement.terms
        identities = {one.name: one.identity for one in terms.members}
        wrong = member.fault(terms, identities.get(member.name, b""))
        try:
            request = decode(content, SumRequest)
        except WireError:
            wrong = "this is not a request"
        else:
            wrong = wrong or fault_of_request(request, self.agreement, member.name, SIZE_MAX)
        if wrong is not None:
            raise NodeRefusedError(f"{member.name} refuses: {wrong}. Nothing was read there.")
        return self.responder.reply(request)
