"""Metrics count requests and jobs, and are served on this machine alone."""

from __future__ import annotations

import socket
from urllib.request import urlopen

import pytest

from privclust.node.web.metrics import Metrics


def test_requests_and_jobs_are_counted() -> None:
    metrics = Metrics()
    metrics.count_request("/v1/fits/{id}", 404)
    metrics.count_request("/v1/fits/{id}", 404)
    metrics.count_job("queued")
    text = metrics.text()
    assert 'privclust_requests_total{route="/v1/fits/{id}",status="404"} 2.0' in text
    assert 'privclust_jobs_total{outcome="queued"} 1.0' in text
    assert "process_" not in text
    assert "python_" not in text


def test_each_has_counts_of_its_own() -> None:
    Metrics().count_job("queued")
    assert "queued" not in Metrics().text()


def test_they_are_served_on_the_loopback_alone() -> None:
    metrics = Metrics()
    metrics.count_job("queued")
    server = metrics.serve(0)
    try:
        with urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as response:
            assert b'outcome="queued"' in response.read()
        with pytest.raises(OSError):  # noqa: PT011 - refused
            socket.create_connection(("127.0.0.2", server.port), timeout=1).close()
    finally:
        server.close()
