"""One job in a process of its own, which its worker can kill: ``POLICY RUN`` are its arguments.

Run without arguments, this module is the fork server that such processes come from.

Standard input brings the secret of the lease and stays open as long as the worker lives. Standard
output tells the worker that the model is ready, and of an error the name of its class. Nothing else
is written: an error's text may depend on rows.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from privclust.node.core_dumps import forbid_core_dumps
from privclust.node.jobs.job import Job
from privclust.node.jobs.schedule import TURNS_MAX, visible_at
from privclust.node.jobs.store import JobStore
from privclust.privacy.ledger.journal import LedgerError

if TYPE_CHECKING:
    from privclust.node.policy.policy import Policy

STORED, FAILED, AGAIN, LOST = 0, 3, 4, 5
"""Exit codes: the result is stored; the job failed; it may be tried again; another has the job."""
READY = b"ready\n"
STARTING_SECONDS = 60
_GIB = 2**30


class _LeaseLostError(RuntimeError):
    """A job was cancelled, or another worker has it: its run is not to be ended here."""


RunJob = Callable[["Policy", Job, Callable[[], None]], str | None]


class ReleaseTimer:
    """Waits for a job's release time, once.

    Parameters
    ----------
    job : Job
        Whose times are waited for.
    on_ready : callable
        Called when the waiting begins.
    """

    def __init__(self, job: Job, on_ready: Callable[[], object]) -> None:
        self._job = job
        self._on_ready = on_ready
        self.ready: float | None = None

    def __call__(self) -> None:
        """Return at the first release time from now on; at once if it was waited for before."""
        if self.ready is None:
            self.ready = time.time()
            self._on_ready()
        until = visible_at(self.ready, self._job.times, self._job.seconds)
        while (left := until - time.time()) > 0:
            time.sleep(min(left, 1.0))  # in pieces, because a clock may be set


def main(arguments: Sequence[str], read_policy: Callable[[Path], Policy], run_job: RunJob) -> int:
    """Run the job that `arguments` name and return an exit code.

    `read_policy` reads the policy file. `run_job` gets the policy, the job and a function that
    waits for the release time and raises if the job was cancelled meanwhile, before its run is
    ended in the ledger. It returns the result; None if there is nothing to store.
    """
    reports = _silence()
    token = _read_line(0).decode()
    threading.Thread(target=_die_with_worker, daemon=True).start()
    failed = AGAIN  # as long as nothing of the job was begun
    try:
        policy_path, run = arguments
        policy = read_policy(Path(policy_path))
        store = JobStore(policy.node.ledger)
        job = store.get(run)
        if job is None or job.lease != token:
            return LOST
        _limit(policy.node.max_memory_gib, job.seconds)
        release = ReleaseTimer(job, lambda: os.write(reports, READY))
        failed = FAILED

        def wait() -> None:
            release()
            found = store.get(run)
            if found is None or (found.state, found.lease) != ("queued", token):
                raise _LeaseLostError

        result = run_job(policy, job, wait)
        if result is None:
            return STORED
        return STORED if store.finish(run, token, result, time.time(), release.ready) else LOST
    except _LeaseLostError:
        return LOST
    except Exception as error:
        os.write(reports, f"{type(error).__name__}\n".encode())
        # A ledger that cannot be reached says nothing of the job, which can be resumed.
        return AGAIN if isinstance(error, LedgerError) else failed


def _silence() -> int:
    """Send all that is printed nowhere, and return where reports to the worker go."""
    reports = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    return reports


def _read_line(descriptor: int) -> bytes:
    line = b""
    while (byte := os.read(descriptor, 1)) not in (b"", b"\n"):
        line += byte
    return line


def _die_with_worker() -> None:
    """Kill this process and all it started when the worker, however it ended, is gone."""
    while os.read(0, 1):
        pass
    with suppress(ProcessLookupError):  # started by hand, it leads no group
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(LOST)


def _limit(memory_gib: float, seconds: int) -> None:
    """Bound memory and CPU; let neither a core dump nor another process show what is in memory."""
    forbid_core_dumps()
    bound, hard = int(memory_gib * _GIB), resource.getrlimit(resource.RLIMIT_AS)[1]
    bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
    # What all cores can do in the time that it has, and what starting takes.
    most = (TURNS_MAX * seconds + STARTING_SECONDS) * (os.cpu_count() or 1)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))


if __name__ == "__main__":
    from privclust.node.booking import carry_out
    from privclust.node.policy.policy_file import read_policy
    from privclust.node.workers._preloaded import import_all
    from privclust.node.workers.fork_server import serve

    sys.exit(serve(lambda arguments: main(arguments, read_policy, carry_out), import_all))
