"""One node of three with its web application served, the others in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.node_federation import BOUNDS, COLUMNS, write_rows
from helpers.node_policy import NUMBERS, ada, bob, write_node
from helpers.node_server import Served, serving

from privclust import Ledger
from privclust.cohorts.federation import NodeFederation
from privclust.cohorts.fit_store import FitStore
from privclust.cohorts.identity import Identity
from privclust.cohorts.member import LocalMember
from privclust.cohorts.membership import MemberPolicy, Membership
from privclust.domains.bounds import read_bounds
from privclust.node.federations.responding import reply_to_requests
from privclust.node.policy.policy_file import read_policy
from privclust.node.set_up import set_up
from privclust.node.web.app import make_app
from privclust.node.web.parts import Node
from privclust.node.web.serve import checked_node
from privclust.queries.unit import Unit
from privclust.remote.node import RemoteNode

SOUTH, WEST = Identity(b"s" * 32), Identity(b"w" * 32)
POLICY = f"""\
[node]
ledger = "ledger.db"
head = "elsewhere/head.json"
audit_log = "audit.jsonl"
name_key = "names.key"
lanes = 4

[issuers.hospital]
url = "https://id.hospital.example"
audience = "node"
keys = "hospital.jwks"

[issuers.institute]
url = "https://id.institute.example"
audience = "node"
algorithms = ["ES256", "EdDSA"]
keys = "institute.jwks"

[tables.credit]
files = ["credit.parquet"]
dataset = "credit"
bounds = "credit.toml"

[analysts.a1]
issuer = "hospital"
subject = "ada"
tables = []
epsilon = 4.0
work_per_day = 6000

[analysts.b2]
issuer = "institute"
subject = "bob"
tables = ["credit"]
epsilon = 1.0
work_per_day = 6000

[analysts.c3]
issuer = "institute"
subject = "carl"
tables = ["credit"]
epsilon = 1.0
work_per_day = 6000

[federations.loans]
table = "credit"
member = "north"
identity = "north.key"
secrets = "secrets"
coordinators = ["a1", "b2"]
minimum = 2
epsilon = 2.0
epsilon_alone = 4.0

[federations.loans.partners]
south = "{SOUTH.public.hex()}"
west = "{WEST.public.hex()}"
"""


@dataclass
class North:
    """The node that is served, and its folder."""

    node: Node
    server: Served
    folder: Path

    @property
    def ledger(self) -> Ledger:
        return Ledger.open(self.node.policy.node.ledger)

    @property
    def identity(self) -> bytes:
        return self.node.federations["loans"].identity.public

    def remote(self, token: str | None = None, **given: Any) -> RemoteNode:
        url = f"http://127.0.0.1:{self.server.port}/federations/loans"
        return RemoteNode(url, token=token or ada(time.time()), **given)

    def send(self, method: str, path: str, body: Any = None, token: str | None = None) -> Any:
        whole = f"/v1/federations/{path}"
        return self.server.send(method, whole, token or ada(time.time()), body)

    def federation(self, who: str = "a1", **options: Any) -> NodeFederation:
        """Return the three as one table."""
        token = ada(time.time()) if who == "a1" else bob(time.time())
        nodes = (
            self.remote(token),
            member("south", SOUTH, self.folder, self.identity, who),
            member("west", WEST, self.folder, self.identity, who),
        )
        return NodeFederation(nodes, COLUMNS, who, **options)

    @contextmanager
    def working(self) -> Iterator[None]:
        """Reply requests in a thread, as the process of a job does."""
        stop = threading.Event()
        thread = threading.Thread(target=self._work, args=[stop])
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join(60)
            assert not thread.is_alive()

    def _work(self, stop: threading.Event) -> None:
        while not stop.wait(0.05):
            job = self.node.jobs.lease(time.time(), 600)
            if job is not None:
                reply_to_requests(self.node.policy, job)


def member(
    name: str, identity: Identity, folder: Path, north: bytes, coordinator: str
) -> LocalMember:
    """Return another node, in this process."""
    known = {"north": north, "south": SOUTH.public, "west": WEST.public}
    partners = {other: key for other, key in known.items() if other != name}
    domain = read_bounds(BOUNDS, COLUMNS, len(COLUMNS)).domain
    policy = MemberPolicy(name, partners, (coordinator,), COLUMNS, domain, Unit(), 2, 1, 4.0, 100.0)
    ledger = Ledger.in_memory()
    ledger.add("rows", 20.0, 1e-6)
    membership = Membership(policy, identity, ledger, "rows", FitStore(None))
    return LocalMember(membership, str(folder / "credit.parquet"))


def write_north(folder: Path, policy: str = POLICY) -> Path:
    """Write all files of the node, and return the path of its policy."""
    file = write_node(folder, policy)
    (folder / "credit.toml").write_text(NUMBERS)
    (folder / "elsewhere").mkdir()
    write_rows(folder / "credit.parquet", 1)
    Ledger.create(str(folder / "ledger.db"), "credit", epsilon=10.0, delta=1e-6)
    set_up(read_policy(file))
    return file


@contextmanager
def north_of(folder: Path, policy: str = POLICY) -> Iterator[North]:
    """Serve the node."""
    node = checked_node(write_north(folder, policy))
    with serving(make_app(node)) as server:
        yield North(node, server, folder)
