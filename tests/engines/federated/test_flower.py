"""Flower's two sides over a stand-in for Flower, which has an environment of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.conformance import CANARY, COLUMNS, DOMAIN, people, write_parquet
from helpers.flower_stand_in import Records, Sent, stand_in

from privclust.engines.federated._request import NONCE_BYTES, QueryRequest
from privclust.engines.federated.client import FAILED, Client, response_size
from privclust.engines.federated.flower import ACTION, END, client_app
from privclust.engines.federated.wire import encode
from privclust.queries.base import Count
from privclust.queries.unit import ROW

QUESTION = QueryRequest(bytes(NONCE_BYTES), bytes(16), tuple(COLUMNS), DOMAIN, ROW, 1, Count())


@pytest.fixture(autouse=True)
def flower(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)


def asked(open_client: Callable[[Any], Client], action: str = ACTION) -> bytes:
    app: Any = client_app(open_client)
    content = encode(QUESTION) if action == ACTION else QUESTION.fit
    reply = app.handlers[action](Sent(Records({ACTION: {"request": content}})), SimpleNamespace())
    return reply.content[ACTION]["response"] if action == ACTION else b""


def test_a_question_is_answered_and_the_sample_forgotten_at_the_end(tmp_path: Path) -> None:
    table = write_parquet(people(50), tmp_path / "rows.parquet")
    result = asked(lambda context: Client(table, tmp_path / "kept"))
    assert len(result) == response_size(Count())
    assert list((tmp_path / "kept").glob("*.sample"))
    asked(lambda context: Client(table, tmp_path / "kept"), END)
    assert not list((tmp_path / "kept").glob("*.sample"))


@pytest.mark.attack
def test_a_client_without_a_folder_would_draw_a_sample_twice_and_fails() -> None:
    assert asked(lambda context: Client(people(50))) == bytes(NONCE_BYTES) + FAILED


@pytest.mark.attack
def test_a_client_that_cannot_be_opened_fails_in_one_word() -> None:
    def broken(context: object) -> Client:
        raise OSError(CANARY)

    assert asked(broken) == bytes(NONCE_BYTES) + FAILED
    assert asked(broken, END) == b""
