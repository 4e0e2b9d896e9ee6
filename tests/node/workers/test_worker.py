"""Workers with real processes: what ends them, what is stored, and what logs keep to themselves."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.job_stand_in import COMMAND, SECRET, read_policy, write_policy
from helpers.processes import other_process

from privclust.node.jobs.job import Job, NewJob
from privclust.node.jobs.store import JobStore, Quota
from privclust.node.workers.worker import Pace, run_worker, start_up
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import Ledger

PATIENCE = 60.0
FAST = Pace(poll=0.05, lease=3.0, grace=40.0, closing=20.0)
"""With much grace, because on a busy machine a process takes seconds to start."""
LIMITS = Quota(max_queued=100, work_per_day=1e9)


class Node:
    """A node's jobs in a folder, and what their processes wrote there."""

    def __init__(self, folder: Path, ledger: str) -> None:
        self.store = JobStore(ledger, lanes=8)
        self.policy_path = write_policy(folder / "policy.json", ledger)
        self._began = folder / "began"

    def submit(self, do: str, seconds: int = 600, number: int = 0) -> str:
        request = json.dumps({"do": do, "began": str(self._began)})
        new = NewJob(f"{number:016x}", "fit", "a1", "credit", request, 1.0, seconds)
        return self.store.submit(new, LIMITS, time.time()).run

    def began(self) -> list[tuple[int, float]]:
        """Return number and start of each process."""
        if not self._began.exists():
            return []
        lines = [line.split() for line in self._began.read_text().splitlines()]
        return [(int(pid), float(start)) for pid, start in lines]

    @contextmanager
    def working(self, pace: Pace = FAST) -> Iterator[threading.Event]:
        stop = threading.Event()
        policy: Any = read_policy(self.policy_path)
        arguments = (policy, self.policy_path, stop, pace, COMMAND)
        thread = threading.Thread(target=run_worker, args=arguments)
        thread.start()
        try:
            yield stop
        finally:
            stop.set()
            thread.join()

    def job(self, run: str) -> Job:
        job = self.store.get(run)
        assert job is not None
        return job

    def ended(self, run: str) -> Job:
        until(lambda: self.job(run).state != "queued")
        return self.job(run)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path, str(tmp_path / "ledger.db"))


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def members(group: int) -> list[int]:
    """Return the processes of a group that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, pgrp = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(pgrp) == group and state not in "ZX":
            found.append(int(folder.name))
    return found


def children() -> set[int]:
    """Return the processes that this one started, or that became its own."""
    found = [folder / "children" for folder in Path("/proc/self/task").iterdir()]
    return {int(pid) for file in found for pid in file.read_text().split()}


def is_on_grid(job: Job) -> bool:
    return job.visible_at is not None and (job.visible_at - job.release_at) % job.seconds == 0


def test_result_is_stored_after_its_release_time_by_a_limited_process(
    node: Node, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("INFO")
    run = node.submit("finish", seconds=3)
    with node.working():
        job = node.ended(run)
        until(lambda: "stored" in caplog.text)
    assert job.state == "finished"
    found = json.loads(job.result or "")
    assert is_on_grid(job)
    assert job.visible_at is not None
    assert job.visible_at <= found["waited until"] < job.visible_at + job.seconds
    assert (found["core"], found["memory"]) == ([0, 0], [4 * 2**30] * 2)
    assert (found["dumpable"], found["leaked"]) == (0, False)
    assert caplog.messages == [f"run {run}: stored"]
    assert SECRET not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("do", "name"), [("raise", "ArithmeticError"), ("fill memory", "MemoryError")]
)
def test_job_that_raises_is_failed_at_once_and_only_its_class_is_logged(
    node: Node,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    do: str,
    name: str,
) -> None:
    caplog.set_level("INFO")
    run = node.submit(do)
    with node.working():
        job = node.ended(run)
    assert (job.state, job.attempts) == ("failed", 1)
    assert is_on_grid(job)
    assert caplog.messages == [f"run {run}: failed ({name})"]
    assert SECRET not in caplog.text + "".join(capfd.readouterr())


@pytest.mark.parametrize("do", ["die", pytest.param("lose the ledger", marks=pytest.mark.long)])
def test_job_whose_process_is_lost_is_tried_again_and_then_failed(
    node: Node, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, do: str
) -> None:
    for module in ("jobs.store", "workers.worker"):
        monkeypatch.setattr(f"privclust.node.{module}.MAX_ATTEMPTS", 2)
    caplog.set_level("INFO")
    run = node.submit(do)
    with node.working():
        job = node.ended(run)
    assert (job.state, job.attempts) == ("failed", 2)
    assert len(node.began()) == 2
    assert SECRET not in caplog.text


def test_job_that_takes_longer_than_its_table_allows_is_killed_and_failed(node: Node) -> None:
    run = node.submit("hang", seconds=8)
    with node.working(replace(FAST, grace=0.0)):
        until(lambda: node.began() and len(members(node.began()[0][0])) == 2)
        job = node.ended(run)
    assert (job.state, job.attempts) == ("failed", 1)
    assert is_on_grid(job)
    assert members(node.began()[0][0]) == []


def test_cancelled_job_is_killed_with_all_it_started(node: Node) -> None:
    run = node.submit("hang")
    with node.working():
        until(lambda: node.began() and len(members(node.began()[0][0])) == 2)
        node.store.cancel(run, time.time())
        until(lambda: members(node.began()[0][0]) == [])
        assert node.job(run).state == "cancelled"


def test_job_cancelled_while_it_waits_is_not_ended_in_the_ledger(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    """What `run_job` does after its wait is to end the run."""
    caplog.set_level("INFO")
    run = node.submit("wait and tell", seconds=8)
    with node.working(replace(FAST, lease=60.0)):  # looked at by the worker when it is too late
        until(node.began)
        node.store.cancel(run, time.time())
        until(lambda: caplog.messages)
    assert caplog.messages == [f"run {run}: cancelled"]
    assert len(node.began()) == 1


def test_lease_is_renewed_as_long_as_the_process_works(node: Node) -> None:
    run = node.submit("hang")
    with node.working():
        until(node.began)
        first = node.job(run)
        until(lambda: node.job(run).lease_until > first.lease_until + FAST.lease)
        assert node.job(run).attempts == 1


def test_job_that_waits_for_its_release_keeps_no_lane_from_the_next(node: Node) -> None:
    runs = [node.submit("finish", 8, number) for number in (0, 1)]
    with node.working():
        jobs = [node.ended(run) for run in runs]
    starts = sorted(start for _, start in node.began())
    assert starts[1] < min(job.visible_at or 0 for job in jobs)


def test_job_outlives_the_fork_server_and_the_next_has_another(node: Node) -> None:
    first, before = node.submit("finish", seconds=6), children()
    with node.working():
        until(node.began)
        (server,) = children() - before - {node.began()[0][0]}
        os.kill(server, signal.SIGKILL)
        second = node.submit("finish", seconds=6, number=1)
        jobs = [node.ended(run) for run in (first, second)]
    assert [(job.state, job.attempts) for job in jobs] == [("finished", 1)] * 2


def test_worker_outlives_a_ledger_that_cannot_be_reached(
    node: Node, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unreliable(method: Callable[..., Any]) -> Callable[..., Any]:
        failures = [LedgerError(SECRET)] * 3

        def call(*arguments: Any) -> Any:
            if failures:
                raise failures.pop()
            return method(*arguments)

        return call

    for name in ("lease", "renew", "fail"):
        monkeypatch.setattr(JobStore, name, unreliable(getattr(JobStore, name)))
    caplog.set_level("INFO")
    run = node.submit("raise")
    with node.working():
        assert node.ended(run).state == "failed"
    assert "waits for the ledger (LedgerError)" in caplog.text
    assert SECRET not in caplog.text


def test_worker_says_why_compiling_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(str(tmp_path / "ledger.db"), "credit", epsilon=1.0, delta=1e-6)
    HeadFile(tmp_path / "head").create(ledger)
    node = SimpleNamespace(ledger=str(tmp_path / "ledger.db"), head=tmp_path / "head", lanes=1)
    policy: Any = SimpleNamespace(node=node, digest="")
    program = "raise RuntimeError('cannot cache: no locator available')"
    monkeypatch.setattr("privclust.node.workers.worker._WARM_UP", program)
    with pytest.raises(
        OSError, match="exit code 1: RuntimeError: cannot cache: no locator"
    ) as error:
        start_up(policy)
    assert "NUMBA_CACHE_DIR" in str(error.value)
    assert "Traceback" not in str(error.value)


WORKER = """
import sys
from pathlib import Path
from helpers.job_stand_in import COMMAND, read_policy
from privclust.node.workers.worker import Pace, run_worker, stop_on_signal
path = Path(sys.argv[1])
run_worker(read_policy(path), path, stop_on_signal(), Pace(0.05, 3.0), COMMAND)
"""


@pytest.mark.parametrize(
    "number", [pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGKILL]
)
def test_what_a_worker_began_ends_with_it_and_another_goes_on(
    node: Node, number: signal.Signals
) -> None:
    run = node.submit("hang")
    with other_process(WORKER, str(node.policy_path)) as worker:
        until(lambda: node.began() and len(members(node.began()[0][0])) == 2)
        os.kill(worker.pid, number)
        assert worker.wait(PATIENCE) == (0 if number == signal.SIGTERM else -number)
    until(lambda: members(node.began()[0][0]) == [])
    assert node.job(run).state == "queued"
    given_back = node.job(run).lease_until == 0.0
    assert given_back == (number == signal.SIGTERM)
    with node.working():
        until(lambda: len(node.began()) == 2)
        assert node.job(run).attempts == 2


def test_jobs_on_a_server_are_worked_on(tmp_path: Path, database: str) -> None:
    node = Node(tmp_path, database)
    run = node.submit("finish", seconds=3)
    with node.working():
        assert node.ended(run).state == "finished"
