"""All that a coordinator and a colluding node see of fits with real nodes, and attacks on it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import cohort_view
from helpers.cohort_view import ATTACKERS, View, log_ratios
from helpers.node_federation import BOUNDS, COLUMNS, NAMES, Three, three_nodes

from privclust import FedDPKMeans
from privclust.audit.epsilon_bound import Scores, refuted
from privclust.cohorts.federation import NodeFederation
from privclust.cohorts.sum_request import Reply, SumRequest
from privclust.domains.bounds import read_bounds
from privclust.engines.federated.wire import decode
from privclust.kernels.grid import FloatArray, IntArray
from privclust.remote.node import RemoteNode

FITS = 10
"""On either side."""
EPSILON, DELTA = 2.0, 1e-6
CROWD, CANARY = np.full((7, 2), [30.0, 1e5]), np.array([[120.0, 1e6]])
SERVER_DATA = np.array([[30.0, 1e5], [90.0, 9e5], [60.0, 5e5], [10.0, 1e4]])
HONEST, OTHERS = NAMES[0], NAMES[1:]
Ratios = Mapping[tuple[str, str], float]
"""Log likelihood ratios by who colludes and how they attack."""


class Overheard(RemoteNode):
    """A node as it is, of whose messages the coordinator keeps all."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.requested: dict[bytes, SumRequest] = {}
        self.replied: dict[bytes, IntArray] = {}

    def submit(self, message: bytes) -> None:
        request = decode(message, SumRequest)
        self.requested[request.digest] = request
        super().submit(message)

    def reply(self, agreement: bytes, request: bytes) -> bytes | None:
        given = super().reply(agreement, request)
        if given is not None:
            self.replied[request] = decode(given, Reply).integers()
        return given


@dataclass(frozen=True, eq=False)
class Seen:
    """One node in one fit: its rows and noise, which only it knows, and what it sent."""

    rows: FloatArray
    requests: list[SumRequest]
    replies: list[IntArray]
    noise: SimpleNamespace


@pytest.mark.long
def test_views_refute_no_statement_and_find_noise_that_is_too_small(
    postgres: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whoever of the others colludes, and with the same attack that finds a planted bug."""
    domain = read_bounds(BOUNDS, COLUMNS, len(COLUMNS)).domain
    monkeypatch.setattr(cohort_view, "DOMAIN", domain)
    monkeypatch.setattr(cohort_view, "CANARY", CANARY)
    begun = time.monotonic()
    with three_nodes(tmp_path, {"south": postgres.new_database()}) as three:
        for name in OTHERS:
            write_rows(three, name, CROWD)
        three.start("told")
        honest = attacked(three)
        for node in three.nodes.values():
            (node.folder / "quiet").touch()
        planted = attacked(three)
    with capsys.disabled():
        took = time.monotonic() - begun
        sys.stdout.write(f"\n{4 * FITS} fits in {took:.0f} s\n")
        for name, bounds in (("honest", honest), ("planted", planted)):
            listed = ", ".join(f"{' '.join(who)} {bound:.2f}" for who, bound in bounds.items())
            sys.stdout.write(f"{name}: refutes epsilons below {listed}\n")
    assert max(honest.values()) <= EPSILON
    assert min(bound for (_, how), bound in planted.items() if how == "sums") > EPSILON


def attacked(three: Three) -> dict[tuple[str, str], float]:
    """Return which epsilons are refuted by fits with and without the canary."""
    absent, present = list[Ratios](), list[Ratios]()
    for seed in range(FITS):  # in turn, so that nothing but the row tells the two apart
        absent.append(watched(three, CROWD, seed))
        present.append(watched(three, np.vstack([CROWD, CANARY]), seed))
    return {
        who: refuted(
            judged_at_zero(*([one[who] for one in side] for side in (absent, present))), DELTA
        ).epsilon_at(DELTA)
        for who in absent[0]
    }


def judged_at_zero(absent: list[float], present: list[float]) -> Scores:
    """Return scores of which all are judged, by a threshold that nothing has to be learnt for.

    Half of the scores, from which a threshold would be learnt, are made up: 0 divides them.
    """
    made_up = (np.zeros(FITS), np.ones(FITS))
    sides = zip(made_up, (absent, present), strict=True)
    return Scores(*(np.ravel(np.column_stack(side)) for side in sides))


def watched(three: Three, rows: FloatArray, seed: int) -> Ratios:
    """Fit, and return what each attacker makes of all that it sees."""
    write_rows(three, HONEST, rows)
    nodes = {name: three.remote(name, kind=Overheard) for name in NAMES}
    before = {name: len(drawn(three, name)) for name in NAMES}
    federation = NodeFederation(tuple(nodes.values()), COLUMNS, "ada", seconds=240.0)
    given: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "bounds": BOUNDS}
    model = FedDPKMeans(2, server_data=SERVER_DATA, random_state=seed, **given).fit(federation)
    assert model.privacy_statement_.epsilon == pytest.approx(EPSILON, rel=1e-3)
    seen = {
        name: seen_of(node, rows if name == HONEST else CROWD, drawn(three, name)[before[name] :])
        for name, node in nodes.items()
    }
    found = dict[tuple[str, str], float]()
    for colluder in OTHERS:
        honest: list[Any] = [seen[name] for name in NAMES if name != colluder]
        known: list[Any] = [seen[colluder]]
        ratios = log_ratios(View(honest, known))
        found |= {(colluder, attacker): ratios[attacker] for attacker in ATTACKERS}
    return found


def seen_of(node: RemoteNode, rows: FloatArray, noise: list[IntArray]) -> Seen:
    assert isinstance(node, Overheard)
    replies = [node.replied[digest] for digest in node.requested]
    assert len(replies) == len(noise) == len(FED_DP)
    return Seen(rows, [*node.requested.values()], replies, SimpleNamespace(drawn=noise))


FED_DP = ("lift", "sums 1", "weights")
"""What FedDPKMeans requests."""


def drawn(three: Three, name: str) -> list[IntArray]:
    file = three.nodes[name].folder / "drawn"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [np.array(json.loads(line), dtype=np.int64) for line in lines]


def write_rows(three: Three, name: str, rows: FloatArray) -> None:
    """Put rows into a node's file, which the process of the next fit opens."""
    file = three.nodes[name].folder / "credit.parquet"
    made = file.with_suffix(".new")
    pq.write_table(pa.table(dict(zip(COLUMNS, rows.T, strict=True))), made)
    made.replace(file)
