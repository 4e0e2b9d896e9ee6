"""Requests are verified, bounded and tried again; tokens stay where they belong."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from helpers.certificates import write_certificate
from helpers.remote_stand_in import TOKEN, Node, problem, running

from privclust import RemoteTable
from privclust.cli.messages import option_of
from privclust.errors import ParameterError
from privclust.remote import _connection
from privclust.remote._token import read_token
from privclust.remote.error import RemoteError


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(_connection, "sleep", lambda seconds: None)
    with running() as found:
        yield found


def table(node: Node, **settings: Any) -> RemoteTable:
    return RemoteTable(node.url, **{"token": TOKEN, **settings})


# Tokens -------------------------------------------------------------------------------------------


def test_token_comes_from_the_environment_or_a_file_that_is_read_anew(
    node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("old")
    monkeypatch.setenv("PRIVCLUST_TOKEN_FILE", str(file))
    found = RemoteTable(node.url)
    with pytest.raises(RemoteError, match="token may have expired"):
        found.describe()
    file.write_text(f"{TOKEN}\n")
    assert found.describe().name == "credit"
    monkeypatch.setenv("PRIVCLUST_TOKEN", "preferred")
    with pytest.raises(RemoteError):
        found.describe()
    assert node.tokens == ["Bearer old", f"Bearer {TOKEN}", "Bearer preferred"]


@pytest.mark.parametrize("token", ["a b", "a\nb", "ä", "x" * 9000])
def test_token_that_is_none_is_refused_unseen(token: str) -> None:
    with pytest.raises(RemoteError, match="Nothing was sent") as refused:
        read_token(token)
    assert token[:3] not in str(refused.value)


def test_missing_token_and_missing_file_are_refused_before_anything_is_sent(
    node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("PRIVCLUST_TOKEN", raising=False)
    monkeypatch.delenv("PRIVCLUST_TOKEN_FILE", raising=False)
    with pytest.raises(RemoteError, match="there is no token"):
        RemoteTable(node.url).describe()
    monkeypatch.setenv("PRIVCLUST_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(RemoteError, match="PRIVCLUST_TOKEN_FILE names cannot be read"):
        RemoteTable(node.url).describe()
    assert node.requests == []


# Retries, sizes, redirects ------------------------------------------------------------------------


def test_network_failures_are_tried_again_a_bounded_number_of_times(node: Node) -> None:
    node.drop = 3
    assert table(node).describe().name == "credit"
    assert len(node.requests) == 4
    node.drop = 100
    with pytest.raises(RemoteError, match="cannot be reached") as failed:
        table(node).describe()
    assert (failed.value.kind, len(node.requests)) == ("unreachable", 8)


def test_proxy_without_a_node_behind_it_is_tried_again(node: Node) -> None:
    sent = []

    def spoil(method: str, path: str, *response: Any) -> Any:
        sent.append(path)
        return problem(503, "about:blank") if len(sent) < 3 else response

    node.spoil = spoil
    assert table(node).describe().name == "credit"
    assert len(sent) == 3


def test_node_with_too_many_requests_at_a_time_is_tried_again(node: Node) -> None:
    status, headers, body = problem(429, "quota-exceeded", detail="Send this one again.")
    busy = status, {**headers, "Retry-After": "1"}, body
    sent = []

    def spoil(method: str, path: str, *response: Any) -> Any:
        sent.append(path)
        return busy if len(sent) < 3 else response

    node.spoil = spoil
    assert table(node).describe().name == "credit"
    assert len(sent) == 3
    node.spoil = lambda *_: busy
    with pytest.raises(RemoteError, match=r"The node says: Send this one again\."):
        table(node).describe()


def test_quota_that_is_used_up_is_not_tried_again(node: Node) -> None:
    node.spoil = lambda *_: problem(429, "quota-exceeded", detail="Wait for those in the queue.")
    with pytest.raises(RemoteError, match="Wait for those in the queue"):
        table(node).describe()
    assert len(node.requests) == 1


def test_response_that_never_ends_is_refused(node: Node) -> None:
    node.spoil = lambda *_: (200, {}, b" " * (_connection.SMALL + 1))
    with pytest.raises(RemoteError, match="more than 16,777,216 bytes"):
        table(node).describe()
    assert len(node.requests) == 1


def test_response_that_is_cut_off_is_tried_again(node: Node) -> None:
    node.spoil = lambda *_: (200, {"Content-Length": "1000"}, b"{}")
    with pytest.raises(RemoteError, match="IncompleteRead"):
        table(node).describe()


def test_redirect_is_not_followed(node: Node) -> None:
    with running() as other:
        node.spoil = lambda *_: (307, {"Location": other.url}, b"")
        with pytest.raises(RemoteError, match="no token follows"):
            table(node).describe()
        assert other.requests == []


# TLS ----------------------------------------------------------------------------------------------


class _Refusing(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Write nothing."""


class _Quiet(HTTPServer):
    seen: bytes | None = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing of clients that hang up."""

    def finish_request(self, request: Any, client_address: Any) -> None:
        self.seen = request.getpeercert(binary_form=True)
        super().finish_request(request, client_address)


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path, _Quiet]]:
    monkeypatch.setattr(_connection, "sleep", lambda seconds: None)
    public, private = write_certificate(tmp_path, "127.0.0.1", "127.0.0.1")
    own, _ = write_certificate(tmp_path, "analyst", "analyst")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_verify_locations(own)
    server = _Quiet(("127.0.0.1", 0), _Refusing)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}/tables/credit", public, server
    server.shutdown()
    thread.join()
    server.server_close()


def test_certificate_of_an_unknown_authority_is_refused(
    secure: tuple[str, Path, _Quiet],
) -> None:
    with pytest.raises(RemoteError, match=r"certificate is not trusted.*ca_file") as refused:
        RemoteTable(secure[0], token=TOKEN).describe()
    assert "name that with --ca-file." in refused.value.args[0].render(option_of)


def test_own_authority_and_client_certificate_are_used(
    secure: tuple[str, Path, _Quiet], tmp_path: Path
) -> None:
    url, authority, server = secure
    own = (str(tmp_path / "analyst.pem"), str(tmp_path / "analyst.key"))
    found = RemoteTable(url, token=TOKEN, ca_file=str(authority), certificate=own)
    with pytest.raises(RemoteError, match="does not allow"):
        found.describe()
    assert server.seen == ssl.PEM_cert_to_DER_cert(Path(own[0]).read_text(encoding="utf-8"))


def test_certificate_for_another_name_is_refused(
    secure: tuple[str, Path, _Quiet],
) -> None:
    url, authority, _ = secure
    wrong = RemoteTable(url.replace("127.0.0.1", "localhost"), None, TOKEN, str(authority))
    with pytest.raises(RemoteError, match="certificate is not trusted"):
        wrong.describe()


def test_files_that_hold_no_certificates_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "empty.pem"
    file.write_text("nothing")
    url = "https://127.0.0.1:9/tables/credit"
    with pytest.raises(ParameterError, match="ca_file cannot be read"):
        RemoteTable(url, token=TOKEN, ca_file=str(file)).describe()
    with pytest.raises(ParameterError, match="certificate cannot be read"):
        RemoteTable(url, token=TOKEN, certificate=str(file)).describe()


def test_old_versions_of_tls_are_off() -> None:
    context = _connection._verified(None, None)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
