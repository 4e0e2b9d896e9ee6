"""Files under deploy/ are what their programs accept, and keep what the docs say of them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote

import pytest
from helpers.certificates import write_certificate

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = ("privclust-node-web.service", "privclust-node-worker.service")
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
SYSTEMD = shutil.which("systemd-analyze")
HARDENED = {
    "NoNewPrivileges=yes",
    "ProtectSystem=strict",
    "PrivateTmp=yes",
    "LimitCORE=0",
    "IPAddressDeny=any",
    "CapabilityBoundingSet=",
}
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")


# nginx --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proxy:
    """nginx with our file, and what it passed on."""

    port: int
    folder: Path
    passed: list[dict[str, str]]

    def logged(self) -> str:
        """Return all that nginx has logged."""
        return "".join(file.read_text() for file in self.folder.glob("*.log"))

    def get(self, path: str, headers: dict[str, str], own: str | None = None) -> int:
        context = ssl.create_default_context(cafile=str(self.folder / "node.pem"))
        if own is not None:
            context.load_cert_chain(self.folder / f"{own}.pem", self.folder / f"{own}.key")
        connection = HTTPSConnection("localhost", self.port, context=context, timeout=10)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()


def local_file(folder: Path, port: int, certificates: bool = True) -> Path:
    """Write our file with the places of this test, and with the lines for `certificates`."""
    for name in ("node", "analysts-ca", "stranger") if certificates else ("node",):
        write_certificate(folder, name, "localhost")
    text = (DEPLOY / "nginx.conf").read_text()
    if certificates:
        text, found = re.subn(r"# (ssl_client_certificate|ssl_verify_client) ", r"\1 ", text)
        assert found == 2
    for ours, other in {
        "user www-data;": "user root;" if os.getuid() == 0 else "",
        "/etc/nginx/tls": str(folder),
        "/var/log/nginx": str(folder),
        "/run/nginx.pid": str(folder / "nginx.pid"),
        "/run/privclust/node.sock": str(folder / "node.sock"),
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "http {": "http {\n"
        + "".join(
            f"    {kind}_temp_path {folder / kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        ),
    }.items():
        assert ours in text
        text = text.replace(ours, other)
    file = folder / "nginx.conf"
    file.write_text(text)
    return file


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    passed: list[dict[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            passed.append(dict(self.headers))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Write nothing."""

    port = free_port()
    file = local_file(tmp_path, port)
    assert NGINX is not None
    with socketserver.ThreadingUnixStreamServer(str(tmp_path / "node.sock"), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        words = [NGINX, "-p", str(tmp_path), "-c", str(file), "-g", "daemon off;"]
        running = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        try:
            wait_for(port)
            yield Proxy(port, tmp_path, passed)
        finally:
            running.terminate()
            running.wait(10)
            server.shutdown()
            thread.join()


def wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("nginx does not listen")


@needs_nginx
@pytest.mark.parametrize("certificates", [False, True])
def test_nginx_accepts_the_file(tmp_path: Path, certificates: bool) -> None:
    file = local_file(tmp_path, free_port(), certificates)
    words = [str(NGINX), "-t", "-p", str(tmp_path), "-c", str(file)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@needs_nginx
def test_certificate_arrives_only_if_it_was_verified(proxy: Proxy) -> None:
    forged = {"X-Client-Certificate": "forged", "X-Client_Certificate": "forged"}
    assert proxy.get("/v1/tables", forged) == 200
    assert "forged" not in str(proxy.passed[-1])
    assert proxy.get("/v1/fits/0a/events", forged) == 200
    assert "forged" not in str(proxy.passed[-1])
    assert proxy.get("/v1/tables", forged, own="analysts-ca") == 200
    found = proxy.passed[-1]
    assert unquote(found["X-Client-Certificate"]) == (proxy.folder / "analysts-ca.pem").read_text()
    assert proxy.get("/v1/tables", {}, own="stranger") == 400
    assert len(proxy.passed) == 3


@needs_nginx
def test_nothing_but_the_service_is_public_and_no_log_has_a_token(proxy: Proxy) -> None:
    token = {"Authorization": "Bearer header.payload.signature"}
    assert proxy.get("/metrics", token) == 404
    assert proxy.get("/v1/tables?token=abc", token) == 200
    assert proxy.passed[-1]["Authorization"] == token["Authorization"]
    deadline = time.monotonic() + 10  # a line is written after its response was sent
    while "/v1/tables" not in (logged := proxy.logged()):
        assert time.monotonic() < deadline, logged
        time.sleep(0.05)
    assert not re.search("payload|abc", logged)


# systemd ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNITS)
def test_unit_is_hardened(name: str) -> None:
    lines = set((DEPLOY / name).read_text().splitlines())
    assert lines >= HARDENED
    assert not any(line.startswith("User=root") for line in lines)


def test_web_has_no_rows_and_worker_no_network() -> None:
    web, worker = ((DEPLOY / name).read_text() for name in UNITS)
    assert "\nInaccessiblePaths=/srv/privclust/rows\n" in web
    assert "\nReadOnlyPaths=/srv/privclust/rows\n" in worker
    assert "\nPrivateNetwork=yes\n" in worker
    assert "\nRestrictAddressFamilies=AF_UNIX\n" in worker


@pytest.mark.skipif(SYSTEMD is None, reason="systemd is not installed")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_accepts_the_unit(name: str, tmp_path: Path) -> None:
    text = (DEPLOY / name).read_text()
    program = "/opt/privclust/bin/privclust"
    assert f"ExecStart={program} node" in text
    (tmp_path / name).write_text(text.replace(program, sys.executable))
    words = [str(SYSTEMD), "verify", "--man=no", str(tmp_path / name)]
    done = subprocess.run(words, capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if name in line]
    assert (done.returncode, ours) == (0, []), done.stderr


# Containers ---------------------------------------------------------------------------------------


def test_image_is_pinned_and_runs_as_nobody_special() -> None:
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    (base,) = [line.split()[1] for line in lines if line.startswith("FROM ")]
    assert re.fullmatch(r"[\w./-]+:\d+\.\d+\.\d+-[\w-]+", base)
    assert [line for line in lines if line.startswith("USER ")] == ["USER 990"]
    assert lines.index("USER 990") < next(
        place for place, line in enumerate(lines) if line.startswith("ENTRYPOINT")
    )
    assert not any(line.startswith("ADD ") for line in lines)
    assert not re.search(r"curl|wget|sudo|:latest|chmod 777", text)
    assert "--require-hashes --requirement /tmp/node.txt" in text


def test_containers_mount_what_the_sample_policy_writes_to() -> None:
    policy = (DEPLOY.parent / "docs" / "node.md").read_text()
    written = re.findall(r'^(?:ledger|head|audit_log) = "(/[^"]*)/[^/"]+"', policy, re.MULTILINE)
    assert len(written) == 3
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    commands = [line for line in text.splitlines() if "podman run" in line]
    (made,) = re.findall("install --directory .*", text)
    assert len(commands) == 2
    for folder in written:
        assert all(re.search(rf"--volume \w+:{folder} ", line) for line in commands)
        assert folder in made.split()


def test_image_installs_what_the_tests_are_run_with() -> None:
    root = DEPLOY.parent / "constraints"
    pinned, tested = (
        dict(re.findall(r"^([\w.-]+)(?:\[.*\])?==(\S+)", (root / name).read_text(), re.MULTILINE))
        for name in ("node.txt", "dev.txt")
    )
    assert {"starlette", "uvicorn", "pyjwt", "prometheus-client", "psycopg", "numpy"} <= set(pinned)
    assert pinned.items() <= tested.items()
