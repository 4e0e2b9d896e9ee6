"""A node's application behind a real server on a free port of this machine."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import uvicorn
from starlette.types import ASGIApp


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body's content."""
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The kind of a problem."""
        assert self.headers["content-type"] == "application/problem+json"
        return str(self.json()["type"]).rpartition(":")[2]


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    port: int

    def send(
        self,
        method: str,
        path: str,
        token: str | None = None,
        body: Any = None,
        key: str | None = None,
        **headers: str,
    ) -> Reply:
        """Send a request; a body that is not bytes is sent as JSON."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        if key is not None:
            sent["Idempotency-Key"] = key
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, content, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()


@contextmanager
def serving(app: ASGIApp) -> Iterator[Served]:
    """Serve an application in a thread."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Served(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
