"""Three nodes of three owners: nginx, TLS, PostgreSQL and SQLite, and whoever coordinates."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.node_deployment import Deployment
from helpers.node_federation import BOUNDS, COLUMNS, NAMES, Three, three_nodes
from helpers.postgres import execute
from node.deployment.test_crashes import CUT

from privclust import FedDPKMeans, Ledger, PrivateKMeans
from privclust.cohorts.federation import NodeFederation
from privclust.cohorts.identity import Identity
from privclust.cohorts.member import RehearsedNode
from privclust.cohorts.sum_request import SumRequest
from privclust.engines.federated.wire import decode, encode
from privclust.errors import AbsentNodeError, NodeRefusedError
from privclust.privacy.ledger.records import Run
from privclust.remote.node import RemoteNode

SERVER_DATA = np.random.default_rng(0).uniform(0, 1, (40, 2)) * [120, 1e6]
SLOTS = ["lift", "sums 1", "weights"]
"""What FedDPKMeans asks."""


@pytest.fixture(scope="module")
def three(postgres: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Three]:
    folder = tmp_path_factory.mktemp("three")
    ledgers = {"south": postgres.new_database()}
    with three_nodes(folder, ledgers, minimum=2) as found:
        found.start("held")
        yield found


def estimator(**given: Any) -> FedDPKMeans:
    parameters = {"epsilon": 0.5, "delta": 1e-6, "bounds": BOUNDS, "random_state": 0}
    return FedDPKMeans(2, server_data=SERVER_DATA, **{**parameters, **given})


def runs(node: Deployment) -> list[Run]:
    return list(node.ledger.runs("credit"))


class Recording(RemoteNode):
    """A node as it is, and all that was sent to it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.joined = list[bytes]()
        self.requested = list[bytes]()

    def join(self, message: bytes) -> None:
        self.joined.append(message)
        super().join(message)

    def submit(self, message: bytes) -> None:
        self.requested.append(message)
        super().submit(message)


# Fits ---------------------------------------------------------------------------------------------


@pytest.mark.long  # test_whatever_is_killed_is_charged_once fits in the same nodes
def test_private_k_means_of_three_hospitals(three: Three) -> None:
    before = {name: len(runs(node)) for name, node in three.nodes.items()}
    model = PrivateKMeans(2, epsilon=1.0, delta=1e-6, bounds=BOUNDS, random_state=0)
    model.fit(three.federation())
    assert sorted(np.round(model.cluster_centers_[:, 0], -1)) == [30, 70]
    statement = str(model.privacy_statement_)
    assert "epsilon = 1, delta = 1e-06" in statement
    assert "exact sums" not in statement
    slots = sorted(release.slot for release in model.model_.releases)
    for name, node in three.nodes.items():
        assert len(runs(node)) == before[name] + 1
        run = runs(node)[-1]
        assert (run.state, sorted(run.charges)) == ("finished", slots)
        assert node.ledger.verify() == []
        assert not list((node.folder / "secrets").iterdir())


def test_whatever_is_killed_is_charged_once(three: Three, tmp_path: Path) -> None:
    """Jobs die before and after a result is stored, a web process dies, the coordinator stops."""
    place = str(tmp_path / "coordinator.db")
    Ledger.create(place, "loans", epsilon=2.0, delta=1e-6)
    before = {name: len(runs(node)) for name, node in three.nodes.items()}
    north, others = three.remote("north", kind=Recording), map(three.remote, NAMES[1:])
    assert isinstance(north, Recording)
    federation = NodeFederation((north, *others), COLUMNS, "ada", seconds=240.0)
    three.hold("south", "noise")
    three.hold("west", "reply")
    fit = threading.Thread(target=interrupted, args=[federation, place])
    fit.start()
    try:
        three.kill_held("south")
        three.kill_held("west")
        three.nodes["north"].kill("web")
        three.nodes["north"].start_web()
    finally:
        fit.join(240)
    assert not fit.is_alive(), three.describe()
    (run,) = Ledger.open(place).runs("loans")
    assert run.state == "open"
    model = estimator(ledger=place, dataset="loans").fit(federation, resume=run.name)
    assert sorted(np.round(model.cluster_centers_[:, 0], -1)) == [30, 70]
    assert len(set(north.joined)) == 1  # the same terms and the same keys after it was resumed
    assert len(set(north.requested)) == len(SLOTS)
    for name, node in three.nodes.items():
        charged = runs(node)[before[name] :]
        assert [(one.state, sorted(one.charges)) for one in charged] == [("finished", SLOTS)]
        assert node.ledger.verify() == []
    check_old_messages(three, north)


def interrupted(federation: NodeFederation, place: str) -> None:
    """Fit until the second request, and then no further."""
    last = federation.nodes[-1]
    submit, requested = last.submit, list[bytes]()

    def stop(message: bytes) -> None:
        requested.append(message)
        if len(set(requested)) == 2:
            raise InterruptedError
        submit(message)

    last.submit = stop  # type: ignore[method-assign]
    with pytest.raises(InterruptedError):
        estimator(ledger=place, dataset="loans").fit(federation)
    last.submit = submit  # type: ignore[method-assign]


def check_old_messages(three: Three, sent: Recording) -> None:
    """What was sent in a fit that has ended is of no use to anybody."""
    node = three.nodes["north"]
    entries, secret = len(node.ledger.export()), list((node.folder / "secrets").iterdir())
    request = decode(sent.requested[0], SumRequest)
    for who in ("ada", "bob"):
        remote = three.remote("north", who)
        with pytest.raises(NodeRefusedError, match="refuses"):
            remote.join(sent.joined[0])
        with pytest.raises(NodeRefusedError, match="the fit has ended"):
            remote.submit(sent.requested[0])
        with pytest.raises(NodeRefusedError, match="the fit has ended"):
            remote.submit(encode(replace(request, size=request.size + 1)))
        with pytest.raises(AbsentNodeError):
            remote.reply(request.agreement, request.digest)
    assert len(node.ledger.export()) == entries
    assert secret == []


@pytest.mark.long
def test_fit_goes_on_without_a_node_that_is_gone(three: Three) -> None:
    """West replies once, then its machine is gone; the others are requested again, and charged."""
    west = three.nodes["west"]
    federation = three.federation(minimum=2, reserve=0.6)
    reply = federation.nodes[-1].reply

    def once(agreement: bytes, request: bytes) -> bytes | None:
        given = reply(agreement, request)
        if given is not None:
            west.stop_proxy()
            # Those that are left are at work, and need no time to begin.
            object.__setattr__(federation, "seconds", 30.0)
        return given

    federation.nodes[-1].reply = once  # type: ignore[method-assign]
    try:
        model = estimator().fit(federation)
    finally:
        west.start_proxy()
    assert sorted(np.round(model.cluster_centers_[:, 0], -1)) == [30, 70]
    assert [one.responded for one in model.participation_].count(3) == 1
    for name in NAMES[:2]:
        run = runs(three.nodes[name])[-1]
        assert run.state == "finished"
        assert len(run.charges) == len(SLOTS) + 1  # one request was put twice
        assert three.nodes[name].ledger.verify() == []
    assert list(runs(west)[-1].charges) == ["weights"]
    (agreement,) = kept_agreements(west)
    three.remote("west").end(agreement)


def kept_agreements(node: Deployment) -> list[bytes]:
    return [bytes.fromhex(file.stem) for file in (node.folder / "secrets").glob("*.agreement")]


# Refusals -----------------------------------------------------------------------------------------


def test_node_that_lies_about_its_key_is_refused_by_the_others(three: Three) -> None:
    before = {name: len(runs(node)) for name, node in three.nodes.items()}
    liar = RehearsedNode("west", str(three.nodes["west"].folder / "credit.parquet"))
    nodes = (three.remote("north"), three.remote("south"), liar)
    with pytest.raises(NodeRefusedError, match="does not have 'west' with the key"):
        estimator().fit(NodeFederation(nodes, COLUMNS, "ada"))
    pinned = three.remote("west", identity=Identity.generate().public.hex())
    with pytest.raises(NodeRefusedError, match="with the key"):
        estimator().fit(replace(three.federation(), nodes=(*nodes[:2], pinned)))
    assert {name: len(runs(node)) for name, node in three.nodes.items()} == before


def test_outsiders_coordinate_nothing(three: Three) -> None:
    with pytest.raises(NodeRefusedError, match="nothing of that name for you"):
        estimator().fit(three.federation("eve"))
    nodes = tuple(three.remote(name, "bob") for name in NAMES)
    with pytest.raises(NodeRefusedError, match="another coordinator than the one who sends"):
        estimator().fit(NodeFederation(nodes, COLUMNS, "ada"))


# Long ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_kills_over_a_hundred_fits(
    postgres: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database = postgres.new_database()
    with three_nodes(tmp_path, {"south": database}, minimum=2, total=60.0) as three:
        three.start()
        crashes = Crashes(three, database, random.Random(7))
        federation = three.federation(seconds=600.0)
        begun = time.monotonic()
        for number in range(100):
            with crashes.going_on():
                model = estimator(epsilon=0.2, random_state=number).fit(federation)
            assert len(model.cluster_centers_) == 2
        for name, node in three.nodes.items():
            for agreement in kept_agreements(node):  # a node that was down did not hear of the end
                three.remote(name).end(agreement)
            found = runs(node)
            assert len(found) == 100, node.describe()
            assert {(one.state, tuple(sorted(one.charges))) for one in found} == {
                ("finished", tuple(SLOTS))
            }
            assert node.ledger.verify() == []
            assert not list((node.folder / "secrets").iterdir())
        with capsys.disabled():
            took = time.monotonic() - begun
            sys.stdout.write(f"\n100 fits in {took:.0f} s with kills of {crashes.counts}\n")
        assert min(crashes.counts.values()) >= 10


class Crashes:
    """Kills a part of some node at a moment that a seed decides, while a fit runs."""

    def __init__(self, three: Three, database: str, rng: random.Random) -> None:
        self._three = three
        self._database = database
        self._rng = rng
        self.counts = {"job": 0, "web": 0, "worker": 0, "database": 0}

    def going_on(self) -> Any:
        """Return a context in which one thing is killed, if the fit takes so long."""
        return _Background(self._next)

    def _next(self, stop: threading.Event) -> None:
        part = min(self.counts, key=lambda name: self.counts[name])
        node, pause = self._three.nodes[self._rng.choice(NAMES)], self._rng.uniform(0.0, 5.0)
        while not stop.wait(pause):
            pause = 0.1
            if part == "database":
                execute(self._database, CUT)
            elif part == "web":
                node.kill("web")
                node.start_web()
            elif part == "worker":
                node.kill("worker")
                node.start_worker()
            elif not killed_job(node):
                continue
            self.counts[part] += 1
            return


def killed_job(node: Deployment) -> bool:
    """Kill the processes that reply, if there are any: all of a worker's but its fork server."""
    worker = node.processes["worker"].pid
    jobs = Path(f"/proc/{worker}/task/{worker}/children").read_text(encoding="utf-8").split()[1:]
    for pid in jobs:
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    return bool(jobs)


class _Background:
    def __init__(self, work: Any) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=work, args=[self._stop])

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
