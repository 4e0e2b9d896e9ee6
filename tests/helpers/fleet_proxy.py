"""What docs/federated.md lets nginx do: pass on what SuperNodes send, and nothing else."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

ALLOWED = "/v1/fleet/"
_OWN = {"host", "connection", "transfer-encoding", "content-length"}


def _handler(port: int, trusted: Path) -> type[BaseHTTPRequestHandler]:
    context = ssl.create_default_context(cafile=trusted)

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if not self.path.startswith(ALLOWED):
                self._respond(403, {}, b"")
                return
            passed = {name: v for name, v in self.headers.items() if name.lower() not in _OWN}
            beyond = HTTPSConnection("127.0.0.1", port, context=context)
            try:
                beyond.request("POST", self.path, body, passed)
                found = beyond.getresponse()
                self._respond(found.status, dict(found.getheaders()), found.read())
            finally:
                beyond.close()

        def do_GET(self) -> None:
            self._respond(403, {}, b"")

        def _respond(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                if name.lower() not in _OWN:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Keep no log, as the page says."""

    return Passing


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a node that is killed, or a SuperLink that ends, breaks connections."""


@contextmanager
def proxy(folder: Path, port: int) -> Iterator[int]:
    """Pass on to a SuperLink what SuperNodes send to the port that is yielded."""
    server = _Server(("127.0.0.1", 0), _handler(port, folder / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.pem", folder / "tls.key")
    # Hands are shaken in the connection's own thread: one that is killed then holds up nobody.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
