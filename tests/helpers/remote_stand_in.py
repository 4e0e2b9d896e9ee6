"""A node on 127.0.0.1 that speaks the wire format, and fits a small table of made-up rows.

It keeps no budget beyond one number and no queue: the node itself is tested in tests/node. What it
sends can be spoilt, so that tests see what a client makes of a node that is broken or hostile.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

import privclust
from privclust import Ledger
from privclust.models.model_file import model_from_bytes, to_json
from privclust.models.profile_file import profile_to_json
from privclust.planning.forecast import forecast
from privclust.testing import SeededNoise, noise_from

TOKEN = "header.payload.signature"
BOUNDS: dict[str, Any] = {"age": (0, 120), "income": (0, 1e5)}
WARD = {"ward": {"type": "category", "levels": ["A", "B"]}}
DELTA, EPSILON, MAX_CLUSTERS = 1e-6, 4.0, 16


@dataclass
class Node:
    """A node with one table, "credit", and what was sent to it.

    `spoil` gets each response as (method, path, status, headers, body) and returns another.
    `drop` counts down: as many requests are cut off without a response.
    """

    seconds: int = 0
    spoil: Callable[..., tuple[int, dict[str, str], bytes]] | None = None
    drop: int = 0
    drop_after: int = 0
    """The same, but the request is obeyed before the line is cut."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: dict[str, bytes] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    address: str = ""
    ledger: str = ""

    @property
    def url(self) -> str:
        """Where its table is."""
        return f"{self.address}/tables/credit"

    @property
    def fits(self) -> int:
        """How many fits it was made to run."""
        return sum(run["kind"] == "fit" for run in self.runs.values())

    def respond(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body."""
        if headers.get("Authorization") != f"Bearer {TOKEN}":
            return problem(401, "not-identified")
        parts = path.removeprefix("/v1/").split("/")
        content = json.loads(body) if body else {}
        if content:
            self.bodies.append(content)
        match method, parts:
            case "GET", ["tables", "credit"]:
                return reply(self.table())
            case "POST", ["tables", "credit", "forecast"]:
                return reply(self.forecast(content))
            case "POST", ["fits" | "profiles" as place]:
                return self.submit(place, content, headers["Idempotency-Key"])
            case "GET", ["fits" | "profiles" as place]:
                mine = [name for name, run in self.runs.items() if f"{run['kind']}s" == place]
                return reply({place: [self.status(name) for name in mine]})
            case "GET", ["fits" | "profiles", name] if name in self.runs:
                return reply(self.status(name))
            case "GET", ["fits" | "profiles", name, "model" | "profile"] if name in self.results:
                return 200, {"Content-Type": "application/json"}, self.results[name]
            case "POST", ["fits", name, "cancel"] if name in self.runs:
                self.runs[name]["state"] = "cancelled"
                return reply(self.status(name))
        return problem(404, "not-found")

    def table(self) -> dict[str, Any]:
        """Return what is public about the table."""
        left = Ledger.open(self.ledger).epsilon_left("credit")
        return {
            "name": "credit",
            "description": "made-up card holders",
            "columns": [
                {"name": name, "type": "number", "lower": lower, "upper": upper}
                for name, (lower, upper) in BOUNDS.items()
            ],
            "profile_columns": ["ward"],
            "unit": "",
            "max_rows_per_unit": 1,
            "about_rows": 600,
            "seconds": self.seconds,
            "delta": DELTA,
            "periods": 1,
            "epsilon_left": left,
            "max_clusters": MAX_CLUSTERS,
            "estimators": ["PrivateKMeans", "PEMeans"],
        }

    def forecast(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a fit would cost."""
        parameters, left = content["parameters"], self.table()["epsilon_left"]
        k, strength = parameters["n_clusters"], (parameters["epsilon"], parameters["delta"])
        expected = forecast(600, len(BOUNDS), k, epsilon=strength[0], delta=strength[1])
        return {
            "price": 2.0,
            "epsilon": parameters["epsilon"],
            "delta": parameters["delta"],
            "epsilon_left": left,
            "allowed": parameters["epsilon"] <= left,
            "forecast": asdict(expected),
        }

    def submit(
        self, place: str, content: Mapping[str, Any], key: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Run what was sent, once for each key."""
        self.keys.append(key)
        if key not in self.places:
            left, wanted = self.table()["epsilon_left"], content.get("epsilon")
            wanted = wanted or content["parameters"]["epsilon"]
            if wanted > left:
                return problem(403, "budget-exceeded", requested=wanted, remaining=left)
            run = self._fit(content) if place == "fits" else self._profile(content)
            self.places[key] = run
        name = self.places[key]
        return 202, {"Location": f"/v1/{place}/{name}"}, json.dumps(self.status(name)).encode()

    def status(self, name: str) -> dict[str, Any]:
        """Return how a run stands."""
        run = self.runs[name]
        passed = (time.time() - run["submitted"]) / max(self.seconds, 1)
        state = run["state"]
        if state == "finished" and passed < 1 and self.seconds:
            state = "running"
        return {**run, "state": state, "progress": min(int(passed * 10) / 10, 1.0)}

    def _fit(self, content: Mapping[str, Any]) -> str:
        columns = content["columns"] or list(BOUNDS)
        bounds = {name: BOUNDS[name] for name in columns}
        account = {"ledger": self.ledger, "dataset": "credit"}
        kind = getattr(privclust, content["estimator"])
        with noise_from(SeededNoise(0)):
            fitted = kind(**content["parameters"], bounds=bounds, **account).fit(rows())
        name = str(fitted.privacy_statement_.run.name)
        self.results[name] = to_json(fitted).encode()
        self._note(name, "fit")
        return name

    def _profile(self, content: Mapping[str, Any]) -> str:
        model = model_from_bytes(self.results[content["fit"]], "model")
        fitted = privclust.PrivateKMeans.from_model(model)
        with noise_from(SeededNoise(0)):
            found = fitted.profile(
                rows(),
                content["columns"],
                bounds=WARD,
                epsilon=content["epsilon"],
                delta=content["delta"],
                ledger=self.ledger,
            )
        name = found.privacy_statement.run.name
        self.results[name] = profile_to_json(found).encode()
        self._note(name, "profile")
        return name

    def _note(self, name: str, kind: str) -> None:
        now = int(time.time())
        times = {"submitted": now, "starts_at": now, "release_at": now + self.seconds}
        run = {"id": name, "kind": kind, "table": "credit", "state": "finished", "price": 2.0}
        self.runs[name] = {**run, **times}


def rows() -> pa.Table:
    """Return two groups of made-up rows."""
    rng = np.random.default_rng(0)
    age = np.concatenate([rng.normal(30, 3, 300), rng.normal(60, 3, 300)])
    income = np.concatenate([rng.normal(2e4, 1e3, 300), rng.normal(6e4, 1e3, 300)])
    return pa.table({"age": age, "income": income, "ward": ["A"] * 300 + ["B"] * 300})


def reply(content: object) -> tuple[int, dict[str, str], bytes]:
    """Return a response of JSON."""
    return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()


def problem(status: int, kind: str, **extra: object) -> tuple[int, dict[str, str], bytes]:
    """Return a response that says what is wrong, by RFC 9457."""
    content = {"type": f"urn:privclust:{kind}", "kind": kind, "status": status, **extra}
    return status, {"Content-Type": "application/problem+json"}, json.dumps(content).encode()


@contextmanager
def running(**settings: Any) -> Iterator[Node]:
    """Run a node until the block ends."""
    with TemporaryDirectory() as folder:
        place = str(Path(folder) / "budget.db")
        Ledger.create(place, "credit", epsilon=EPSILON, delta=DELTA)
        node = replace(Node(**settings), ledger=place)
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(node))
        node.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield node
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def _handler(node: Node) -> type[BaseHTTPRequestHandler]:
    one_at_a_time = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond("GET")

        def do_POST(self) -> None:
            self._respond("POST")

        def _respond(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with one_at_a_time:
                node.requests.append((method, self.path))
                node.tokens.append(self.headers.get("Authorization", ""))
                if node.drop > 0:
                    node.drop -= 1
                    return
                status, headers, content = node.respond(method, self.path, dict(self.headers), body)
                if node.drop_after > 0 and method == "POST":
                    node.drop_after -= 1
                    return
                if node.spoil is not None:
                    status, headers, content = node.spoil(
                        method, self.path, status, headers, content
                    )
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            """Write nothing."""

    return Handler
