"""Counts of requests and jobs for the owner's monitoring: served on this machine alone."""

from __future__ import annotations

from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, generate_latest, start_http_server

LOOPBACK = "127.0.0.1"


class Metrics:
    """Counters of their own registry: nothing about the process, nothing that others count.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count_request("/v1/tables", 200)
    >>> 'route="/v1/tables",status="200"} 1.0' in metrics.text()
    True
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "privclust_requests",
            "Requests by route and status.",
            ["route", "status"],
            registry=self._registry,
        )
        self._jobs = Counter(
            "privclust_jobs", "Fits and profiles by outcome.", ["outcome"], registry=self._registry
        )

    def count_request(self, route: str, status: int) -> None:
        """Count a request; `route` is a template such as /v1/fits/{id}, never what was typed."""
        self._requests.labels(route, str(status)).inc()

    def count_job(self, outcome: str) -> None:
        """Count a job that was queued, refused, cancelled and so on."""
        self._jobs.labels(outcome).inc()

    def text(self) -> str:
        """Return all counters as Prometheus reads them."""
        return generate_latest(self._registry).decode()

    def serve(self, port: int) -> MetricsServer:
        """Serve them on this machine's own address; port 0 takes any that is free."""
        server, thread = start_http_server(port, addr=LOOPBACK, registry=self._registry)
        return MetricsServer(server, thread)


class MetricsServer:
    """Where metrics are served, until it is closed."""

    def __init__(self, server: WSGIServer, thread: Thread) -> None:
        self._server = server
        self._thread = thread
        self.port = server.server_port

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
