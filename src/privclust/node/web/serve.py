"""The web process of a node: checks what it stands on, then serves on this machine alone.

TLS and client certificates are the business of a proxy before it (docs/node.md). The process reads
no rows.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
import warnings
from pathlib import Path

import uvicorn

from privclust.errors import ParameterError, PolicyError
from privclust.node.audit_log import AuditLog
from privclust.node.booking import Booking
from privclust.node.check import check_not_writable, faults_of_account
from privclust.node.core_dumps import forbid_core_dumps
from privclust.node.federations.hosted import joined
from privclust.node.federations.sum_requests import SumRequestStore
from privclust.node.identity import Identities
from privclust.node.jobs.store import JobStore
from privclust.node.names import read_name_key
from privclust.node.policy.policy_file import read_policy
from privclust.node.web.app import make_app
from privclust.node.web.metrics import LOOPBACK, Metrics
from privclust.node.web.parts import Node
from privclust.privacy.ledger.head_file import HeadFile
from privclust.privacy.ledger.ledger import Ledger

_log = logging.getLogger(__name__)
SOCKET_MODE = 0o660
CONNECTIONS, KEEP_ALIVE_SECONDS, SHUTDOWN_SECONDS = 128, 15, 5
HEADER_BYTES = 2**15


def serve(
    policy_file: str | os.PathLike[str],
    *,
    unix_socket: str | os.PathLike[str] | None = None,
    port: int | None = None,
    metrics_port: int | None = None,
) -> None:
    """Serve a node until the process is told to end.

    Parameters
    ----------
    policy_file : path
        The policy; who changes it starts the node again.
    unix_socket : path, optional
        Where to listen. The proxy's user needs the group of this process.
    port : int, optional
        Where to listen instead, on 127.0.0.1: all users of the machine can connect.
    metrics_port : int, optional
        Where to serve metrics, on 127.0.0.1.

    Raises
    ------
    ParameterError
        If it is to listen at two places, or at none.
    PolicyError
        If policy, keys or ledger are not as they should be.
    LedgerError
        If the ledger cannot be read, or an older copy of it was put back.
    """
    if (unix_socket is None) == (port is None):
        raise ParameterError(
            "a node listens at one place of this machine. Name a Unix socket with --socket FILE, "
            "or a port with --port NUMBER."
        )
    forbid_core_dumps()
    warnings.simplefilter("ignore")  # of a fit that is priced: its parameters belong into no log
    node = checked_node(policy_file)
    for federation in node.federations.values():
        federation.forget_offers(node.clock())
    certified = any(one.certificate for one in node.policy.analysts.values())
    if port is not None and certified:
        raise PolicyError(
            "an analyst of the policy needs a client certificate, which the proxy hands over in a "
            "header, and any user of this machine could send one to a port. Listen at a Unix "
            "socket."
        )
    listening = listen(Path(unix_socket)) if unix_socket else socket.create_server((LOOPBACK, port))
    metrics = None if metrics_port is None else node.metrics.serve(metrics_port)
    # The server ends by this signal once more when it is done, and what follows would be lost.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        _log.info("listening at %s; policy %s", unix_socket or port, node.policy.digest)
        server_of(node).run(sockets=[listening])
    finally:
        if metrics is not None:
            metrics.close()
        listening.close()
        if unix_socket is not None:
            Path(unix_socket).unlink(missing_ok=True)


def checked_node(policy_file: str | os.PathLike[str]) -> Node:
    """Return a node of which everything was checked that can be checked beforehand."""
    policy = read_policy(policy_file)
    check_not_writable(Path(policy_file))
    for issuer in policy.issuers.values():
        check_not_writable(issuer.keys)
    key = read_name_key(policy.node.name_key)
    ledger = Ledger.open(policy.node.ledger)
    for table in policy.tables.values():
        for fault in faults_of_account(table, ledger):
            raise PolicyError(f"in [tables.{table.name}] of the policy: {fault}")
    HeadFile(policy.node.head).check(ledger)
    store = JobStore(policy.node.ledger, policy.node.lanes, policy.node.tick)
    return Node(
        policy=policy,
        identities=Identities(policy),
        jobs=store,
        booking=Booking(policy, store),
        ledger=ledger,
        name_key=key,
        clock=time.time,
        audit_log=AuditLog(policy.node.audit_log, policy.digest),
        metrics=Metrics(),
        requests=SumRequestStore(policy.node.ledger),
        federations=joined(policy),
    )


def listen(path: Path) -> socket.socket:
    """Return a Unix socket that only this user and its group may use."""
    if path.is_socket():
        with socket.socket(socket.AF_UNIX) as probe:
            if probe.connect_ex(str(path)) == 0:
                raise PolicyError(f"another process listens at {str(path)!r}. End it first.")
        path.unlink()  # what a process left that was killed
    elif path.exists():
        raise PolicyError(f"{str(path)!r} exists and is not a socket. Name another place.")
    made = socket.socket(socket.AF_UNIX)
    before = os.umask(0o777 & ~SOCKET_MODE)
    try:
        made.bind(str(path))
    except OSError as error:
        made.close()
        raise PolicyError(
            f"the socket {str(path)!r} cannot be made: {error.strerror or error}. Name a place of "
            "at most 100 characters, in a folder that this user may write to."
        ) from None
    finally:
        os.umask(before)
    return made


def server_of(node: Node) -> uvicorn.Server:
    """Return the server of a node, which says nothing of requests but what the node logs."""
    # Addresses of requests hold ids, so that no line is written of them.
    logging.getLogger("uvicorn.access").disabled = True
    config = uvicorn.Config(
        make_app(node),
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=HEADER_BYTES,
    )
    return uvicorn.Server(config)
