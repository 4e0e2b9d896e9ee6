"""Nodes that trust nobody against a trusted server: noise, losses, CPU, bytes, and what is seen.

At the same guarantee: a `NodeFederation` of 3, 10 and 50 nodes of whom one may collude, and a
`Federation` whose server adds the noise. A round is one request to all nodes of a cohort. What its
coordinator and colluders see is attacked in `cohort_views`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import cohort_views
from benchmarks.data import dataset, loss
from benchmarks.digest import Definition, code_digest, definitions_of
from benchmarks.pieces import Piece, load, run
from privclust import Federation, PrivateKMeans
from privclust.cohorts import member
from privclust.cohorts.federation import NodeFederation
from privclust.domains.ball import Ball
from privclust.engines.federated.client import response_size
from privclust.kernels.grid import UNIT, FloatArray, IntArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.measurement import sigma_of
from privclust.privacy.noise import OpenDPNoise
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import ROW, ClusterSums, ColumnHistograms

TABLES = ("adult", "scale_16_16")
NODES, COLLUDING = (3, 10, 50), 1
SEEDS, ROUNDS = 10, 5
EPSILON, DELTA = 1.0, 1e-6
TRUSTED = "loss, trusted server"
ROUND_NODES, ROUND_SIDE, ROUND_ROWS = 10, 64, 20_000
"""Of a round whose CPU is measured: nodes, clusters and columns, rows of each node."""
CPU_TARGET, BYTES_TARGET = 0.10, 1.2
PARTS = ("shares", "masks", "sums")


@dataclass(frozen=True)
class Measured:
    """A figure, the CPU seconds behind it and those of parts, and the digest of the code."""

    value: float
    cpu_seconds: float
    code: str
    shares: float = 0.0
    masks: float = 0.0
    sums: float = 0.0


def pieces() -> list[Piece]:
    """Return rounds and noise, then fits."""
    rounds = [Piece("round", "made up", EPSILON, seed) for seed in range(ROUNDS)]
    noise = [Piece(f"noise, {n} nodes", "made up", EPSILON, 0) for n in NODES]
    fits = [
        Piece(method, name, EPSILON, seed)
        for seed in range(SEEDS)
        for name in TABLES
        for method in (TRUSTED, *(f"loss, {n} nodes" for n in NODES))
    ]
    return [*rounds, *noise, *fits]


def measure(piece: Piece) -> Measured:
    """Measure one piece."""
    kind, _, whose = piece.method.partition(", ")
    n_nodes = 0 if piece.method == TRUSTED else int((whose or "0").split()[0])
    code = code_of(piece.method)
    start = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        if kind == "round":
            return one_round(piece.seed, code)
        if kind == "noise":
            value = noise_ratio(n_nodes)
        else:
            value = fitted_loss(piece.dataset, n_nodes, piece.seed)
    return Measured(value, time.process_time() - start, code)


def code_of(method: str) -> str:
    """Return the digest of the code that a figure depends on."""
    around: tuple[Definition, ...] = definitions_of("privclust.privacy.noise_shares")
    if method != TRUSTED:
        for module in ("cohorts.masks", "cohorts.member", "privacy.node_curator"):
            around += definitions_of(f"privclust.{module}")
    algorithms = ("private_kmeans", "_locate", "_split", "_merge", "_refine")
    return code_digest(*(algorithms if method.startswith("loss") else ()), more=around)


def fitted_loss(name: str, n_nodes: int, seed: int) -> float:
    """Fit rows that are dealt out to nodes, or to three clients of a trusted server."""
    data = dataset(name)
    parts = np.array_split(np.random.default_rng(seed).permutation(data.rows), n_nodes or 3)
    tables = {f"node {place:02}": rows for place, rows in enumerate(parts)}
    held: Any = NodeFederation.in_process(tables, colluding=COLLUDING) if n_nodes else None
    bounds = (-data.half_width, data.half_width)
    model = PrivateKMeans(
        data.n_clusters, epsilon=EPSILON, delta=DELTA, bounds=bounds, random_state=seed
    )
    model.fit(held or Federation.in_process(tables))
    return loss(data.rows, model.cluster_centers_)


def noise_ratio(n_nodes: int, bins: int = 2**13) -> float:
    """Return the noise of a sum over that which a trusted server would add, both measured."""
    query, domain = ColumnHistograms(np.ones(3), bins), Ball([0.0] * 3, 1.0)
    tables = {f"node {place:02}": np.zeros((0, 3)) for place in range(n_nodes)}
    engine = NodeFederation.in_process(tables, colluding=COLLUDING).open_engine(None, domain, ROW)
    plan = make_plan(Budget(EPSILON, DELTA), [Slot("bins", 1.0, query.sensitivity.l0)])
    found = Curator.open(engine, plan).measure("bins", query)
    owed = sigma_of(query.sensitivity, found.charge.quanta)
    alone = OpenDPNoise().gaussian(np.zeros(query.size, dtype=np.int64), owed)
    return float((found.values * UNIT).std() / alone.std())


# A round ------------------------------------------------------------------------------------------


def one_round(seed: int, code: str) -> Measured:
    """Measure cluster sums at ten nodes, and how much of the CPU noise and masks take."""
    query, nodes = _round_query(), _round_nodes(seed)
    domain = Ball([0.0] * ROUND_SIDE, 1.0)
    engine = NodeFederation.in_process(nodes, colluding=COLLUDING).open_engine(None, domain, ROW)
    slots = [Slot(name, 0.5, query.sensitivity.l0) for name in ("first", "second")]
    curator = Curator.open(engine, make_plan(Budget(EPSILON, DELTA), slots))
    curator.measure("first", query)  # which loads and compiles what is needed
    spent = dict.fromkeys(PARTS, 0.0)
    with (
        _clocked(OpenDPNoise, "gaussian", spent, "shares"),
        _clocked(member, "masked", spent, "masks"),
        _clocked(_engine_kind(nodes, domain), "aggregate", spent, "sums"),
    ):
        start = time.process_time()
        curator.measure("second", query)
        whole = time.process_time() - start
    share = (spent["shares"] + spent["masks"]) / whole
    return Measured(share, whole, code, **spent)


def _round_query() -> ClusterSums:
    points = np.random.default_rng(0).normal(0.0, 0.05, (ROUND_SIDE, ROUND_SIDE))
    return ClusterSums(points, points, 0.5, 0.7)


def _round_nodes(seed: int) -> dict[str, FloatArray]:
    rng = np.random.default_rng(seed)
    return {
        f"node {place:02}": rng.normal(0.0, 0.1, (ROUND_ROWS, ROUND_SIDE))
        for place in range(ROUND_NODES)
    }


def _engine_kind(nodes: dict[str, FloatArray], domain: Ball) -> type:
    from privclust.engines.factory import local_table

    return type(local_table(next(iter(nodes.values()))).open_engine(None, domain, ROW))


@contextmanager
def _clocked(owner: Any, name: str, spent: dict[str, float], part: str) -> Iterator[None]:
    """Add up the CPU seconds of a function."""
    work: Callable[..., Any] = getattr(owner, name)

    def clocked(*args: Any) -> Any:
        start = time.process_time()
        try:
            return work(*args)
        finally:
            spent[part] += time.process_time() - start

    with patch.object(owner, name, clocked):
        yield


def bytes_ratio() -> float:
    """Return the bytes of a reply over those of a client of a trusted server, for the same sums."""
    from privclust.cohorts.sum_request import Reply
    from privclust.engines.federated.wire import encode

    query = _round_query()
    values: IntArray = np.zeros(query.size, dtype=np.int64)
    reply = Reply(bytes(32), "node 00", OpenDPNoise.name, values.tobytes())
    return len(encode(reply)) / response_size(query)


# Reports ------------------------------------------------------------------------------------------


def main(quick: bool) -> None:
    """Measure what is missing; `quick` measures one round and nothing else."""
    if quick:
        _tell_rounds([one_round(0, "")])
        return
    run("cohorts", pieces(), measure, code_of, workers=1, kind=Measured)
    cohort_views.watch_missing()
    report()


def report() -> bool:
    """Print from the results that are kept, and tell whether every target is met."""
    kept = {
        piece: found
        for piece, found in load("cohorts", Measured).items()
        if found.code == code_of(piece.method)
    }
    missing = len(set(pieces()) - set(kept))
    print(f"{missing} of {len(pieces())} measurements are missing\n")
    met = not missing
    if kept:
        _tell_losses(kept)
        met &= _tell_noise(kept)
        met &= _tell_rounds([found for piece, found in kept.items() if piece.method == "round"])
    return cohort_views.report() and met


def _tell_losses(kept: dict[Piece, Measured]) -> None:
    print("| table | nodes | loss over a trusted server's, mean of seeds | its standard error |")
    print("|---|---|---|---|")
    for name in TABLES:
        for n_nodes in NODES:
            pairs = [
                (kept.get(Piece(TRUSTED, name, EPSILON, seed)), kept.get(piece))
                for seed in range(SEEDS)
                for piece in [Piece(f"loss, {n_nodes} nodes", name, EPSILON, seed)]
            ]
            ratios = np.array([two.value / one.value for one, two in pairs if one and two])
            if len(ratios) > 1:
                error = ratios.std(ddof=1) / len(ratios) ** 0.5
                print(f"| {name} | {n_nodes} | {ratios.mean():.3f} | {error:.3f} |")
    print()


def _tell_noise(kept: dict[Piece, Measured]) -> bool:
    met = True
    for n_nodes in NODES:
        found = kept.get(Piece(f"noise, {n_nodes} nodes", "made up", EPSILON, 0))
        if found:
            owed = (n_nodes / (n_nodes - COLLUDING)) ** 0.5
            # Two standard deviations of 24,576 numbers each: five of their errors.
            close = abs(found.value / owed - 1) < 5 / (3 * 2**13) ** 0.5
            met &= close
            verdict = "PASS" if close else "NOT MET"
            print(f"cohorts noise {n_nodes} nodes {found.value:.4f} {owed:.4f} {verdict}")
    return met


def _tell_rounds(rounds: Iterable[Measured]) -> bool:
    rounds = list(rounds)
    share = float(np.median([one.value for one in rounds])) if rounds else float("nan")
    for part in PARTS if rounds else ():
        seconds = float(np.median([getattr(one, part) for one in rounds]))
        print(f"{part}: {1000 * seconds:.0f} ms of CPU in a round")
    whole = float(np.median([one.cpu_seconds for one in rounds]))
    print(f"a round: {1000 * whole:.0f} ms of CPU at all nodes and the coordinator")
    size = bytes_ratio()
    for name, value, target in (("cpu", share, CPU_TARGET), ("bytes", size, BYTES_TARGET)):
        print(f"cohorts {name} {value:.3f} {target} {'PASS' if value <= target else 'NOT MET'}")
    return share <= CPU_TARGET and size <= BYTES_TARGET
