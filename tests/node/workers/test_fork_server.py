"""Processes of a fork server are as good as new ones: nothing is shared, and noise is their own."""

from __future__ import annotations

import os
import socket
from typing import Any

import pytest
from helpers.forked import report_of, started, starting
from helpers.processes import output_of

DRAWS = """
from privclust.node.workers._preloaded import import_all

def report():
    import random, secrets
    import numpy as np
    from privclust.privacy.noise import OpenDPNoise
    loaded = "opendp" in sys.modules
    zeros, source = np.zeros(8, dtype=np.int64), OpenDPNoise()
    return {
        "had OpenDP": loaded,
        "gaussian": source.gaussian(zeros, 2.0**26).tolist(),
        "laplace": source.laplace(zeros, 2.0**26).tolist(),
        "key": source.key().hex(),
        "secrets": secrets.token_hex(16),
        "random": random.random(),
        "numpy": np.random.default_rng().random(),
        "numpy's own": np.random.random(),
    }

sys.exit(serve(run, import_all))
"""
SELF = """
from privclust.node.workers._preloaded import import_all

def report():
    os.read(0, 1)
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "group": os.getpgid(0),
        "descriptors": sorted(os.listdir("/proc/self/fd"), key=int),
        "threads": len(os.listdir("/proc/self/task")),
        "core": __import__("resource").getrlimit(__import__("resource").RLIMIT_CORE),
        "arguments": len(sys.argv),
    }

sys.exit(serve(run, import_all))
"""
WITH_A_THREAD = """
def report(word):
    return {"arguments": sys.argv[1:], "threads": len(os.listdir("/proc/self/task"))}

sys.exit(serve(run, threading.Thread(target=threading.Event().wait, daemon=True).start))
"""
DRAWN_BEFORE_THE_FORK = """
import json, os
import numpy as np
from privclust.privacy.noise import OpenDPNoise

def draw():
    return OpenDPNoise().gaussian(np.zeros(4, dtype=np.int64), 2.0**26).tolist()

drawn = [draw()]
for _ in range(2):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, json.dumps(draw()).encode())
        os._exit(0)
    os.wait()
    drawn.append(json.loads(os.read(reader, 1000)))
print(len({tuple(part) for part in drawn}))
"""


@pytest.mark.attack
def test_two_jobs_draw_different_noise() -> None:
    with starting(DRAWS) as starter:
        first, second = (report_of(started(starter)) for _ in range(2))
    assert (first.pop("had OpenDP"), second.pop("had OpenDP")) == (False, False)
    for name, drawn in first.items():
        assert drawn != second[name], name
        if isinstance(drawn, list):
            assert not set(drawn) & set(second[name])


def test_generator_of_opendp_is_another_after_a_fork() -> None:
    """No job relies on it: OpenDP is not loaded before a fork."""
    assert output_of(DRAWN_BEFORE_THE_FORK) == "3\n"


def test_job_inherits_nothing_but_its_two_pipes() -> None:
    with socket.socket() as open_socket:
        open_socket.set_inheritable(True)
        with starting(SELF) as starter:
            process = started(starter)
            os.write(process.stdin, b"\n")
            found: dict[str, Any] = report_of(process)
    assert found["parent"] == os.getpid()  # its own parent has ended
    assert found["pid"] == found["session"] == found["group"] == process.pid
    assert found["descriptors"] == ["0", "1", "2", "3"]  # the last one lists them
    assert (found["threads"], found["core"]) == (1, [0, 0])
    assert found["arguments"] == 1  # forked without a thread: nothing was imported again


@pytest.mark.attack
def test_server_with_a_thread_starts_each_job_anew() -> None:
    with starting(WITH_A_THREAD) as starter:
        assert report_of(started(starter, "word")) == {"arguments": ["word"], "threads": 1}


def test_server_ends_with_its_worker() -> None:
    with starting(SELF) as starter:
        server, connection = starter._server, starter._socket
        assert server is not None
        assert connection is not None
        connection.shutdown(socket.SHUT_RDWR)
        assert server.wait(60) == 0
