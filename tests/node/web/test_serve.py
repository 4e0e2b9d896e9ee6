"""The web process: it starts only on what it can stand on, and works with the real parts."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from helpers.node_policy import POLICY, ada, bob, write_node
from helpers.node_server import Served, serving

from privclust import Ledger
from privclust.errors import ParameterError, PolicyError
from privclust.node.requests.fit_request import ESTIMATORS
from privclust.node.web.app import make_app
from privclust.node.web.serve import checked_node, listen, serve
from privclust.privacy.accounting import Budget
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.journal import LedgerError

BODY: dict[str, Any] = {
    "table": "credit",
    "estimator": "PrivateKMeans",
    "parameters": {"n_clusters": 2, "epsilon": 0.5},
}
PROGRAM = """
import sys
from privclust.node.web.serve import serve
serve(sys.argv[1], unix_socket=sys.argv[2])
"""


def node_with_ledger(folder: Path) -> Path:
    """Return the policy of a node that can be started."""
    place = str(folder / "ledger.db")
    ledger = Ledger.create(place, "credit", epsilon=4.0, delta=1e-6)
    Ledger.create(place, "wards", epsilon=4.0, delta=1e-6, unit="patient")
    HeadFile(folder / "head.json").create(ledger)
    return write_node(folder)


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    return node_with_ledger(tmp_path)


# What is checked before ---------------------------------------------------------------------------


def test_node_of_real_parts_is_made(policy_file: Path) -> None:
    node = checked_node(policy_file)
    assert node.ledger.dataset("credit").budget == Budget(4.0, 1e-6)
    assert node.jobs.of_analyst("a1") == ()


def test_data_sets_must_exist(policy_file: Path) -> None:
    policy_file.write_text(
        POLICY.replace('dataset = "credit"', 'dataset = "loans"'), encoding="utf-8"
    )
    with pytest.raises(PolicyError, match=r"\[tables.credit\].*no data set 'loans'"):
        checked_node(policy_file)


def test_units_must_be_those_of_the_ledger(policy_file: Path) -> None:
    policy_file.write_text(
        POLICY.replace('dataset = "wards"', 'dataset = "credit"'), encoding="utf-8"
    )
    with pytest.raises(
        PolicyError, match=r"tables.wards\].*'credit' protects one 'row'.*'patient'"
    ):
        checked_node(policy_file)


def test_ledger_must_exist(policy_file: Path) -> None:
    policy_file.write_text(POLICY.replace("ledger.db", "none.db"), encoding="utf-8")
    with pytest.raises(LedgerError, match="no ledger"):
        checked_node(policy_file)


def test_older_copy_of_the_ledger_is_refused(policy_file: Path) -> None:
    folder = policy_file.parent
    before = folder / "before"
    before.mkdir()
    for file in folder.glob("ledger.db*"):
        shutil.copy(file, before)
    ledger = Ledger.open(str(folder / "ledger.db"))
    ledger.reserve("credit", Budget(1.0, 1e-6).capacity, {})
    HeadFile(folder / "head.json").advance(ledger)
    checked_node(policy_file)
    del ledger
    for file in folder.glob("ledger.db*"):
        file.unlink()
    for file in before.iterdir():
        shutil.copy(file, folder)
    with pytest.raises(LedgerError, match="older copy"):
        checked_node(policy_file)


def test_key_must_be_kept(policy_file: Path) -> None:
    (policy_file.parent / "names.key").chmod(0o640)
    with pytest.raises(PolicyError, match="chmod 600"):
        checked_node(policy_file)


@pytest.mark.parametrize("name", ["policy.toml", "hospital.jwks"])
def test_what_others_may_write_is_refused(policy_file: Path, name: str) -> None:
    (policy_file.parent / name).chmod(0o664)
    with pytest.raises(PolicyError, match=f"chmod go-w {name}"):
        checked_node(policy_file)


def test_one_place_is_needed(policy_file: Path) -> None:
    for places in ({}, {"unix_socket": "a", "port": 1}):
        with pytest.raises(ParameterError, match="one place"):
            serve(policy_file, **places)  # type: ignore[arg-type]


def test_certificates_need_a_socket(policy_file: Path) -> None:
    policy_file.write_text(POLICY + f'certificate = "{"ab" * 32}"\n', encoding="utf-8")
    with pytest.raises(PolicyError, match="Unix socket"):
        serve(policy_file, port=1)


# Where it listens ---------------------------------------------------------------------------------


def test_socket_is_for_user_and_group(tmp_path: Path) -> None:
    path = tmp_path / "node.sock"
    with listen(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o660


def test_socket_of_a_killed_process_is_replaced(tmp_path: Path) -> None:
    listen(tmp_path / "node.sock").close()
    listen(tmp_path / "node.sock").close()


def test_socket_in_use_is_refused(tmp_path: Path) -> None:
    with listen(tmp_path / "node.sock") as made:
        made.listen()
        with pytest.raises(PolicyError, match="another process"):
            listen(tmp_path / "node.sock")


def test_file_is_not_replaced_by_a_socket(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(PolicyError, match="not a socket"):
        listen(tmp_path / "file")
    with pytest.raises(PolicyError, match="cannot be made"):
        listen(tmp_path / "none" / "node.sock")
    with pytest.raises(PolicyError, match="cannot be made"):
        listen(tmp_path / ("x" * 120))


# A process of its own -----------------------------------------------------------------------------


class UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("node", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


@pytest.fixture
def process(policy_file: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    path = policy_file.parent / "node.sock"
    started = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(policy_file), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for _ in range(3000):
            with socket.socket(socket.AF_UNIX) as probe:
                if path.exists() and probe.connect_ex(str(path)) == 0:
                    break
            assert started.poll() is None, started.communicate()[0]
            time.sleep(0.02)
        yield started, path
    finally:
        started.kill()
        started.wait()
        assert started.stdout is not None
        started.stdout.close()


def test_process_serves_on_its_socket(process: tuple[subprocess.Popen[str], Path]) -> None:
    started, path = process
    connection = UnixConnection(path)
    headers = {"Authorization": f"Bearer {ada(time.time())}", "Idempotency-Key": "k1"}
    connection.request("POST", "/v1/fits", json.dumps(BODY), headers)
    response = connection.getresponse()
    job = json.loads(response.read())
    assert (response.status, job["table"]) == (202, "credit")
    assert response.getheader("server") is None
    connection.request("GET", "/v1/tables")
    response = connection.getresponse()
    assert response.status == 401
    response.read()
    connection.close()
    limits = Path(f"/proc/{started.pid}/limits").read_text(encoding="utf-8").splitlines()
    (core,) = [line for line in limits if line.startswith("Max core file size")]
    assert core.split()[4:6] == ["0", "0"]
    started.send_signal(signal.SIGTERM)
    output, _ = started.communicate(timeout=30)
    assert (output, started.returncode) == ("", 0)
    assert not path.exists()


# Real prices and a real ledger --------------------------------------------------------------------


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    policy = node_with_ledger(tmp_path_factory.mktemp("node"))
    with serving(make_app(checked_node(policy))) as served:
        yield served


@pytest.fixture
def server(policy_file: Path) -> Iterator[Served]:
    with serving(make_app(checked_node(policy_file))) as served:
        yield served


def test_fit_is_reserved_in_the_ledger_once(server: Served, policy_file: Path) -> None:
    now = time.time()
    before = server.send("GET", "/v1/tables/credit", ada(now)).json()["epsilon_left"]
    replies = [server.send("POST", "/v1/fits", ada(now), BODY, "k1") for _ in range(3)]
    assert [reply.status for reply in replies] == [202] * 3
    (run,) = Ledger.open(str(policy_file.parent / "ledger.db")).runs("credit")
    assert run.name == replies[0].json()["id"]
    assert run.facts["analyst"] == "a1"
    after = server.send("GET", "/v1/tables/credit", ada(now)).json()["epsilon_left"]
    assert before == pytest.approx(2.0, rel=1e-3)
    assert after < before - 0.05


def test_cap_and_total_are_kept(server: Served) -> None:
    now, body = time.time(), BODY | {"parameters": {"n_clusters": 2, "epsilon": 1.9}}
    assert server.send("POST", "/v1/fits", ada(now), body, "k1").status == 202
    reply = server.send("POST", "/v1/fits", ada(now), body, "k2")
    assert reply.kind == "budget-exceeded"
    assert reply.json()["remaining"] < 1.9
    assert server.send("POST", "/v1/fits", bob(now), BODY, "k1").status == 202


def test_all_that_is_left_may_be_spent(server: Served) -> None:
    now = time.time()
    left = server.send("GET", "/v1/tables/credit", ada(now)).json()["epsilon_left"]
    body = BODY | {"parameters": {"n_clusters": 2, "epsilon": left * 0.999, "delta": 1e-6}}
    assert server.send("POST", "/v1/fits", ada(now), body, "k1").status == 202


def test_smaller_delta_spends_less_of_the_ledgers(server: Served) -> None:
    """An epsilon above what is left is affordable if its own delta is far below the ledger's."""
    now = time.time()
    body = BODY | {"parameters": {"n_clusters": 2, "epsilon": 2.2, "delta": 1e-9}}
    assert server.send("POST", "/v1/fits", ada(now), body, "k1").status == 202


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_clusters": 1},
        {"n_clusters": 64},
        {"epsilon": 0},
        {"epsilon": 1e-300},
        {"epsilon": 1e300},
        {"delta": 0},
        {"delta": 1},
        {"delta": 1e-300},
        {"scale": "none"},
        {"scale": "private"},
        {"n_rows": 1},
        {"n_rows": 2**53},
        {"random_state": 2**32 - 1},
    ],
    ids=str,
)
def test_no_parameters_make_a_node_fail(
    shared: Served, estimator: str, parameters: dict[str, Any]
) -> None:
    body = {"estimator": estimator, "parameters": parameters}
    reply = shared.send("POST", "/v1/tables/credit/forecast", ada(time.time()), body)
    assert reply.status in (200, 400, 422), reply.body
    assert reply.status == 200 or reply.json()["detail"]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_is_forecast_as_allowed_is_queued(server: Served, estimator: str) -> None:
    now, body = time.time(), {"estimator": estimator, "parameters": {"n_clusters": 3}}
    forecast = server.send("POST", "/v1/tables/credit/forecast", ada(now), body).json()
    reply = server.send("POST", "/v1/fits", ada(now), body | {"table": "credit"}, "k1")
    assert (forecast["allowed"], reply.status) == (True, 202)
    assert reply.json()["price"] == forecast["price"]
