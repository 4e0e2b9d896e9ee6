"""Flower's two sides over a stand-in for Flower, which has an environment of its own."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from conformance import CANARY, COLUMNS, DOMAIN, KEY, people, write_parquet

from privclust.engines.base import ROW
from privclust.engines.client import FAILED, NONCE_BYTES, Client, answer_size
from privclust.engines.flower import ACTION, END, client_app
from privclust.engines.wire import Question, encode
from privclust.queries import Count

QUESTION = Question(bytes(NONCE_BYTES), b"fit", tuple(COLUMNS), DOMAIN, ROW, 1, KEY, Count())
SERVER = Path(__file__).parents[2] / "examples" / "federation" / "consortium" / "server.py"


class Records(dict[str, Any]):
    """Records of one kind only."""

    @property
    def config_records(self) -> Records:
        return self


@dataclass
class Sent:
    """A message."""

    content: Records
    reply_to: Any = None


class App:
    """An app that remembers what it was told to do."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[Sent, object], Sent]] = {}

    def query(self, action: str) -> Callable[..., Any]:
        return lambda handler: self.handlers.setdefault(action, handler)

    def main(self) -> Callable[..., Any]:
        return lambda handler: handler


@pytest.fixture(autouse=True)
def flower(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: dict[str, dict[str, Any]] = {
        "flwr": {},
        "flwr.app": {
            "ConfigRecord": dict,
            "Context": object,
            "Message": Sent,
            "RecordDict": Records,
        },
        "flwr.clientapp": {"ClientApp": App},
        "flwr.serverapp": {"Grid": object, "ServerApp": App},
    }
    for name, content in parts.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)


def asked(open_client: Callable[[Any], Client], action: str = ACTION) -> bytes:
    app: Any = client_app(open_client)
    content = encode(QUESTION) if action == ACTION else QUESTION.fit
    reply = app.handlers[action](Sent(Records({ACTION: {"question": content}})), SimpleNamespace())
    return reply.content[ACTION]["answer"] if action == ACTION else b""


def test_a_question_is_answered_and_the_sample_forgotten_at_the_end(tmp_path: Path) -> None:
    table = write_parquet(people(50), tmp_path / "rows.parquet")
    answer = asked(lambda context: Client(table, tmp_path / "kept"))
    assert len(answer) == answer_size(Count())
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


def server() -> Any:
    spec = importlib.util.spec_from_file_location("consortium_server", SERVER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("epsilon", [float("inf"), float("nan"), 0.0, -1.0])
def test_the_example_fits_nothing_that_is_not_private(epsilon: float) -> None:
    given = {"method": "PrivateKMeans", "n-clusters": 2, "epsilon": epsilon, "delta": 1e-6}
    given |= {"bounds": "bounds.toml", "ledger": "", "dataset": ""}
    with pytest.raises(ValueError, match="epsilon must be a finite number above 0"):
        server().estimator(given)
    assert server().estimator({**given, "epsilon": 0.5}).epsilon == 0.5
