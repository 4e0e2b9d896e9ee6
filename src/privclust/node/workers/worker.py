"""The worker of a node: leases jobs, runs each in a process of its own, and kills what must end.

Several workers may share a node's jobs. One that is stopped gives its leases back, one that is gone
loses them, and another goes on.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from privclust.node.jobs.schedule import TURNS_MAX
from privclust.node.jobs.store import MAX_ATTEMPTS, JobStore
from privclust.node.workers._child import Child
from privclust.node.workers._starter import Starter
from privclust.node.workers.job_process import FAILED, LOST, STORED
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger

if TYPE_CHECKING:
    from privclust.node.policy.policy import Policy

COMMAND = (sys.executable, "-m", "privclust.node.workers.job_process")
_WARM_UP = """
import numpy as np
from privclust import PrivateKMeans
PrivateKMeans(2, delta=1e-6, bounds=(0, 1)).fit(np.zeros((1000, 2)))
"""
"""A fit of made-up rows."""
_WITHOUT_LEASE = {"finished": "stored", "cancelled": "cancelled", "refused": "refused"}
"""Why a process has no lease any more: it may have stored its result a moment ago."""
_log = logging.getLogger("privclust.node.workers.worker")


@dataclass(frozen=True)
class Pace:
    """How long a worker waits for what, in seconds.

    Attributes
    ----------
    poll : float, default=0.5
        Between looking for jobs, and at its processes.
    lease : float, default=30.0
        For which a job is leased; renewed after each third.
    grace : float, default=10.0
        Added to twice a table's seconds before a process that still computes is killed.
    closing : float, default=120.0
        Left to a process after its release time, to end its run and store the result.
    """

    poll: float = 0.5
    lease: float = 30.0
    grace: float = 10.0
    closing: float = 120.0


def run_worker(
    policy: Policy,
    policy_path: Path,
    stop: threading.Event,
    pace: Pace | None = None,
    command: Sequence[str] = COMMAND,
) -> None:
    """Work on jobs until `stop` is set, as many at the same time as the node has lanes.

    Parameters
    ----------
    policy : Policy
        What `policy_path` says.
    policy_path : Path
        The policy file, which each job's process reads itself.
    stop : threading.Event
        Ends the work: processes are killed, and their jobs given back.
    pace : Pace, optional
        How long is waited for what.
    command : sequence of str, optional
        What is started as fork server, from which all jobs are forked.
    """
    worker = _Worker(policy, policy_path, pace or Pace(), command)
    try:
        while not stop.is_set():
            worker.step()
            stop.wait(worker.pace.poll)
    finally:
        worker.close()


def start_up(policy: Policy) -> None:
    """Refuse an older ledger, and compile what fits need, which would count as their time."""
    HeadFile(policy.node.head).check(Ledger.open(policy.node.ledger))
    _log.info("compiling, once for each version; policy %s", policy.digest)
    _compile()
    _log.info("working on jobs, %d at the same time", policy.node.lanes)


def _compile() -> None:
    """Fit made-up rows, and say why that failed: no word of it can be about an owner's rows."""
    done = subprocess.run(
        [sys.executable, "-c", _WARM_UP],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    if done.returncode == 0:
        return
    cause = (done.stderr.strip() or "it said nothing").rpartition("\n")[2]
    raise ChildProcessError(
        f"compiling what fits need failed with exit code {done.returncode}: {cause}. See that the "
        "worker's user may write to NUMBA_CACHE_DIR, and that disk and memory have space; then "
        "start the worker again."
    )


def stop_on_signal() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set. Call it in the main thread."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


class _Worker:
    def __init__(
        self, policy: Policy, policy_path: Path, pace: Pace, command: Sequence[str]
    ) -> None:
        self.pace = pace
        self._store = JobStore(policy.node.ledger)
        self._lanes = policy.node.lanes
        self._policy_path = policy_path
        self._starter = Starter(command)
        self._children: list[Child] = []

    def step(self) -> None:
        """Look at each process once, and start those that are due."""
        self._children = [child for child in self._children if not self._is_over(child)]
        try:
            self._start_due()
        except LedgerError as error:
            _log.warning("no job leased: %s", type(error).__name__)

    def close(self) -> None:
        """Kill all processes, and give their jobs back."""
        for child in self._children:
            child.kill()
            with suppress(LedgerError):  # then the lease expires
                self._store.give_back(child.job.run, child.job.lease, time.time())
            _report(child, "stopped")
        self._starter.close()

    def _start_due(self) -> None:
        if not self._starter.is_ready():
            return
        # Those that wait for their release compute nothing, and keep no lane from the next.
        while sum(child.computing for child in self._children) < self._lanes:
            job = self._store.lease(time.time(), self.pace.lease)
            if job is None:
                return
            started = self._starter.start([str(self._policy_path), job.run])
            if started is None:
                _log.warning("run %s: not started; tried again when its lease has expired", job.run)
                return
            self._children.append(Child(job, started))

    def _is_over(self, child: Child) -> bool:
        """See to one process, and tell whether nothing is left to do about it."""
        try:
            if child.exit_code() is None:
                if child.is_overdue(self.pace.grace, self.pace.closing):
                    child.out_of_time = True
                    child.kill()
                elif not self._keeps_lease(child):
                    outcome = self._without_lease(child)
                    child.kill()
                    _report(child, outcome)
                    return True
                else:
                    return False
            return self._has_settled(child)
        except LedgerError as error:
            _report(child, "waits for the ledger", type(error).__name__)
            return False

    def _keeps_lease(self, child: Child) -> bool:
        """Renew a lease in time. A cancelled job has none."""
        now = time.time()
        if now >= child.lease_until:
            return False
        if child.lease_until - now <= self.pace.lease * 2 / 3:
            if not self._store.renew(child.job.run, child.job.lease, now, self.pace.lease):
                return False
            child.lease_until = now + self.pace.lease
        return True

    def _without_lease(self, child: Child) -> str:
        """Return what became of a job whose process has no lease any more."""
        job = self._store.get(child.job.run)
        return _WITHOUT_LEASE.get(job.state if job else "", "lease lost")

    def _has_settled(self, child: Child) -> bool:
        """Store what became of a process that has ended."""
        code, job = child.exit_code(), child.job
        if code == STORED:
            _report(child, "stored")
        elif code == LOST:
            _report(child, self._without_lease(child))
        elif child.out_of_time or code == FAILED or job.attempts >= MAX_ATTEMPTS:
            self._store.fail(job.run, job.lease, time.time())
            late = f"it took more than {TURNS_MAX} times its table's seconds"
            _report(child, "failed", late if child.out_of_time else child.error())
        else:
            _report(child, "tried again when its lease has expired", child.error())
        return True


def _report(child: Child, outcome: str, error: str = "") -> None:
    """Log what became of a run: never an error's text, which may depend on rows."""
    _log.info("run %s: %s%s", child.job.run, outcome, f" ({error})" if error else "")
