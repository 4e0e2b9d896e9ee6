"""A worker's fork server may end at any time: what it started goes on, and another one is made."""

from __future__ import annotations

import os
import signal

import pytest
from helpers.forked import report_of, started, starting, wait_until_ready

from privclust.node.workers._starter import Starter

WAITS = """
def report():
    os.read(0, 1)
    return os.getpid()

sys.exit(serve(run, lambda: None))
"""
FORKS_NOT = """
import privclust.node.workers.fork_server

def fails():
    raise BlockingIOError

os.fork = fails
sys.exit(serve(run, lambda: None))
"""


def kill_server(starter: Starter) -> None:
    assert starter._server is not None
    os.kill(starter._server.pid, signal.SIGKILL)
    starter._server.wait()


def test_process_outlives_its_server_and_the_next_is_started(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with starting(WAITS) as starter:
        first = started(starter)
        kill_server(starter)
        wait_until_ready(starter)
        second = started(starter)
        for process in (first, second):
            os.write(process.stdin, b"\n")
            assert report_of(process) == process.pid
    assert caplog.messages == ["the fork server has ended (-9); another is started"]


@pytest.mark.parametrize("script", [WAITS, FORKS_NOT])
def test_process_that_cannot_be_started_leaves_nothing_open(script: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    with starting(script) as starter:
        if script == WAITS:
            kill_server(starter)
        assert starter.start([]) is None
        wait_until_ready(starter)
    assert len(os.listdir("/proc/self/fd")) == before
