"""Three nodes of three owners on this machine, each with its own rows, and who coordinates."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from helpers.node_deployment import Deployment, deployed, token_of, until

from privclust.cohorts.federation import NodeFederation
from privclust.cohorts.identity import Identity
from privclust.remote.node import RemoteNode

NAMES = ("north", "south", "west")
COLUMNS = ("age", "amount")
BOUNDS = {"age": (0, 120), "amount": (0, 1e6)}
TABLE = """\
[tables.credit]
files = ["credit.parquet"]
dataset = "credit"
bounds = "bounds.toml"
seconds = 600
"""
ALLOWED = "tables = []\nepsilon = {epsilon}\nwork_per_day = 1e6\nmax_queued = 60"
FEDERATION = """\
[federations.loans]
table = "credit"
member = "{member}"
identity = "identity.key"
secrets = "secrets"
coordinators = ["ada", "bob"]
minimum = {minimum}
epsilon = {epsilon}
epsilon_alone = 1000.0
[federations.loans.partners]
{partners}
"""


@dataclass
class Three:
    """The nodes, by name."""

    nodes: Mapping[str, Deployment]
    identities: Mapping[str, Identity]

    def start(self, noise: str = "") -> None:
        """Start all their processes."""
        for node in self.nodes.values():
            node.start_web()
            node.start_worker(noise=noise)

    def remote(
        self, name: str, who: str = "ada", kind: type[RemoteNode] = RemoteNode, **other: Any
    ) -> RemoteNode:
        """Return a node as somebody sees it who coordinates."""
        node = self.nodes[name]
        given = {
            "name": name,
            "identity": self.identities[name].public.hex(),
            "token": token_of(who, exp=int(time.time()) + 7200),
            "ca_file": str(node.folder / "ca.pem"),
        }
        return kind(self.address(name), **{**given, **other})

    def address(self, name: str) -> str:
        return self.nodes[name].url("credit").replace("tables/credit", "federations/loans")

    def federation(self, who: str = "ada", **options: Any) -> NodeFederation:
        """Return all of them as one table."""
        nodes = tuple(self.remote(name, who) for name in NAMES)
        return NodeFederation(nodes, COLUMNS, who, **{"seconds": 240.0, **options})

    def hold(self, name: str, place: str) -> None:
        """Let a node's jobs stop at a place."""
        folder = self.nodes[name].folder
        (folder / "held").unlink(missing_ok=True)
        made = folder / "hold.new"
        made.write_text(place)
        made.replace(folder / "hold")

    def kill_held(self, name: str) -> None:
        """Wait until a job has stopped there, kill it, and let the next one pass."""
        folder = self.nodes[name].folder
        until((folder / "held").exists, self.describe)
        pid = int((folder / "held").read_text())
        (folder / "hold").unlink()
        os.kill(pid, signal.SIGKILL)

    def describe(self) -> str:
        return "\n".join(node.describe() for node in self.nodes.values())


def write_rows(file: Path, seed: int, n_rows: int = 2000) -> None:
    kind = np.random.default_rng(seed).integers(0, 2, n_rows)
    pq.write_table(pa.table({"age": 30.0 + 40 * kind, "amount": 1e5 + 6e5 * kind}), file)


@contextmanager
def three_nodes(
    folder: Path,
    ledgers: Mapping[str, str],
    *,
    minimum: int = 3,
    epsilon: float = 2.0,
    total: float = 30.0,
    node: str = "lanes = 8",
) -> Iterator[Three]:
    """Write and serve three nodes; `ledgers` are those that are no file, by name."""
    identities = {name: Identity(bytes([place]) * 32) for place, name in enumerate(NAMES, 1)}
    allowed = ALLOWED.format(epsilon=total)
    with ExitStack() as stack:
        nodes = {}
        for place, name in enumerate(NAMES, 1):
            own = folder / name
            own.mkdir()
            write_rows(own / "credit.parquet", place)
            _write_secrets(own, bytes([place]) * 32)
            partners = "\n".join(
                f'{other} = "{identities[other].public.hex()}"' for other in NAMES if other != name
            )
            further = FEDERATION.format(
                member=name, minimum=minimum, epsilon=epsilon, partners=partners
            )
            nodes[name] = stack.enter_context(
                deployed(
                    own,
                    ledgers.get(name, "ledger.db"),
                    {"ada": allowed, "bob": allowed, "eve": allowed},
                    TABLE,
                    epsilon=total,
                    node=node,
                    further=further,
                )
            )
        yield Three(nodes, identities)


def _write_secrets(folder: Path, key: bytes) -> None:
    file = folder / "identity.key"
    file.touch(mode=0o600)
    file.write_text(key.hex())
    (folder / "secrets").mkdir(mode=0o700)
