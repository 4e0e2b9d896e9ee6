"""Fork servers of tests: a script that calls `serve`, and what its processes print."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from privclust.node.workers._starter import Started, Starter

PATIENCE = 60.0
SERVER = """
import json, os, sys, threading
from privclust.node.workers.fork_server import serve

def run(arguments):
    os.write(1, json.dumps(report(*arguments)).encode())
    return 7
"""
"""What a script goes on with must define `report`, and call `serve`."""


@contextmanager
def starting(script: str) -> Iterator[Starter]:
    """Start a fork server that is `SERVER` and `script`, and end it."""
    starter = Starter((sys.executable, "-c", SERVER + script))
    try:
        wait_until_ready(starter)
        yield starter
    finally:
        starter.close()


def wait_until_ready(starter: Starter) -> None:
    deadline = time.monotonic() + PATIENCE
    while not starter.is_ready():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def started(starter: Starter, *arguments: str) -> Started:
    process = starter.start(arguments)
    assert process is not None
    return process


def report_of(process: Started) -> Any:
    """Wait until a process has ended by itself, and return what it printed."""
    _, status = os.waitpid(process.pid, 0)
    printed = os.read(process.stdout, 2**16)
    os.close(process.stdin)
    os.close(process.stdout)
    assert os.waitstatus_to_exitcode(status) == 7
    return json.loads(printed)
