"""Flower's two sides over a stand-in for Flower, which has an environment of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.conformance import CANARY, people, write_parquet
from helpers.flower_stand_in import Records, Sent, stand_in
from helpers.requests import request_for

from privclust.engines.federated._request import NONCE_BYTES
from privclust.engines.federated.client import FAILED, Client, response_size
from privclust.engines.federated.flower import ACTION, END, client_app
from privclust.engines.federated.wire import encode
from privclust.queries.base import Count

REQUEST = request_for(Count(), sampling_exponent=1)


@pytest.fixture(autouse=True)
def flower(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)


def response_of(open_client: Callable[[Any], Client], action: str = ACTION) -> bytes:
    app: Any = client_app(open_client)
    content = encode(REQUEST) if action == ACTION else REQUEST.fit
    reply = app.handlers[action](Sent(Records({ACTION: {"request": content}})), SimpleNamespace())
    return reply.content[ACTION]["response"] if action == ACTION else b""


def test_request_gets_a_response_and_the_sample_is_forgotten_at_the_end(tmp_path: Path) -> None:
    table = write_parquet(people(50), tmp_path / "rows.parquet")
    response = response_of(lambda context: Client(table, tmp_path / "kept"))
    assert len(response) == response_size(Count())
    assert list((tmp_path / "kept").glob("*.sample"))
    response_of(lambda context: Client(table, tmp_path / "kept"), END)
    assert not list((tmp_path / "kept").glob("*.sample"))


@pytest.mark.attack
def test_a_client_without_a_folder_would_draw_a_sample_twice_and_fails() -> None:
    assert response_of(lambda context: Client(people(50))) == bytes(NONCE_BYTES) + FAILED


@pytest.mark.attack
def test_a_client_that_cannot_be_opened_fails_in_one_word() -> None:
    def broken(context: object) -> Client:
        raise OSError(CANARY)

    assert response_of(broken) == bytes(NONCE_BYTES) + FAILED
    assert response_of(broken, END) == b""
