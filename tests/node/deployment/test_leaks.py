"""Beside models, an analyst and a log learn nothing that depends on rows or on secrets."""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import signal
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.node_deployment import HOST, ISSUER, Deployment, deployed, token_of, until
from helpers.node_policy import HOSPITAL, Key, rsa_key

from privclust.node.jobs.schedule import Times, progress

NAMES = ("small", "large", "poisoned")
SECONDS = 30
"""Enough for a fit on a busy machine, so that none is late."""
CANARY = 424242.4242
TABLES = "".join(
    f'[tables.{name}]\nfiles = ["{name}.parquet"]\ndataset = "{name}"\nbounds = "bounds.toml"\n'
    f"seconds = {SECONDS}\n"
    for name in NAMES
)
ALLOWED = f"tables = {json.dumps(list(NAMES))}\nepsilon = 5.0\nwork_per_day = 1000\nmax_queued = 9"


def write_rows(file: Path, n_rows: int, poison: bool = False) -> None:
    """Write rows; poisoned ones have cells beyond bounds, missing and infinite ones."""
    rng = np.random.default_rng(1)
    age, amount = rng.uniform(20, 80, n_rows), np.full(n_rows, CANARY)
    if poison:
        age[:4] = [np.nan, np.inf, -1e308, 1e308]
    secret = rng.random(n_rows)
    table = pa.table({"age": age, "amount": amount, "secret": secret})
    pq.write_table(table, file, compression="none", use_dictionary=False)
    spoil(file, secret.tobytes())


def spoil(file: Path, cells: bytes) -> None:
    """Damage the pages of the column that no policy lists: who reads it fails."""
    content = file.read_bytes()
    place = content.index(cells[:64])
    header = content.rindex(b"\x15\x00", 0, place)  # where the page begins
    file.write_bytes(content[:header] + b"\xff" * (place - header) + content[place:])
    with pytest.raises(OSError, match=r"Thrift|page|deserialize"):
        pq.read_table(file, columns=["secret"])


@pytest.fixture(scope="module")
def node(postgres: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("node")
    write_rows(folder / "small.parquet", 400)
    write_rows(folder / "large.parquet", 60_000)
    write_rows(folder / "poisoned.parquet", 400, poison=True)
    analysts = {"ada": ALLOWED, "carl": ALLOWED}
    with deployed(
        folder, postgres.new_database(), analysts, TABLES, node="lanes = 3", datasets=NAMES
    ) as found:
        pem = (folder / "analyst.pem").read_text()
        digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
        policy = found.policy_path.read_text()
        found.policy_path.write_text(f'{policy}certificate = "{digest}"\n')  # Carl's
        found.start_web()
        found.start_worker()
        yield found


def test_tables_cannot_be_told_apart_by_anything_but_models(node: Deployment) -> None:
    """Sizes differ by 150, cells are damaged: times, states, bodies and log lines are alike."""
    token = token_of("ada")
    begun = {name: node.post_fit(token, f"fit of {name}", table=name).json for name in NAMES}
    seen: dict[str, set[str]] = {name: set() for name in NAMES}
    deadline = time.time() + 10 * SECONDS
    while any("finished" not in states for states in seen.values()):
        assert time.time() < deadline, node.describe()
        for name, one in begun.items():
            times, before = Times(0, one["starts_at"], one["release_at"]), time.time()
            status = node.send("GET", f"/v1/fits/{one['id']}", token).json
            after = time.time()
            # What a status says follows from the time at which it was sent.
            assert progress(before, times) <= status["progress"] <= progress(after, times)
            assert status["state"] != "queued" or before < times.starts_at
            assert status["state"] != "running" or after >= times.starts_at
            assert status["state"] != "finished" or after >= times.release_at
            seen[name].add(status["state"])
        time.sleep(0.2)
    assert all({"running", "finished"} <= states for states in seen.values())
    assert set.union(*seen.values()) <= {"queued", "running", "finished"}
    for one in begun.values():
        job = node.jobs.get(one["id"])
        assert job is not None
        assert job.visible_at == job.release_at == job.starts_at + SECONDS
        assert node.ledger.run(one["id"]).state == "finished"
    ids = {one["id"]: name for name, one in begun.items()}
    # The worker writes its line after the result was stored.
    until(lambda: all(f"{run}: stored".encode() in node.logs() for run in ids), node.describe)
    lines = [masked(line, ids) for line in node.logs().decode().splitlines()]
    for name in NAMES:
        other = sorted(line.replace(name, "TABLE") for line in lines if name in line)
        assert other == sorted(line.replace("small", "TABLE") for line in lines if "small" in line)


def masked(line: str, ids: dict[str, str]) -> str:
    """Return a line of a log with names of tables for ids, and without times."""
    for run, name in ids.items():
        line = line.replace(run, name)
    line = re.sub(r'"time": \d+', '"time": 0', line)
    return re.sub(r"^\S+T\S+ 127.0.0.1 GET .*", "", line)


def test_secrets_are_in_no_log_and_no_metric(node: Deployment) -> None:
    token = token_of("ada")
    assert node.send("GET", "/v1/tables", token).status == 200
    connection = http.client.HTTPConnection(HOST, node.metrics_port, timeout=60)
    connection.request("GET", "/metrics")
    metrics = connection.getresponse().read()
    connection.close()
    assert b"privclust" in metrics
    for written in (node.logs(), metrics):
        for secret in (token, token.split(".")[2], "424242", "5a5a5a"):
            assert secret.encode() not in written


def test_forged_tokens_are_all_refused_alike(node: Deployment) -> None:
    claims: dict[str, Any] = {
        "iss": ISSUER,
        "aud": "node",
        "sub": "ada",
        "exp": int(time.time()) + 600,
    }
    public = HOSPITAL.jwk["n"]  # what an issuer publishes, taken for a secret
    forged: dict[str, str | None] = {
        "none": None,
        "unsigned": jwt.encode(claims, "", algorithm="none"),
        "HS256": jwt.encode(claims, public, algorithm="HS256", headers={"kid": "h1"}),
        "another key": Key("h1", rsa_key("mallory"), "RS256").token(**claims),
        "kid": HOSPITAL.token({"kid": "../../etc/passwd"}, **claims),
        "audience": token_of("ada", aud="another"),
        "issuer": token_of("ada", iss="https://id.mallory.example"),
        "expired": token_of("ada", exp=int(time.time()) - 3600),
        "no expiry": token_of("ada", exp=None),
        "nobody": token_of("mallory"),
    }
    replies = {name: node.send("GET", "/v1/tables", token) for name, token in forged.items()}
    assert {name: reply.status for name, reply in replies.items()} == dict.fromkeys(forged, 401)
    assert len({reply.body for reply in replies.values()}) == 1


def test_client_certificate_counts_only_if_it_comes_by_tls(node: Deployment) -> None:
    token = token_of("carl")
    pem = (node.folder / "analyst.pem").read_text()
    header = {"X-Client-Certificate": pem.replace("\n", "%0A").replace(" ", "%20")}
    assert node.send("GET", "/v1/tables", token).status == 401
    assert node.send("GET", "/v1/tables", token, headers=header).status == 401
    assert node.send("GET", "/v1/tables", token, certificate=True).status == 200


def test_a_million_clusters_are_refused_at_once(node: Deployment) -> None:
    token, took = token_of("ada"), []
    for number in range(10):
        start = time.perf_counter()
        reply = node.post_fit(token, f"huge {number}", table="small", n_clusters=10**6)
        took.append(time.perf_counter() - start)
        assert (reply.status, reply.json["type"]) == (422, "urn:privclust:too-costly")
    assert min(took) < 0.1


@pytest.mark.long  # tests/node/web/test_serve.py looks at the same limit
def test_abort_leaves_no_core_file_and_the_node_starts_again(node: Deployment) -> None:
    web = node.processes["web"]
    limits = Path(f"/proc/{web.pid}/limits").read_text(encoding="utf-8")
    assert re.search(r"Max core file size\s+0\s+0\s", limits)
    web.send_signal(signal.SIGABRT)
    assert web.wait(30) == -signal.SIGABRT
    assert not [file for file in node.folder.iterdir() if "core" in file.name]
    node.start_web()
    assert node.send("GET", "/v1/tables", token_of("ada")).status == 200


@pytest.mark.long  # tests/node/web/test_serve.py has the same without nginx and PostgreSQL
def test_node_refuses_an_older_ledger(node: Deployment) -> None:
    """The last test of this module: what the head file names is not in the ledger."""
    head = node.folder / "head"
    kept = head.read_text()
    node.kill("web")
    head.write_text(json.dumps({"number": 10**6, "hash": "0" * 64}))
    try:
        node._start("web", ["-m", "privclust", "node", "serve", node.policy_path, "--port", "0"])
        until(lambda: node.processes["web"].poll() is not None, node.describe)
        assert node.processes["web"].returncode != 0
        assert "older copy" in (node.folder / "web.log").read_text()
    finally:
        head.write_text(kept)
        node.start_web()
