"""Spark for tests: in this process, as a cluster of processes of its own, and behind Connect.

All of it listens on 127.0.0.1 only. What the tests started ends with them, by its own id.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

SECONDS = 300
LOOPBACK = "127.0.0.1"
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    "spark.executor.memory": "600m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    "spark.log.level": "OFF",
}


class Cluster(NamedTuple):
    """A standalone cluster: its address, and the processes of its workers."""

    master: str
    workers: list[subprocess.Popen[bytes]]


def environment() -> dict[str, str]:
    """Let workers use this Python and what it imports, and Spark no other interface."""
    from pyspark.find_spark_home import _find_spark_home

    return {
        **os.environ,
        "SPARK_HOME": _find_spark_home(),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "512m",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


def classic(master: str, settings: Mapping[str, str] | None = None) -> Any:
    """Start a classic session; a process has one at a time."""
    from pyspark.sql import SparkSession

    with patch.dict(os.environ, environment()):
        builder = SparkSession.builder.master(master)
        chosen: dict[str, Any] = {**SETTINGS, **(settings or {})}
        return builder.config(map=chosen).getOrCreate()


@cache
def local() -> Any:
    """Return the session in this process: two threads, and tasks may fail thrice."""
    return classic("local[2,4]")


@contextmanager
def cluster() -> Iterator[Cluster]:
    """Run a master and two workers of one core each."""
    port = _free_port()
    master, place = f"spark://{LOOPBACK}:{port}", "org.apache.spark.deploy"
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory()))

        def start(name: str, host: str, *arguments: str) -> subprocess.Popen[bytes]:
            command = ["spark-class", f"{place}.{name}", "--host", host, *arguments]
            return running.enter_context(_process(command, folder / f"{name}.log"))

        start("master.Master", LOOPBACK, "--port", str(port), "--webui-port", "0")
        _wait_for(port)
        own = ("--cores", "1", "--memory", "700m", "--webui-port", "0", "--work-dir")
        # Two names of one interface: Spark lets no two attempts of a task race on one host.
        workers = [
            start("worker.Worker", host, *own, str(folder / host), master)
            for host in (LOOPBACK, "localhost")
        ]
        yield Cluster(master, workers)


@contextmanager
def connected(
    master: str, log: Path | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[Any]:
    """Run a Connect server and yield a session of its client."""
    from pyspark.sql.connect.session import SparkSession

    port = _free_port()
    own = {
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
    }
    given = {**SETTINGS, **own, **(settings or {})}
    confs = [word for name, value in given.items() for word in ("--conf", f"{name}={value}")]
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with _process(["spark-submit", "--master", master, "--class", server, *confs], log):
        _wait_for(port)
        session = SparkSession.builder.remote(f"sc://{LOOPBACK}:{port}").create()
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def _process(command: list[str], log: Path | None) -> Iterator[subprocess.Popen[bytes]]:
    env = environment()
    with open(log or os.devnull, "ab") as output:
        process = subprocess.Popen(
            [f"{env['SPARK_HOME']}/bin/{command[0]}", *command[1:]],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(SECONDS * 5):
        with socket.socket() as attempt:
            if attempt.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError("Spark did not start")
