"""A job's process, as its worker sees it."""

from __future__ import annotations

import os
import re
import signal
import time
from contextlib import suppress

from privclust.node.jobs.job import Job
from privclust.node.jobs.schedule import TURNS_MAX, visible_at
from privclust.node.workers._starter import Started
from privclust.node.workers.job_process import READY

_CLASS = re.compile(rb"[A-Za-z_]\w{0,79}")


class Child:
    """One started process and the lease it works under.

    Parameters
    ----------
    job : Job
        With the secret of its lease, which goes through a pipe: all may read arguments.
    started : Started
        The process, which leads a group of its own.
    """

    def __init__(self, job: Job, started: Started) -> None:
        self.job = job
        self.lease_until = job.lease_until
        self.out_of_time = False
        self._begun = time.monotonic()
        self._due: float | None = None
        self._reports = b""
        self._process = started
        self._code: int | None = None
        with suppress(BrokenPipeError):  # it ended already, and `exit_code` says how
            os.write(started.stdin, f"{job.lease}\n".encode())

    @property
    def computing(self) -> bool:
        """Whether the result is not ready yet."""
        self._read()
        return self._due is None

    def error(self) -> str:
        """Return the name of the class of the error that ended the process, or nothing."""
        self._read()
        lines = [line for line in self._reports.split(b"\n") if line + b"\n" != READY]
        name = next((line for line in lines if _CLASS.fullmatch(line)), b"")
        return name.decode()

    def is_overdue(self, grace: float, closing: float) -> bool:
        """Tell whether it computed for longer than its table allows, or does not end after it.

        `grace` and `closing` are the seconds that are added for either.
        """
        if self.computing:
            return time.monotonic() > self._begun + TURNS_MAX * self.job.seconds + grace
        assert self._due is not None
        return time.time() > self._due + closing

    def exit_code(self) -> int | None:
        """Return how the process ended, or None. Nothing that it started is left then."""
        if self._code is None:
            ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
            # Not reaped yet, so that the group's number is still its own.
            if os.waitid(os.P_PID, self._process.pid, ended) is None:
                return None
            self.kill()
        return self._code

    def kill(self) -> None:
        """Kill the process and all that it started."""
        if self._code is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            _, status = os.waitpid(self._process.pid, 0)
            with suppress(ChildProcessError):  # what it left behind became the worker's
                while True:
                    os.waitpid(-self._process.pid, 0)
            self._read()
            self._code = os.waitstatus_to_exitcode(status)
            os.close(self._process.stdin)
            os.close(self._process.stdout)

    def _read(self) -> None:
        """Take what the process reported since."""
        if self._code is not None:
            return
        try:
            self._reports += os.read(self._process.stdout, 1000)
        except BlockingIOError:
            return
        if self._due is None and READY in self._reports:
            self._due = visible_at(time.time(), self.job.times, self.job.seconds)
