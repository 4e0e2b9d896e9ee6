"""The endpoints: what they return, and that they say no more than they should."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from helpers.node_parts import Clock, MemoryAccounts, MemoryBooking, node_of
from helpers.node_policy import NOW, POLICY, ada, bob, policy_in
from helpers.node_server import Reply, Served, serving

from privclust.errors import CostError, ParameterError
from privclust.node.jobs.job import Job
from privclust.node.jobs.store import JobStore
from privclust.node.web.app import make_app
from privclust.node.web.metrics import Metrics

BODY: dict[str, Any] = {
    "table": "credit",
    "estimator": "PrivateKMeans",
    "parameters": {"n_clusters": 4, "epsilon": 1.0, "delta": 1e-6},
    "columns": ["age", "amount"],
}
CANARY = "canary-4711"


@dataclass(frozen=True)
class Running:
    """A server, and the parts behind it."""

    server: Served
    jobs: JobStore
    booking: MemoryBooking
    accounts: MemoryAccounts
    clock: Clock
    metrics: Metrics
    folder: Path

    def send(self, *given: Any, **named: Any) -> Reply:
        return self.server.send(*given, **named)

    def submit(self, key: str = "k1", token: str | None = None, **changes: Any) -> Reply:
        return self.send("POST", "/v1/fits", token or ada(), BODY | changes, key)

    def finished_fit(self) -> str:
        run = str(self.submit().json()["id"])
        self.finish(run, '{"a": "model"}')
        self.clock.now += 600
        return run

    def finish(self, run: str, result: str | None) -> None:
        """Let a job end now, without a result as failed; it is seen from its release on."""
        now = self.clock.now
        job = self.jobs.lease(now, 1.0)
        assert job is not None
        assert job.run == run
        if result is None:
            assert self.jobs.fail(run, job.lease, now)
        else:
            assert self.jobs.finish(run, job.lease, result, now)

    def of_ada(self) -> tuple[Job, ...]:
        return self.jobs.of_analyst("a1")

    def logged(self) -> list[dict[str, Any]]:
        lines = (self.folder / "audit.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Running]:
    made = node_of(policy_in(tmp_path), NOW)
    parts: Any = made
    with serving(make_app(made)) as server:
        yield Running(
            server, parts.jobs, parts.booking, parts.ledger, parts.clock, made.metrics, tmp_path
        )


# Tables -------------------------------------------------------------------------------------------


def test_tables_are_those_of_the_analyst(node: Running) -> None:
    names = [
        [table["name"] for table in node.send("GET", "/v1/tables", token).json()["tables"]]
        for token in (ada(), bob())
    ]
    assert names == [["credit"], ["credit", "wards"]]


def test_table_is_described_as_the_policy_declares_it(node: Running) -> None:
    found = node.send("GET", "/v1/tables/credit", ada()).json()
    columns = found.pop("columns")
    assert [column["name"] for column in columns] == ["age", "amount", "day"]
    assert columns[2]["lower"] == "2020-01-01"
    assert found.pop("estimators")[0] == "PrivateKMeans"
    assert found == {
        "name": "credit",
        "description": "Loans",
        "profile_columns": ["region"],
        "unit": "",
        "max_rows_per_unit": 1,
        "about_rows": 100_000,
        "seconds": 600,
        "delta": 1e-6,
        "periods": 1,
        "epsilon_left": 4.0,
        "max_clusters": 64,
    }


def test_forecast_spends_nothing(node: Running) -> None:
    body = {key: value for key, value in BODY.items() if key != "table"}
    found = node.send("POST", "/v1/tables/credit/forecast", ada(), body)
    assert found.json() == {
        "price": 4.0,
        "epsilon": 1.0,
        "delta": 1e-6,
        "epsilon_left": 4.0,
        "allowed": True,
        "forecast": {"n_clusters": 4},
    }
    assert not node.of_ada()
    assert not node.booking.reserved
    node.booking.left = 0.5
    assert not node.send("POST", "/v1/tables/credit/forecast", ada(), body).json()["allowed"]


# Fits ---------------------------------------------------------------------------------------------


def test_fit_is_queued_and_reserved(node: Running) -> None:
    reply = node.submit()
    found = reply.json()
    assert reply.status == 202
    assert reply.headers["location"] == f"/v1/fits/{found['id']}"
    assert list(node.booking.reserved) == [found["id"]]
    assert found == {
        "id": found["id"],
        "kind": "fit",
        "table": "credit",
        "state": "running",
        "progress": 0.0,
        "submitted": int(NOW),
        "starts_at": int(NOW),
        "release_at": int(NOW) + 600,
        "price": 4.0,
    }
    assert node.send("GET", reply.headers["location"], ada()).json() == found
    assert node.send("GET", "/v1/fits", ada()).json() == {"fits": [found]}


def test_same_key_is_paid_once(node: Running) -> None:
    first, second = node.submit(), node.submit(columns=["amount", "age"])
    assert first.json() == second.json()
    assert (len(node.of_ada()), len(node.booking.reserved), len(node.logged())) == (1, 1, 1)


def test_request_sent_again_is_accepted_when_it_took_all_that_was_left(node: Running) -> None:
    first = node.submit()
    node.booking.left = 0.0
    assert node.submit().json() == first.json()


def test_same_key_with_another_body_is_a_conflict(node: Running) -> None:
    node.submit()
    reply = node.submit(columns=["age"])
    assert (reply.status, reply.kind) == (409, "conflict")
    assert len(node.of_ada()) == 1


def test_same_key_of_another_analyst_is_another_fit(node: Running) -> None:
    assert node.submit().json()["id"] != node.submit(token=bob()).json()["id"]


@pytest.mark.parametrize("key", [None, "", "x" * 201, "é", "a\tb"])
def test_key_is_needed(node: Running, key: str | None) -> None:
    reply = node.send("POST", "/v1/fits", ada(), BODY, key)
    assert (reply.status, reply.kind) == (400, "invalid-request")
    assert "Idempotency-Key" in reply.json()["detail"]


@pytest.mark.attack
def test_model_is_released_at_its_time_and_not_before(node: Running) -> None:
    run = node.submit().json()["id"]
    node.finish(run, '{"a": "model"}')
    node.clock.now += 599
    token = ada(node.clock.now)
    early = node.send("GET", f"/v1/fits/{run}/model", token)
    assert (early.status, early.kind, early.json()["state"]) == (409, "not-ready", "running")
    node.clock.now += 1
    reply = node.send("GET", f"/v1/fits/{run}/model", token)
    assert (reply.status, reply.body) == (200, b'{"a": "model"}')
    assert reply.headers["etag"] == f'"{run}"'
    again = node.send("GET", f"/v1/fits/{run}/model", token, if_none_match=f'"{run}"')
    assert (again.status, again.body) == (304, b"")
    assert [line["outcome"] for line in node.logged()] == ["queued", "fetched"]


def test_failed_fit_is_one_fixed_word(node: Running) -> None:
    run = node.submit().json()["id"]
    node.finish(run, None)
    before = node.send("GET", f"/v1/fits/{run}", ada()).json()
    node.clock.now += 600
    token = ada(node.clock.now)
    after = node.send("GET", f"/v1/fits/{run}", token).json()
    assert (before["state"], after["state"]) == ("running", "failed")
    assert after.keys() == before.keys()
    reply = node.send("GET", f"/v1/fits/{run}/model", token)
    assert (reply.kind, reply.json()["state"]) == ("not-ready", "failed")


def test_cancelled_fit_keeps_its_reservation(node: Running) -> None:
    run = node.submit().json()["id"]
    for _ in range(2):
        reply = node.send("POST", f"/v1/fits/{run}/cancel", ada())
        assert (reply.status, reply.json()["state"]) == (200, "cancelled")
    assert list(node.booking.reserved) == [run]
    assert [line["outcome"] for line in node.logged()] == ["queued", "cancelled"]


def test_repeated_request_does_not_depend_on_what_is_known_inside(node: Running) -> None:
    """A fit that is ready before its time is reserved again, as one that is not."""
    run = node.submit().json()["id"]
    node.finish(run, "{}")
    node.booking.reserved.clear()
    assert node.submit().json()["state"] == "running"
    assert list(node.booking.reserved) == [run]


# Budgets and limits -------------------------------------------------------------------------------


def test_too_much_epsilon_is_refused_before_anything_is_stored(node: Running) -> None:
    node.booking.left = 0.25
    reply = node.submit()
    found = reply.json()
    assert (reply.status, reply.kind) == (403, "budget-exceeded")
    assert found["requested"] == pytest.approx(1.0, rel=1e-6)
    assert (found["remaining"], found["delta"]) == (0.25, 1e-6)
    assert not node.of_ada()
    assert [line["outcome"] for line in node.logged()] == ["budget-exceeded"]


def test_ledger_has_the_last_word(node: Running) -> None:
    node.booking.refuses = True
    replies = [node.submit(), node.submit()]
    assert [reply.kind for reply in replies] == ["budget-exceeded"] * 2
    (job,) = node.of_ada()
    assert job.state == "refused"
    assert "canary" not in replies[0].body.decode()
    node.booking.refuses = False
    assert node.submit().kind == "budget-exceeded"
    assert node.submit("k2").status == 202


def test_queue_is_limited(node: Running) -> None:
    kinds = [node.submit(f"k{number}").status for number in range(6)]
    assert kinds == [202] * 5 + [429]


@pytest.mark.attack
def test_requests_of_one_analyst_leave_connections_to_others(
    node: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privclust.node.web.app.REQUESTS_PER_ANALYST", 2)
    held, begun = threading.Event(), threading.Semaphore(0)

    def left(analyst: Any, table: Any) -> float:
        begun.release()
        assert analyst.id != "a1" or held.wait(20)
        return 1.0

    monkeypatch.setattr(node.booking, "epsilon_left", left)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(node.send, "GET", "/v1/tables", ada()) for _ in range(2)]
        try:
            assert all(begun.acquire(timeout=20) for _ in waiting)
            beyond, other = (node.send("GET", "/v1/tables", one) for one in (ada(), bob()))
        finally:
            held.set()
    assert [one.result().status for one in waiting] == [200, 200]
    assert (beyond.status, beyond.kind) == (429, "quota-exceeded")
    assert beyond.headers["retry-after"] == "1"
    assert other.status == 200
    assert node.send("GET", "/v1/tables", ada()).status == 200


def test_price_beyond_the_work_of_a_day_is_too_costly(tmp_path: Path) -> None:
    policy = policy_in(tmp_path, POLICY.replace("work_per_day = 100000", "work_per_day = 1"))
    with serving(make_app(node_of(policy, NOW))) as server:
        reply = server.send("POST", "/v1/fits", ada(), BODY, "k1")
    assert (reply.status, reply.kind) == (422, "too-costly")


def test_million_clusters_are_refused_at_once(node: Running) -> None:
    node.booking.failure = AssertionError("priced")
    node.send("GET", "/v1/tables", ada())
    start = time.perf_counter()
    reply = node.submit(parameters={"n_clusters": 10**6})
    assert time.perf_counter() - start < 0.1
    assert (reply.status, reply.kind) == (422, "too-costly")


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (CostError(CANARY), "too-costly"),
        (ValueError(CANARY), "invalid-request"),
        (TypeError(CANARY), "invalid-request"),
        (ParameterError("epsilon must be more"), "invalid-request"),
    ],
)
def test_what_no_fit_can_be_like_is_refused(node: Running, failure: Exception, kind: str) -> None:
    node.booking.failure = failure
    reply = node.submit()
    assert reply.kind == kind
    assert CANARY not in reply.body.decode()


def test_period_must_be_named_where_there_are_periods(node: Running) -> None:
    assert node.submit(parameters={"period": "2026-W07"}).kind == "invalid-request"
    node.accounts.periods = 52
    assert node.submit().kind == "invalid-request"
    assert node.submit(parameters={"period": "2026-W07"}).status == 202


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"table": "credit", "table": "credit"}'])
def test_strange_body_is_refused(node: Running, body: bytes) -> None:
    reply = node.send("POST", "/v1/fits", ada(), body, "k1")
    assert (reply.status, reply.kind) == (400, "invalid-request")


def test_long_body_is_refused(node: Running) -> None:
    reply = node.send("POST", "/v1/fits", ada(), b" " * (2**16 + 1), "k1")
    assert (reply.status, reply.kind) == (413, "invalid-request")


# Profiles -----------------------------------------------------------------------------------------


def test_profile_is_of_an_own_finished_fit(node: Running) -> None:
    fit = node.submit().json()["id"]
    body = {"fit": fit, "columns": ["region"], "epsilon": 0.5, "delta": 1e-6}
    assert node.send("POST", "/v1/profiles", ada(), body, "p1").status == 404
    node.finish(fit, "{}")
    node.clock.now += 600
    token, other = ada(node.clock.now), bob(node.clock.now)
    assert node.send("POST", "/v1/profiles", other, body, "p1").status == 404
    reply = node.send("POST", "/v1/profiles", token, body, "p1")
    run = reply.json()["id"]
    assert (reply.status, reply.headers["location"]) == (202, f"/v1/profiles/{run}")
    assert node.send("GET", f"/v1/fits/{run}", token).status == 404
    assert node.send("GET", f"/v1/profiles/{run}", token).json()["kind"] == "profile"
    node.finish(run, '{"a": "profile"}')
    node.clock.now += 600
    token = ada(node.clock.now)
    assert node.send("GET", f"/v1/profiles/{run}/profile", token).body == b'{"a": "profile"}'
    assert len(node.send("GET", "/v1/fits", token).json()["fits"]) == 1
    assert len(node.send("GET", "/v1/profiles", token).json()["profiles"]) == 1


# Alike --------------------------------------------------------------------------------------------


def _without_date(reply: Reply) -> tuple[int, dict[str, str], bytes]:
    headers = {name: value for name, value in reply.headers.items() if name != "date"}
    return reply.status, headers, reply.body


@pytest.mark.attack
@pytest.mark.parametrize(
    ("method", "end"), [("GET", ""), ("GET", "/model"), ("GET", "/events"), ("POST", "/cancel")]
)
def test_unknown_and_foreign_fits_are_alike(node: Running, method: str, end: str) -> None:
    run = node.finished_fit()
    token = bob(node.clock.now)
    replies = {
        str(_without_date(node.send(method, f"/v1/fits/{one}{end}", token)))
        for one in (run, "0" * 16, "x", "0" * 500, run.upper(), "%2e%2e")
    }
    assert len(replies) == 1
    assert "404" in replies.pop()
    assert [job.state for job in node.of_ada()] == ["finished"]


@pytest.mark.parametrize(("method", "end"), [("GET", ""), ("POST", "/forecast")])
def test_unknown_and_forbidden_tables_are_alike(node: Running, method: str, end: str) -> None:
    replies = {
        str(_without_date(node.send(method, f"/v1/tables/{one}{end}", ada(), BODY)))
        for one in ("wards", "nothing", "x" * 100)
    }
    assert len(replies) == 1
    bodies = {str(_without_date(node.submit(table=one))) for one in ("wards", "nothing", "x" * 100)}
    assert bodies == replies


def test_fit_of_a_table_that_was_withdrawn_is_gone(node: Running) -> None:
    run = node.submit("k1", bob(), table="wards").json()["id"]
    assert node.send("GET", f"/v1/fits/{run}", bob()).status == 200
    policy = policy_in(node.folder, POLICY.replace('["credit", "wards"]', '["credit"]'))
    with serving(make_app(node_of(policy, NOW, jobs=node.jobs))) as server:
        assert server.send("GET", f"/v1/fits/{run}", bob()).status == 404
        assert server.send("GET", "/v1/fits", bob()).json() == {"fits": []}


# Who sends it -------------------------------------------------------------------------------------

ROUTES = [
    ("GET", "/v1/tables"),
    ("GET", "/v1/tables/credit"),
    ("POST", "/v1/tables/credit/forecast"),
    ("POST", "/v1/fits"),
    ("GET", "/v1/fits"),
    ("GET", "/v1/fits/0123456789abcdef"),
    ("GET", "/v1/fits/0123456789abcdef/events"),
    ("GET", "/v1/fits/0123456789abcdef/model"),
    ("POST", "/v1/fits/0123456789abcdef/cancel"),
    ("POST", "/v1/profiles"),
    ("GET", "/v1/profiles"),
    ("GET", "/v1/profiles/0123456789abcdef"),
    ("GET", "/v1/profiles/0123456789abcdef/events"),
    ("GET", "/v1/profiles/0123456789abcdef/profile"),
    ("POST", "/v1/profiles/0123456789abcdef/cancel"),
    ("GET", "/v1/federations"),
    ("GET", "/v1/federations/together"),
    ("POST", "/v1/federations/together/offers"),
    ("POST", "/v1/federations/together/agreements"),
    ("POST", "/v1/federations/together/requests"),
    ("GET", "/v1/federations/together/replies/0a/0b"),
    ("POST", "/v1/federations/together/end"),
]
PARAMETERS = {
    "0123456789abcdef": "{id}",
    "credit": "{table}",
    "together": "{federation}",
    "0a/0b": "{agreement}/{request}",
}


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_needs_a_token(node: Running, method: str, path: str) -> None:
    replies = [
        node.send(method, path, token, BODY) for token in (None, "x", ada(exp=1), ada(sub="eve"))
    ]
    assert {reply.kind for reply in replies} == {"not-identified"}
    assert len({str(_without_date(reply)) for reply in replies}) == 1
    assert replies[0].headers["www-authenticate"] == "Bearer"


def test_every_route_is_in_the_list() -> None:
    made = make_app(node_of_nothing())
    found = {(next(iter(route.methods - {"HEAD"})), route.path) for route in made.routes}  # type: ignore[attr-defined]
    listed = set()
    for method, path in ROUTES:
        for typed, parameter in PARAMETERS.items():
            path = path.replace(typed, parameter)
        listed.add((method, path))
    assert found == listed


def node_of_nothing() -> Any:
    class Nothing:
        metrics = None
        policy = type("Policy", (), {"analysts": {}})

    return Nothing()


def test_two_tokens_identify_nobody(node: Running) -> None:
    with socket.create_connection(("127.0.0.1", node.server.port), timeout=5) as connection:
        line = f"Authorization: Bearer {ada()}\r\n"
        connection.sendall(f"GET /v1/tables HTTP/1.0\r\n{line}{line}\r\n".encode())
        assert b" 401 " in connection.recv(100)


def test_certificate_comes_in_a_header(tmp_path: Path) -> None:
    from hashlib import sha256
    from ssl import DER_cert_to_PEM_cert

    policy = policy_in(tmp_path, POLICY + f'certificate = "{sha256(b"bob").hexdigest()}"\n')
    header = quote(DER_cert_to_PEM_cert(b"bob"))
    with serving(make_app(node_of(policy, NOW))) as server:

        def status(token: str, **headers: str) -> int:
            return server.send("GET", "/v1/tables", token, **headers).status

        assert status(bob(), x_client_certificate=header) == 200
        assert status(bob()) == 401
        assert status(bob(), x_client_certificate="") == 401
        assert status(bob(), x_client_certificate="%ff") == 401
        assert status(bob(), x_client_certificate=quote(DER_cert_to_PEM_cert(b"eve"))) == 401
        assert status(ada(), x_client_certificate=header) == 200


# Whatever else ------------------------------------------------------------------------------------


def test_unforeseen_error_is_a_fixed_word(
    node: Running, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    class Strange(Exception):  # noqa: N818
        pass

    bodies = set()
    with caplog.at_level(logging.DEBUG):
        for failure in (Strange(CANARY), RuntimeError(CANARY), KeyError(CANARY)):
            node.booking.failure = failure
            reply = node.submit()
            assert (reply.status, reply.kind) == (500, "failed")
            bodies.add(reply.body)
    assert len(bodies) == 1
    assert "Strange" in caplog.text
    out, err = capfd.readouterr()
    for text in (
        caplog.text,
        out,
        err,
        reply.body.decode(),
        (node.folder / "audit.jsonl").read_text(),
    ):
        assert CANARY not in text
        assert "Traceback" not in text
    assert [line["outcome"] for line in node.logged()] == ["failed"] * 3


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/v1/tables/", 404),
        ("GET", "/v1/../etc/passwd", 404),
        ("DELETE", "/v1/fits", 405),
        ("PUT", "/v1/tables", 405),
    ],
)
def test_other_addresses_are_problems(node: Running, method: str, path: str, status: int) -> None:
    reply = node.send(method, path, ada())
    assert reply.status == status
    assert reply.kind in ("not-found", "invalid-request")


def test_every_reply_forbids_to_store_it(node: Running) -> None:
    replies = [
        node.send("GET", "/v1/tables", ada()),
        node.send("GET", "/v1/tables"),
        node.send("GET", "/nothing"),
        node.submit(),
    ]
    node.booking.failure = RuntimeError("x")
    replies.append(node.submit("k2"))
    assert [reply.status for reply in replies] == [200, 401, 404, 202, 500]
    for reply in replies:
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "server" not in reply.headers


def test_requests_are_counted_by_template(node: Running) -> None:
    run = node.submit().json()["id"]
    node.send("GET", f"/v1/fits/{run}", ada())
    node.send("GET", f"/{CANARY}", ada())
    text = node.metrics.text()
    assert 'route="/v1/fits/{id}",status="200"} 1.0' in text
    assert 'route="none",status="404"} 1.0' in text
    assert 'privclust_jobs_total{outcome="queued"} 1.0' in text
    assert run not in text
    assert CANARY not in text


def test_audit_log_has_public_facts_alone(node: Running) -> None:
    run = node.submit().json()["id"]
    (line,) = node.logged()
    assert line.pop("policy")
    assert line == {
        "time": int(NOW),
        "analyst": "a1",
        "table": "credit",
        "outcome": "queued",
        "fit": run,
        "seconds": 4.0,
        "epsilon": 1.0,
        "delta": 1e-6,
    }


@pytest.mark.attack
def test_fit_that_cannot_be_logged_is_neither_stored_nor_reserved(node: Running) -> None:
    (node.folder / "audit.jsonl").mkdir()
    reply = node.submit()
    assert (reply.status, reply.kind) == (500, "failed")
    assert not node.of_ada()
    assert not node.booking.reserved
    (node.folder / "audit.jsonl").rmdir()
    assert node.submit().status == 202


def test_fit_that_the_ledger_refuses_is_logged_twice_and_counted_once(node: Running) -> None:
    node.booking.refuses = True
    node.submit()
    assert [line["outcome"] for line in node.logged()] == ["queued", "budget-exceeded"]
    assert 'privclust_jobs_total{outcome="budget-exceeded"} 1.0' in node.metrics.text()
    assert 'outcome="queued"' not in node.metrics.text()


@pytest.mark.attack
def test_request_that_comes_twice_at_once_is_logged_once(
    node: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=20)
    price = node.booking.price

    def at_once(request: Any) -> Any:
        both.wait()
        return price(request)

    monkeypatch.setattr(node.booking, "price", at_once)
    with ThreadPoolExecutor(2) as pool:
        replies = list(pool.map(lambda _: node.submit(), range(2)))
    assert [reply.status for reply in replies] == [202, 202]
    assert [line["outcome"] for line in node.logged()] == ["queued"]


# Events -------------------------------------------------------------------------------------------


def test_events_follow_a_fit_until_it_ended(node: Running) -> None:
    run = node.submit().json()["id"]
    connection = HTTPConnection("127.0.0.1", node.server.port, timeout=20)
    headers = {"Authorization": f"Bearer {ada(exp=int(NOW) + 3600)}"}
    connection.request("GET", f"/v1/fits/{run}/events", headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    assert (response.getheader("content-type") or "").startswith("text/event-stream")
    first = json.loads(response.readline().removeprefix(b"data: "))
    node.finish(run, "{}")
    node.clock.now += 600
    rest = [line for line in response.read().split(b"\n") if line]
    connection.close()
    assert first["state"] == "running"
    assert [json.loads(line.removeprefix(b"data: "))["state"] for line in rest] == ["finished"]


@pytest.mark.attack
def test_events_end_with_the_token(node: Running) -> None:
    run = node.submit().json()["id"]
    connection = HTTPConnection("127.0.0.1", node.server.port, timeout=20)
    token = ada(exp=int(NOW) + 5)
    connection.request(
        "GET", f"/v1/fits/{run}/events", headers={"Authorization": f"Bearer {token}"}
    )
    response = connection.getresponse()
    assert json.loads(response.readline().removeprefix(b"data: "))["state"] == "running"
    node.clock.now += 36
    assert [response.readline(), response.readline()] == [b"\n", b""]
    connection.close()


def test_streams_of_an_analyst_are_limited(node: Running) -> None:
    run = node.submit().json()["id"]
    headers = {"Authorization": f"Bearer {ada()}"}
    connections = []
    for _ in range(4):
        connection = HTTPConnection("127.0.0.1", node.server.port, timeout=20)
        connection.request("GET", f"/v1/fits/{run}/events", headers=headers)
        response = connection.getresponse()
        assert response.readline()
        connections.append((connection, response))
    assert node.send("GET", f"/v1/fits/{run}/events", ada()).kind == "quota-exceeded"
    node.send("POST", f"/v1/fits/{run}/cancel", ada())
    for connection, response in connections:
        response.read()
        connection.close()
    assert node.send("GET", f"/v1/fits/{run}/events", ada()).status == 200
