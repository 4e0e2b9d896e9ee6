"""Many analysts at the same time: nothing lost, nothing charged twice, answers while it works."""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers.node_deployment import HOST, Deployment, deployed, token_of, until
from node.deployment.test_fits import TABLES, write_rows

N_FITS = 5
"""Of each analyst."""
ALLOWED = 'tables = ["credit"]\nepsilon = 1.0\nwork_per_day = 100000\nmax_queued = 5'
TABLE = TABLES.replace("seconds = 3", "seconds = 2")
MEMORY_GROWTH = 1.1
REQUESTS_PER_SECOND = 500


@pytest.mark.long
@pytest.mark.parametrize("n_analysts", [20, 200])
def test_fits_of_many_analysts_are_all_made_once(
    postgres: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], n_analysts: int
) -> None:
    write_rows(tmp_path / "credit.parquet")
    names = [f"a{number}" for number in range(n_analysts)]
    tokens = {name: token_of(name, exp=int(time.time()) + 7200) for name in names}
    with deployed(
        tmp_path,
        postgres.new_database(),
        dict.fromkeys(names, ALLOWED),
        TABLE,
        epsilon=60.0,
        node="lanes = 2",
    ) as node:
        node.start_web()
        node.start_worker()
        with ThreadPoolExecutor(8) as pool:
            posts = [
                pool.submit(node.post_fit, tokens[name], f"fit {number}", epsilon=0.05)
                for number in range(N_FITS)
                for name in names
            ]
            replies = [post.result() for post in posts]
        assert {reply.status for reply in replies} == {202}, node.describe()
        took = Latencies(node, tokens["a0"])
        with took:
            # All is imported by then.
            until(lambda: b": stored" in node.logs(), node.describe)
            before = memory(node)
            wait_for_all(node, names)
        after = memory(node)
        with capsys.disabled():
            sys.stdout.write(f"\nGET under load: {took}; {before} KiB before, {after} after\n")
        assert after <= before * MEMORY_GROWTH
        runs = node.ledger.runs("credit")
        assert len(runs) == len({reply.json["id"] for reply in replies}) == n_analysts * N_FITS
        assert {run.state for run in runs} == {"finished"}, node.describe()
        assert node.ledger.verify() == []


@pytest.mark.long
def test_status_of_a_fit_is_sent_five_hundred_times_a_second(
    postgres: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The web process alone, without nginx and TLS, in seconds of its own CPU."""
    write_rows(tmp_path / "credit.parquet")
    token, n_requests, n_connections = token_of("ada"), 500, 4
    with deployed(tmp_path, postgres.new_database(), {"ada": ALLOWED}, TABLE) as node:
        node.start_web()
        run = node.post_fit(token, "one").json["id"]

        def read_status(n_times: int) -> None:
            connection = http.client.HTTPConnection(HOST)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(node.folder / "node.sock"))
            for _ in range(n_times):
                header = {"Authorization": f"Bearer {token}"}
                connection.request("GET", f"/v1/fits/{run}", headers=header)
                reply = connection.getresponse()
                assert (reply.status, json.loads(reply.read())["id"]) == (200, run)
            connection.close()

        read_status(20)
        before = cpu_seconds(node)
        with ThreadPoolExecutor(n_connections) as pool:
            list(pool.map(read_status, [n_requests] * n_connections))
        rate = n_requests * n_connections / (cpu_seconds(node) - before)
        with capsys.disabled():
            sys.stdout.write(f"\n{rate:.0f} requests a second of CPU\n")
        assert rate >= REQUESTS_PER_SECOND


def cpu_seconds(node: Deployment) -> float:
    """Return what the web process has used of all cores."""
    fields = (
        Path(f"/proc/{node.processes['web'].pid}/stat")
        .read_text(encoding="utf-8")
        .rpartition(")")[2]
        .split()
    )
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(node: Deployment) -> int:
    """Return what web process, worker and its fork server hold, in KiB."""
    web, worker = node.processes["web"].pid, node.processes["worker"].pid
    server, *_ = (
        Path(f"/proc/{worker}/task/{worker}/children").read_text(encoding="utf-8").split()
    )  # the oldest
    total = 0
    for pid in (web, worker, server):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        total += int(line.split()[1])
    return total


def wait_for_all(node: Deployment, names: list[str]) -> None:
    jobs, deadline = node.jobs, time.monotonic() + 3 * 3600
    left = len(names) * N_FITS
    while left:
        assert time.monotonic() < deadline, f"{left} fits are left"
        time.sleep(5)
        left = sum(job.state == "queued" for name in names for job in jobs.of_analyst(name))


class Latencies:
    """Reads a list of fits again and again, and notes how long that takes."""

    def __init__(self, node: Deployment, token: str) -> None:
        self._node, self._token = node, token
        self._took: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._measure)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def __str__(self) -> str:
        parts = statistics.quantiles(self._took, n=100)
        return f"median {parts[49]:.3f} s, 99 % below {parts[98]:.3f} s, {len(self._took)} requests"

    def _measure(self) -> None:
        context = ssl.create_default_context(cafile=str(self._node.folder / "ca.pem"))
        header = {"Authorization": f"Bearer {self._token}"}
        while not self._stop.wait(0.2):
            start = time.perf_counter()
            connection = http.client.HTTPSConnection(HOST, self._node.port, context=context)
            connection.request("GET", "/v1/fits", headers=header)
            assert connection.getresponse().read()
            connection.close()
            self._took.append(time.perf_counter() - start)
