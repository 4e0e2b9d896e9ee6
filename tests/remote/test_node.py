"""A node of a federation as its coordinator sees it, also one that is broken or hostile."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from privclust.errors import AbsentNodeError, FailedNodeError, NodeRefusedError, ParameterError
from privclust.remote import _connection
from privclust.remote.error import RemoteError
from privclust.remote.node import RemoteNode

TOKEN, KEY = "header.payload.signature", "ab" * 32
PROBLEM = "application/problem+json"
Reply = tuple[int, str, bytes]


@contextmanager
def replying(*replies: Reply) -> Iterator[tuple[RemoteNode, list[tuple[str, str, bytes]]]]:
    """Serve these replies in turn, the last one for ever, and note what was sent."""
    sent: list[tuple[str, str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            sent.append((self.command, self.path, body))
            assert self.headers["Authorization"] == f"Bearer {TOKEN}"
            status, kind, content = replies[min(len(sent), len(replies)) - 1]
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815 - the name that the server looks for

        def log_message(self, *args: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}/federations/loans"
            yield RemoteNode(url, "north", KEY, TOKEN), sent
        finally:
            server.shutdown()
            thread.join()


def problem(kind: str, detail: str = "") -> bytes:
    return f'{{"type": "urn:privclust:{kind}", "detail": "{detail}"}}'.encode()


def test_messages_go_to_their_places() -> None:
    with replying(
        (200, "application/octet-stream", b"offer"),
        (204, "", b""),
        (202, "", b""),
        (204, "", b""),
        (200, "application/octet-stream", b"reply"),
        (204, "", b""),
    ) as (node, sent):
        assert node.offer(b"terms") == b"offer"
        node.join(b"agreement")
        node.submit(b"request")
        assert node.reply(b"\1", b"\2") is None
        assert node.reply(b"\1", b"\2") == b"reply"
        node.end(b"\1")
    one = "/v1/federations/loans"
    assert sent == [
        ("POST", f"{one}/offers", b"terms"),
        ("POST", f"{one}/agreements", b"agreement"),
        ("POST", f"{one}/requests", b"request"),
        ("GET", f"{one}/replies/01/02", b""),
        ("GET", f"{one}/replies/01/02", b""),
        ("POST", f"{one}/end", b"\1"),
    ]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ((403, PROBLEM, problem("not-allowed", "north refuses")), NodeRefusedError),
        ((401, PROBLEM, problem("not-identified")), NodeRefusedError),
        ((429, PROBLEM, problem("quota-exceeded", "too many")), NodeRefusedError),
        ((413, "text/html", b"<html>"), NodeRefusedError),
        ((307, "text/html", b""), NodeRefusedError),
        ((200, "text/html", b"<html>a proxy's page"), NodeRefusedError),
        ((500, PROBLEM, problem("failed")), FailedNodeError),
        ((429, "text/html", b"slow down"), AbsentNodeError),
        ((503, PROBLEM, problem("failed")), AbsentNodeError),
        ((502, "text/html", b""), AbsentNodeError),
        ((500, "text/html", b""), AbsentNodeError),
    ],
)
def test_replies_are_told_apart(reply: Reply, error: type[Exception]) -> None:
    with replying(reply) as (node, sent), pytest.raises(error):
        node.submit(b"request")
    assert len(sent) == 1


def test_text_of_a_refusal_is_told_and_harmless() -> None:
    body = problem("not-allowed", "north refuses: \\u001b[2J its policy")
    with (
        replying((403, PROBLEM, body)) as (node, _),
        pytest.raises(NodeRefusedError, match=r"north refuses: \?\[2J its policy"),
    ):
        node.submit(b"request")


def test_refusal_is_the_nodes_own_and_names_it_once() -> None:
    for said, expected in (
        (
            "north refuses: its policy. Nothing was read there.",
            "north refuses: its policy. Nothing was read there.",
        ),
        ("too many fits.", "north refuses: too many fits."),
    ):
        with (
            replying((403, PROBLEM, problem("not-allowed", said))) as (node, _),
            pytest.raises(NodeRefusedError) as refused,
        ):
            node.submit(b"request")
        assert str(refused.value) == expected


def test_node_that_cannot_be_described_is_named() -> None:
    node = RemoteNode("http://127.0.0.1:1/federations/loans", "north", token=TOKEN)
    with pytest.raises(AbsentNodeError, match=r"^north: the node at"):
        node.identity  # noqa: B018
    with replying((404, PROBLEM, problem("not-found"))) as (there, _):
        unnamed = RemoteNode(there.url, token=TOKEN)
        with pytest.raises(NodeRefusedError, match=f"^{there.url}: the node has nothing"):
            unnamed.name  # noqa: B018


def test_request_that_is_not_known_any_more_may_be_put_again() -> None:
    with replying((404, PROBLEM, problem("not-found"))) as (node, _):
        with pytest.raises(AbsentNodeError):
            node.reply(b"\1", b"\2")
        with pytest.raises(NodeRefusedError):
            node.submit(b"request")


def test_node_that_is_not_there_is_absent() -> None:
    node = RemoteNode("http://127.0.0.1:1/federations/loans", "north", KEY, TOKEN)
    with pytest.raises(AbsentNodeError, match="north: the node at"):
        node.submit(b"request")


def test_offer_is_requested_again_where_a_proxy_finds_no_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_connection, "sleep", lambda seconds: None)
    offer = (200, "application/octet-stream", b"offer")
    with replying((502, "", b""), (503, "", b""), offer) as (node, sent):
        assert node.offer(b"terms") == b"offer"
    assert len(sent) == 3


def test_reply_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privclust.remote.node.SMALL", 1000)
    with (
        replying((200, "application/octet-stream", bytes(2000))) as (node, _),
        pytest.raises(RemoteError, match="more than 1,000 bytes"),
    ):
        node.reply(b"\1", b"\2")


def test_name_and_key_are_the_users_or_the_nodes_own() -> None:
    body = f'{{"member": "south", "identity": "{"cd" * 32}"}}'.encode()
    with replying((200, "application/json", body)) as (node, sent):
        assert (node.name, node.identity.hex()) == ("north", KEY)
        assert not sent
        requested = RemoteNode(node.url, token=TOKEN)
        assert (requested.name, requested.identity.hex()) == ("south", "cd" * 32)
        assert len(sent) == 1
        pinned = RemoteNode(node.url, identity=KEY, token=TOKEN)
        assert (pinned.name, pinned.identity.hex()) == ("south", KEY)


@pytest.mark.parametrize("key", ["ab", "zz" * 32, "ab" * 33, 7])
def test_key_of_another_form_is_refused(key: object) -> None:
    with pytest.raises(ParameterError, match="identity"):
        RemoteNode("https://north.example/federations/loans", identity=key)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "url",
    [
        "https://north.example/tables/loans",
        "http://north.example/federations/loans",
        "https://ada:word@north.example/federations/loans",
        "https://north.example/federations/",
        "north",
    ],
)
def test_addresses_of_anything_else_are_refused(url: str) -> None:
    with pytest.raises(ParameterError) as caught:
        RemoteNode(url)
    assert "word" not in str(caught.value).replace("password", "")


def test_token_is_neither_shown_nor_pickled() -> None:
    node = RemoteNode("https://north.example/federations/loans", "north", KEY, TOKEN)
    assert TOKEN not in repr(node)
    assert TOKEN.encode() not in pickle.dumps(node)
    assert pickle.loads(pickle.dumps(node)).identity == node.identity
