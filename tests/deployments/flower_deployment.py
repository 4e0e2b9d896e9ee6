"""A SuperLink and three SuperNodes as processes on 127.0.0.1, with TLS, known keys and a proxy.

Not collected with the other tests: Flower pins other versions of what they use. `.ci/long` runs it
in an environment of its own, from constraints/flower.txt.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.fleet_proxy import proxy

from privclust import load
from privclust.engines.federated.flower import QUIET

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
SECONDS = 120
CENTRES = np.array([[30.0, 20.0], [80.0, 35.0]])
MORE = 1.3
APP, ECHO = ROOT / "examples" / "federation", Path(__file__).parent / "echo_app"


def free_port() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def until(done: Callable[[], bool], seconds: float = SECONDS) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "nothing happened in time"
        time.sleep(0.2)


def descendants(parent: int) -> list[int]:
    """Return the ids of all processes that one has started, and that these have."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    found = [parent]
    for one in found:
        found += [child for child, of in pairs if of == one]
    return found[1:]


@dataclass
class Deployment:
    """Processes of one federation, and where they keep what they need."""

    folder: Path
    port: int = field(default_factory=free_port)
    outer_port: int = 0
    """The proxy's, which SuperNodes call."""
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        found = {**os.environ, **QUIET, "FLWR_HOME": str(self.folder / "home")}
        return {**found, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}

    def run(self, *command: str, seconds: float = SECONDS) -> str:
        """Run a program to its end and return what it printed."""
        done = subprocess.run(
            command,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                env=self.environment,
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )

    def kill(self, name: str) -> None:
        """End a process, and those it started, by their ids."""
        process = self.running.pop(name)
        for one in (*descendants(process.pid), process.pid):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.wait(SECONDS)

    def log_of(self, name: str) -> str:
        file = self.folder / f"{name}.log"
        return file.read_text(errors="replace") if file.exists() else ""

    def make_keys(self) -> None:
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        made = ("-keyout", "tls.key", "-out", "tls.pem", "-days", "2", "-subj", "/CN=127.0.0.1")
        named = ("-addext", "subjectAltName=IP:127.0.0.1")
        used = ("-addext", "keyUsage=critical,digitalSignature,keyCertSign")
        self.run("openssl", "req", "-x509", *new, *made, *named, *used)
        shutil.copy(self.folder / "tls.pem", self.folder / "ca.pem")
        for node in range(3):
            self.make_key(node)

    def make_key(self, node: int) -> None:
        self.run("ssh-keygen", "-q", "-t", "ecdsa", "-b", "384", "-N", "", "-f", f"node{node}")

    def start_superlink(self) -> None:
        home = self.folder / "home"
        home.mkdir()
        (home / "config.toml").write_text(
            '[superlink]\ndefault = "consortium"\n'
            + self._named("consortium", self.port)
            + self._named("outside", self.outer_port)
        )
        where = ("--host", "127.0.0.1", "--port", str(self.port))
        who = ("--enable-supernode-auth", "--disable-runtime-dependency-installation")
        self.start("superlink", "flower-superlink", *where, *who, *self._tls)
        until(lambda: "Uvicorn running" in self.log_of("superlink"))

    def _named(self, name: str, port: int) -> str:
        where = f'address = "127.0.0.1:{port}"\nroot-certificates = "{self.folder / "ca.pem"}"\n'
        return f"[superlink.{name}]\n{where}"

    def start_node(self, node: int) -> None:
        """Start a node until it is let in, as a service manager does.

        The SuperLink takes a node that was killed for connected until its heartbeat is overdue, a
        minute later, and refuses it until then.
        """
        name = f"node{node}"
        before = self.log_of(name).count("SuperNode ID")

        def let_in() -> bool:
            if name not in self.running or self.running[name].poll() is not None:
                self.start_process_of_node(node)
            return self.log_of(name).count("SuperNode ID") > before

        until(let_in, 2 * SECONDS)

    def start_process_of_node(self, node: int, *more: str) -> None:
        table, kept = self.folder / f"{node}.parquet", self.folder / f"kept{node}"
        config = f'table="{table}" folder="{kept}"'
        where = ("--superlink", f"127.0.0.1:{self.outer_port}", "--port", str(free_port()))
        who = ("--root-certificates", "ca.pem", "--auth-supernode-private-key", f"node{node}")
        what = ("--node-config", config, *more)
        self.start(f"node{node}", "flower-supernode", *where, *who, *what, *self._tls)

    def register(self, node: int) -> None:
        self.run("flwr", "supernode", "register", f"node{node}.pub", "consortium")

    def check_table(self, node: int) -> None:
        """Check, as a hospital does, whether a table is what was agreed on."""
        given = (str(self.folder / f"{node}.parquet"), str(self.folder / f"kept{node}"))
        code = "import sys; from privclust.engines.federated.client import Client\n"
        code += "Client(*sys.argv[1:3]).check(sys.argv[3])"
        agreed = str(APP / "bounds.toml")
        assert self.run(sys.executable, "-c", code, *given, agreed) == ""

    def finish(self, app: Path, file: str, within: float = 10 * SECONDS, **config: Any) -> Path:
        """Run a Flower app, which writes a file, to its end, and return where that is."""
        self.begin(app, **config)
        self.wait(within)
        assert (self.folder / file).exists(), self.log_of("run")
        return self.folder / file

    def wait(self, seconds: float = 10 * SECONDS) -> None:
        self.running["run"].wait(seconds)
        del self.running["run"]

    def begin(self, app: Path, **config: Any) -> None:
        """Start a run of a Flower app."""
        copied = self.folder / app.name
        shutil.copytree(app, copied, dirs_exist_ok=True)
        given = " ".join(f"{key.replace('_', '-')}={json.dumps(v)}" for key, v in config.items())
        how = ("--stream", "--run-config", given)
        self.start("run", "flwr", "run", str(copied), "consortium", *how)

    @property
    def _tls(self) -> tuple[str, ...]:
        files = {"certfile": "tls.pem", "keyfile": "tls.key", "ca-certfile": "ca.pem"}
        return tuple(word for name, file in files.items() for word in (f"--ssl-{name}", file))


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    found = Deployment(tmp_path_factory.mktemp("deployment"))
    _write_tables(found.folder)
    found.make_keys()
    with ExitStack() as stack:
        found.outer_port = stack.enter_context(proxy(found.folder, found.port))
        try:
            found.start_superlink()
            for node in range(3):
                found.register(node)
                found.check_table(node)
                found.start_node(node)
            yield found
        finally:
            for name in list(found.running):
                found.kill(name)


def _write_tables(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for node in range(3):
        rows = CENTRES[rng.integers(0, 2, 4000)] + rng.normal(0, 2.0, (4000, 2))
        table = pa.table({"age": rows[:, 0], "bmi": rows[:, 1]})
        pq.write_table(table, folder / f"{node}.parquet")
    public = np.column_stack([rng.uniform(0, 120, 60), rng.uniform(10, 60, 60)])
    np.savetxt(folder / "public.csv", public, delimiter=",")


def settings(deployment: Deployment, method: str, seconds: float) -> dict[str, Any]:
    folder = deployment.folder
    return {
        "method": method,
        "n_clusters": 2,
        "public_rows": str(folder / "public.csv") if method == "FedDPKMeans" else "",
        "model": str(folder / f"{method}.json"),
        "minimum": 2,
        "seconds": seconds,
    }


def assert_clusters_were_found(file: Path, responded: int) -> None:
    model = load(file)
    assert model.privacy_statement_.private
    order = np.argsort(model.cluster_centers_[:, 0])
    np.testing.assert_allclose(model.cluster_centers_[order], CENTRES, atol=3.0)
    some = "all 3" if responded == 3 else f"at least {responded} of 3"
    assert f"({some} clients responded " in str(model.privacy_statement_)


def test_a_node_killed_in_mid_round_is_missed_once_and_comes_back(deployment: Deployment) -> None:
    deployment.begin(APP, **settings(deployment, "FedDPKMeans", seconds=180.0))
    until(lambda: "Receiving: query.privclust" in deployment.log_of("node2"), 2 * SECONDS)
    deployment.kill("node2")
    deployment.start_node(2)
    deployment.wait()
    file = deployment.folder / "FedDPKMeans.json"
    assert file.exists(), deployment.log_of("run")
    assert_clusters_were_found(file, responded=2)
    # The one it was killed over, and one after it came back.
    assert deployment.log_of("node2").count("Receiving: query.privclust ") >= 2


def test_the_flagship_is_fitted_by_all_three(deployment: Deployment) -> None:
    given = settings(deployment, "PrivateKMeans", seconds=300.0)
    file = deployment.finish(APP, "PrivateKMeans.json", 15 * SECONDS, **given)
    assert_clusters_were_found(file, responded=3)


def test_a_round_takes_little_more_than_a_bare_echo_of_the_same_size(
    deployment: Deployment,
) -> None:
    times = deployment.finish(ECHO, "times.json", times=str(deployment.folder / "times.json"))
    found = json.loads(times.read_text())
    typical = {name: statistics.median(values) for name, values in found.items()}
    sys.stdout.write(f"per round: {typical}\n")
    assert typical["query bytes"] <= MORE * typical["echo bytes"]
    assert typical["query"] <= MORE * typical["echo"]


def test_nobody_without_a_registered_key_takes_part(deployment: Deployment) -> None:
    deployment.make_key(3)
    deployment.start_process_of_node(3, "--max-retries", "1")
    deployment.running.pop("node3").wait(SECONDS)
    assert "SuperNode ID" not in deployment.log_of("node3")


def test_whoever_comes_through_the_proxy_can_command_nothing(deployment: Deployment) -> None:
    command, environment = [str(PROGRAMS / "flwr"), "list"], deployment.environment
    inside, outside = (
        subprocess.run([*command, name], env=environment, capture_output=True, timeout=SECONDS)
        for name in ("consortium", "outside")
    )
    assert inside.returncode == 0
    assert outside.returncode != 0
    assert b"403" in outside.stdout + outside.stderr
