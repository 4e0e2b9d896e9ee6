"""A whole node on this machine: nginx with TLS, the web process, workers, tokens of an issuer."""

from __future__ import annotations

import datetime
import http.client
import ipaddress
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from helpers.node_policy import HOSPITAL, NUMBERS, PROFILED, write_keys

from privclust import Ledger
from privclust.node.jobs.store import JobStore
from privclust.node.policy.policy import Policy
from privclust.node.policy.policy_file import read_policy
from privclust.privacy.ledger.head_file import HeadFile

ROOT = Path(__file__).parents[2]
HOST, ISSUER = "127.0.0.1", "https://id.hospital.example"
PATIENCE = 120.0


@dataclass(frozen=True)
class Reply:
    """What came back over TLS."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Deployment:
    """The processes of a node, each of which may be killed and started again."""

    folder: Path
    port: int
    metrics_port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def policy_path(self) -> Path:
        return self.folder / "policy.toml"

    @property
    def policy(self) -> Policy:
        return read_policy(self.policy_path)

    @property
    def ledger(self) -> Ledger:
        return Ledger.open(self.policy.node.ledger)

    @property
    def jobs(self) -> JobStore:
        return JobStore(self.policy.node.ledger)

    def url(self, table: str) -> str:
        return f"https://{HOST}:{self.port}/tables/{table}"

    def start_web(self) -> None:
        """Start the web process and wait until it listens."""
        place, options = self.folder / "node.sock", ["--metrics-port", str(self.metrics_port)]
        serve: list[str | Path] = ["-m", "privclust", "node", "serve", self.policy_path]
        self._start("web", [*serve, "--socket", place, *options])
        until(lambda: place.is_socket() and _accepts(place), self.describe)

    def start_worker(self, name: str = "worker", noise: str = "") -> None:
        """Start a worker, with real noise unless it is to be "repeatable"."""
        script = ROOT / "tests" / "helpers" / "node_worker.py"
        self._start(name, [script, self.policy_path, *([noise] if noise else [])])

    def start_proxy(self) -> None:
        """Start nginx and wait until it listens."""
        _start_nginx(self)

    def stop_proxy(self) -> None:
        """End nginx with its own processes: nobody reaches the node then."""
        process = self.processes.pop("nginx")
        process.terminate()
        process.wait(20)

    def kill(self, name: str) -> None:
        """End a process without warning."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End everything that was started."""
        for name in list(self.processes):
            process = self.processes.pop(name)
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def logs(self) -> bytes:
        """Return all that any process wrote, and the audit log."""
        files = [*self.folder.glob("*.log"), self.folder / "audit.jsonl"]
        return b"".join(file.read_bytes() for file in files if file.exists())

    def describe(self) -> str:
        """Return the logs, for a test that failed."""
        return self.logs().decode(errors="replace")

    def send(
        self,
        method: str,
        path: str,
        token: str | None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        certificate: bool = False,
    ) -> Reply:
        """Send one request through nginx, and return what came back."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.pem"))
        if certificate:
            context.load_cert_chain(self.folder / "analyst.pem", self.folder / "analyst.key")
        connection = http.client.HTTPSConnection(HOST, self.port, context=context, timeout=60)
        sent = {} if token is None else {"Authorization": f"Bearer {token}"}
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            connection.request(method, path, content, {**sent, **(headers or {})})
            reply = connection.getresponse()
            found = {name.lower(): value for name, value in reply.getheaders()}
            return Reply(reply.status, found, reply.read())
        finally:
            connection.close()

    def post_fit(self, token: str, key: str, table: str = "credit", **parameters: Any) -> Reply:
        """Submit a fit under an Idempotency-Key."""
        body = {
            "table": table,
            "estimator": "PrivateKMeans",
            "parameters": {"n_clusters": 2, "epsilon": 0.1, **parameters},
            "columns": ["age", "amount"],
        }
        return self.send("POST", "/v1/fits", token, body, {"Idempotency-Key": key})

    def ended(self, run: str, token: str) -> Any:
        """Wait until a fit has ended in public, and return its status."""

        def state() -> Any:
            return self.send("GET", f"/v1/fits/{run}", token).json

        until(lambda: state()["state"] not in ("queued", "running"), self.describe)
        return state()

    def _start(self, name: str, arguments: Sequence[str | Path]) -> None:
        path = os.pathsep.join(map(str, [ROOT / "src", ROOT, ROOT / "tests"]))
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, *map(str, arguments)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": path},
            )


def token_of(subject: str, **claims: Any) -> str:
    """Return a token of the test's own issuer that is valid for an hour."""
    expiry = int(time.time()) + 3600
    valid: dict[str, Any] = {"iss": ISSUER, "aud": "node", "sub": subject, "exp": expiry}
    return HOSPITAL.token(**(valid | claims))


def until(
    condition: Callable[[], object], describe: Callable[[], str] = str, patience: float = PATIENCE
) -> None:
    """Wait for something, and fail with a description after too long."""
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, describe()
        time.sleep(0.05)


@contextmanager
def deployed(
    folder: Path,
    ledger: str,
    analysts: Mapping[str, str],
    tables: str,
    *,
    epsilon: float = 8.0,
    node: str = "lanes = 2",
    datasets: Sequence[str] = ("credit",),
    further: str = "",
) -> Iterator[Deployment]:
    """Write a node's folder, start nginx before it, and end everything afterwards.

    `analysts` maps ids to further lines of their part of the policy; the subject is the id.
    `further` parts are added at its end.
    """
    folder.chmod(0o755)  # nginx's workers go through it
    write_keys(folder / "hospital.jwks", HOSPITAL)
    (folder / "bounds.toml").write_text(NUMBERS)
    (folder / "profile.toml").write_text(PROFILED)
    key = folder / "name.key"
    key.touch(mode=0o600)
    key.write_text("5a" * 32)
    parts = [
        f'[node]\nledger = "{ledger}"\nhead = "head"\naudit_log = "audit.jsonl"\n'
        f'name_key = "name.key"\n{node}\n',
        f'[issuers.hospital]\nurl = "{ISSUER}"\naudience = "node"\nkeys = "hospital.jwks"\n',
        tables,
        *(
            f'[analysts.{name}]\nissuer = "hospital"\nsubject = "{name}"\n{lines}\n'
            for name, lines in analysts.items()
        ),
        further,
    ]
    deployment = Deployment(folder, _free_port(), _free_port())
    deployment.policy_path.write_text("\n".join(parts))
    for label in datasets:
        made = Ledger.create(deployment.policy.node.ledger, label, epsilon=epsilon, delta=1e-6)
    HeadFile(deployment.policy.node.head).create(made)
    _write_certificates(folder)
    try:
        _start_nginx(deployment)
        yield deployment
    finally:
        deployment.stop()


def _start_nginx(deployment: Deployment) -> None:
    """Start nginx with the configuration that owners are given, on other paths."""
    folder, text = deployment.folder, (ROOT / "deploy" / "nginx.conf").read_text()
    changes = {
        r"user www-data;": "user root;" if os.geteuid() == 0 else "#",
        r"pid [^;]+;": f"pid {folder}/nginx.pid;",
        r"worker_processes auto;": "worker_processes 1; daemon off;",
        r"/var/log/nginx/(\w+)\.log": rf"{folder}/nginx-\1.log",
        r"unix:[^;]+;": f"unix:{folder}/node.sock;",
        r"listen 443 ssl;": f"listen {HOST}:{deployment.port} ssl;",
        r"/etc/nginx/tls/node\.(pem|key)": rf"{folder}/server.\1",
        r"/etc/nginx/tls/analysts-ca\.pem": f"{folder}/ca.pem",
        r"# (ssl_client_certificate|ssl_verify_client) ": r"\1 ",
        # Tests send from one address what many analysts would send.
        r"rate=\d+r/s": "rate=10000r/s",
        r"burst=\d+": "burst=1000",
        r"limit_conn connections \d+": "limit_conn connections 500",
    }
    for pattern, replacement in changes.items():
        text, found = re.subn(pattern, replacement, text)
        assert found, f"deploy/nginx.conf has no {pattern}"
    file = folder / "nginx.conf"
    file.write_text(text)
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with open(folder / "nginx.log", "ab") as log:
        command = [program, "-c", str(file), "-p", str(folder)]
        deployment.processes["nginx"] = subprocess.Popen(command, stdout=log, stderr=log)
    until(lambda: _accepts((HOST, deployment.port)), deployment.describe)


def _accepts(place: Path | tuple[str, int]) -> bool:
    family = socket.AF_INET if isinstance(place, tuple) else socket.AF_UNIX
    with socket.socket(family) as probe:
        return probe.connect_ex(place if isinstance(place, tuple) else str(place)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def _write_certificates(folder: Path) -> None:
    """Write those of the server and of an analyst, signed by an authority of the test's own."""
    authority, name = ec.generate_private_key(ec.SECP256R1()), _name("authority")
    _write(folder / "ca.pem", _signed(name, authority.public_key(), name, authority, is_ca=True))
    for file in ("server", "analyst"):
        key = ec.generate_private_key(ec.SECP256R1())
        made = _signed(_name(file), key.public_key(), name, authority, is_ca=False)
        _write(folder / f"{file}.pem", made)
        (folder / f"{file}.key").write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _signed(
    subject: x509.Name, key: Any, issuer: x509.Name, signer: Any, is_ca: bool
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address(HOST))
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(is_ca, None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
        .sign(signer, hashes.SHA256())
    )


def _write(file: Path, certificate: x509.Certificate) -> None:
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
