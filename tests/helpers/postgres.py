"""A PostgreSQL server for tests: from the system's packages, in a directory of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

PROGRAMS = Path("/usr/lib/postgresql")
SECONDS_TO_START, SECONDS_TO_STOP = 60, 30
USER = "postgres"
SETTINGS = ("fsync=off", "shared_buffers=16MB", "max_connections=40")
"""The machine does not crash while tests run, so they need not wait for its disk."""


class Server:
    """A server that listens on a port of this machine."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._made = 0

    def url(self, database: str, role: str = USER) -> str:
        """Return the address of a database, as a ledger takes it."""
        return f"postgresql://{role}@127.0.0.1:{self._port}/{database}"

    def new_database(self) -> str:
        """Make an empty database and return its address."""
        self._made += 1
        name = f"test{self._made}"
        execute(self.url("postgres"), f"CREATE DATABASE {name}")
        return self.url(name)


def execute(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements, each for good, on a connection of their own; return the last one's rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            result = connection.execute(statement)
        return result.fetchall() if result.description else []


def cut(url: str) -> int:
    """Cut all other connections to a database, as a server that fails would; return how many."""
    rows = execute(
        url,
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    assert all(gone for (gone,) in rows)
    return len(rows)


def programs() -> Path | None:
    """Return the folder of the newest server on this machine, or None."""
    found = [folder for folder in PROGRAMS.glob("*/bin") if (folder / "initdb").exists()]
    return max(found, key=lambda folder: float(folder.parent.name), default=None)


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """Start a server, and stop it and throw its files away in the end."""
    place = Path(tempfile.mkdtemp(prefix="privclust-postgres-"))
    # A server refuses to run as root. Pytest's folders are closed to others, this one is not.
    other = _unprivileged() if os.geteuid() == 0 else {}
    if other:
        shutil.chown(place, other["user"], other["group"])
    data = str(place / "data")
    try:
        initdb = [str(folder / "initdb"), "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8"]
        subprocess.run(
            [*initdb, "--locale=C", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=place,
            **other,
        )
        port = _free_port()
        settings = [*SETTINGS, "listen_addresses=127.0.0.1", f"unix_socket_directories={place}"]
        command = [str(folder / "postgres"), "-D", data, "-p", str(port)]
        command += [word for setting in settings for word in ("-c", setting)]
        with (place / "log").open("wb") as log:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                command, stderr=log, cwd=place, **other
            )
        try:
            server = Server(port)
            _wait_for(server, process, place / "log")
            yield server
        finally:
            _stop(process)
    finally:
        shutil.rmtree(place)


def _wait_for(server: Server, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        try:
            execute(server.url("postgres"), "SELECT 1")
        except psycopg.OperationalError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"the PostgreSQL server did not start:\n{log.read_text(encoding='utf-8')}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGQUIT)  # at once: its files are thrown away
    try:
        process.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _unprivileged() -> dict[str, Any]:
    known = {user.pw_name: user for user in pwd.getpwall()}
    user = known.get("postgres") or known["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
