"""A stand-in for Flower, which has an environment of its own: its names, and no network."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


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
    dst_node_id: int = 0
    message_type: str = ""
    ttl: float = 0.0

    def has_content(self) -> bool:
        return True

    @property
    def metadata(self) -> Any:
        return SimpleNamespace(src_node_id=self.reply_to.dst_node_id)


class App:
    """An app that remembers its handlers."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[Sent, object], Sent]] = {}

    def query(self, action: str) -> Callable[..., Any]:
        return lambda handler: self.handlers.setdefault(action, handler)

    def main(self) -> Callable[..., Any]:
        return lambda handler: handler


@dataclass
class Grid:
    """Hands each message to the app of its node, with the node's own configuration."""

    nodes: dict[int, tuple[App, dict[str, str]]]
    sent: list[Sent] = field(default_factory=list)

    def get_node_ids(self) -> Iterable[int]:
        return self.nodes

    def send_and_receive(self, messages: list[Sent], timeout: float) -> Iterable[Sent]:
        self.sent += messages
        replies = []
        for message in messages:
            app, config = self.nodes[message.dst_node_id]
            handler = app.handlers[message.message_type.removeprefix("query.")]
            replies.append(handler(message, SimpleNamespace(node_config=config)))
        return replies


def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ``import flwr`` find what is here."""
    parts: dict[str, dict[str, Any]] = {
        "flwr": {},
        "flwr.app": {
            "ConfigRecord": dict,
            "Context": object,
            "Message": Sent,
            "RecordDict": Records,
        },
        "flwr.clientapp": {"ClientApp": App},
        "flwr.serverapp": {"Grid": Grid, "ServerApp": App},
    }
    for name, content in parts.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
