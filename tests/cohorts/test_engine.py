"""The coordinator: whose replies it adds up, and what it does when one is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.cohort_parts import (
    BUDGET,
    DOMAIN,
    LABEL,
    NAMES,
    members_of,
    tables_of,
)
from helpers.query_examples import COLUMNS, VOTES

from privclust.cohorts.engine import CohortEngine
from privclust.cohorts.federation import NodeFederation
from privclust.cohorts.member import LocalMember
from privclust.cohorts.sum_request import Reply
from privclust.cohorts.terms import Offer
from privclust.engines.federated.wire import decode, encode
from privclust.engines.memory import NumpyEngine
from privclust.engines.noisy import FitTerms
from privclust.errors import AbsentNodeError, FailedNodeError, NodeRefusedError
from privclust.kernels.grid import UNIT
from privclust.privacy.accounting import QUANTA
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import Run
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import ROW, Count
from privclust.remote.error import RemoteError
from privclust.testing import NoNoise, noise_from

PLAN = make_plan(BUDGET, [Slot("votes", 0.5), Slot("count", 0.5)])


class Flaky:
    """A node in front of another, which may be gone for a while or say something else."""

    def __init__(self, node: LocalMember) -> None:
        self.node = node
        self.name, self.identity = node.name, node.identity
        self.gone_from = 10**9
        self.requested = 0
        self.said: Callable[[bytes], bytes | None] = lambda given: given
        self.offered: Callable[[bytes], bytes] = lambda given: given
        self.ended = 0
        self.refuses_to_join: Exception | None = None
        self.says_at_end: Exception | None = None

    def offer(self, message: bytes) -> bytes:
        return self.offered(self.node.offer(message))

    def join(self, message: bytes) -> None:
        if self.refuses_to_join is not None:
            raise self.refuses_to_join
        self.node.join(message)

    def submit(self, message: bytes) -> None:
        self.requested += 1
        if self.requested >= self.gone_from:
            raise AbsentNodeError(f"{self.name} does not respond.")
        self.node.submit(message)

    def reply(self, agreement: bytes, request: bytes) -> bytes | None:
        given = self.node.reply(agreement, request)
        return None if given is None else self.said(given)

    def end(self, agreement: bytes) -> None:
        self.ended += 1
        if self.says_at_end is not None:
            raise self.says_at_end
        if self.requested >= self.gone_from:
            raise AbsentNodeError(f"{self.name} does not respond.")
        self.node.end(agreement)


def nodes_of(names: Iterable[str] = NAMES, **changed: Any) -> dict[str, Flaky]:
    members = members_of(tables_of(names), **changed)
    return {name: Flaky(member) for name, member in members.items()}


def engine_of(nodes: dict[str, Flaky], **changed: Any) -> CohortEngine:
    given: dict[str, Any] = {"minimum": 2, "seconds": 0.3, **changed}
    federation = NodeFederation(tuple(nodes.values()), COLUMNS, "ada", **given)
    return federation.open_engine(None, DOMAIN, ROW)


def runs_of(node: Flaky) -> Sequence[Run]:
    return node.node._membership.ledger.runs(LABEL)


def spent(node: Flaky) -> list[str]:
    (run,) = runs_of(node)
    return list(run.charges)


def opened(engine: CohortEngine, ledger: Ledger | None = None, **more: Any) -> Curator:
    return Curator.open(engine, PLAN, ledger, **more)


def exact(*names: str) -> list[float]:
    tables = tables_of()
    parts = [NumpyEngine(tables[name], DOMAIN).aggregate(VOTES) for name in names]
    return [sum(column) / UNIT for column in zip(*parts, strict=True)]


def test_release_is_the_sum_and_says_how_much_noise_it_has() -> None:
    nodes = nodes_of()
    with noise_from(NoNoise()):
        curator = opened(engine_of(nodes))
        release = curator.measure("votes", VOTES)
    assert release.values.tolist() == exact(*NAMES)
    trusted = np.sqrt(VOTES.sensitivity.l2_squared * QUANTA / release.charge.quanta)
    assert release.scale == pytest.approx(trusted * np.sqrt(3 / 2), rel=1e-12)
    assert release.noise == "none"
    assert all(spent(node) == ["votes"] for node in nodes.values())


@pytest.mark.attack
@pytest.mark.parametrize(
    "changed",
    [
        {"values": bytes(8 * VOTES.size - 8)},
        {"values": bytes(8 * VOTES.size + 8)},
        {"values": b""},
        {"name": "north"},
        {"request": bytes(32)},
        {"noise": "a\nb"},
        {"noise": "a" * 10**6},
    ],
)
def test_something_else_than_a_reply_is_refused(changed: dict[str, Any]) -> None:
    nodes = nodes_of()
    nodes["south"].said = lambda given: encode(replace(decode(given, Reply), **changed))
    curator = opened(engine_of(nodes))
    with pytest.raises(NodeRefusedError, match="south gave something else"):
        curator.measure("votes", VOTES)
    assert curator.releases == ()


@pytest.mark.parametrize("given", [b"", b"\xff" * 50, encode(b"reply")])
def test_other_bytes_for_a_reply_are_refused(given: bytes) -> None:
    nodes = nodes_of()
    nodes["south"].said = lambda _: given
    with pytest.raises(NodeRefusedError, match="south gave something else"):
        opened(engine_of(nodes)).measure("votes", VOTES)


def test_reply_to_an_older_request_is_refused() -> None:
    nodes, seen = nodes_of(), list[bytes]()
    curator = opened(engine_of(nodes))

    def first(given: bytes) -> bytes:
        seen.append(given)
        return seen[0]

    nodes["south"].said = first
    curator.measure("votes", VOTES)
    with pytest.raises(NodeRefusedError, match="south gave something else"):
        curator.measure("count", Count())


def test_nodes_that_do_not_agree_are_named() -> None:
    nodes = nodes_of()
    nodes["south"].offered = lambda given: encode(replace(decode(given, Offer), key=bytes(32)))
    with pytest.raises(NodeRefusedError, match="the nodes do not agree"):
        opened(engine_of(nodes))
    nodes["south"].offered = lambda _: b"nothing"
    with pytest.raises(NodeRefusedError, match="south made no offer that can be read"):
        opened(engine_of(nodes))


def test_node_that_lies_about_its_key_is_refused() -> None:
    nodes = nodes_of()
    nodes["south"].identity = nodes["north"].identity[::-1]
    with pytest.raises(NodeRefusedError, match="policy does not have 'south' with the key"):
        opened(engine_of(nodes))


# Nodes that are gone ------------------------------------------------------------------------------


def test_node_that_comes_back_in_time_is_sent_the_request_again() -> None:
    nodes = nodes_of()
    north = nodes["north"]
    submit = north.submit

    def late(message: bytes) -> None:
        north.gone_from = 2 if north.requested == 0 else 10**9
        north.requested += 1
        if north.requested < 3:
            raise AbsentNodeError("north does not respond.")
        submit(message)

    north.submit = late  # type: ignore[method-assign]
    with noise_from(NoNoise()):
        found = opened(engine_of(nodes, seconds=20.0)).measure("votes", VOTES)
    assert found.values.tolist() == exact(*NAMES)
    assert all(spent(node) == ["votes"] for node in nodes.values())


@pytest.mark.attack
def test_smaller_cohort_measures_again_and_is_charged_again() -> None:
    """At each node that replied, and at the coordinator."""
    nodes = nodes_of()
    nodes["north"].gone_from = 1
    ledger = Ledger.in_memory()
    ledger.add("all", BUDGET.epsilon, BUDGET.delta)
    engine = engine_of(nodes, reserve=0.5)
    with noise_from(NoNoise()):
        curator = opened(engine, ledger, label="all")
        release = curator.measure("votes", VOTES)
    assert release.values.tolist() == exact("east", "south")
    one = curator.plan.price(curator.plan.slot("votes"))
    assert release.scale == pytest.approx(
        np.sqrt(VOTES.sensitivity.l2_squared * QUANTA / one.quanta) * np.sqrt(2)
    )
    for name in ("east", "south"):
        assert spent(nodes[name]) == ["votes", "votes, attempt 2"]
    assert spent(nodes["north"]) == []
    (run,) = ledger.runs("all")
    assert run.spent.quanta == 2 * one.quanta
    assert [(p.responded, p.invited) for p in engine.participation] == [(2, 3)]
    assert (engine.cohort.left, engine.cohort.repeated) == (("north",), 1)
    # The next is requested of those who are left, at once; half of the reserve is gone, not all.
    with noise_from(NoNoise()):
        curator.measure("count", Count())
    assert spent(nodes["east"]) == ["votes", "votes, attempt 2", "count"]


@pytest.mark.attack
def test_nothing_is_measured_again_beyond_the_reserve() -> None:
    nodes = nodes_of()
    nodes["north"].gone_from = 1
    curator = opened(engine_of(nodes))
    with pytest.raises(AbsentNodeError, match="too little is set aside to measure again"):
        curator.measure("votes", VOTES)
    assert spent(nodes["east"]) == ["votes"]
    assert curator.releases == ()


@pytest.mark.attack
def test_fit_ends_with_fewer_nodes_than_the_minimum() -> None:
    nodes = nodes_of()
    nodes["north"].gone_from = nodes["east"].gone_from = 1
    curator = opened(engine_of(nodes, reserve=0.5))
    with pytest.raises(AbsentNodeError, match=r"east, north gave no reply in 0\.3 seconds"):
        curator.measure("votes", VOTES)


@pytest.mark.parametrize("error", [AbsentNodeError, NodeRefusedError])
def test_fit_that_not_all_join_sets_nothing_aside(error: type[Exception]) -> None:
    nodes = nodes_of()
    nodes["south"].refuses_to_join = error("south is not there.")
    with pytest.raises(error):
        opened(engine_of(nodes))
    assert not any(run.open for name in NAMES for run in runs_of(nodes[name]))
    assert any(runs_of(nodes[name]) for name in NAMES)  # one that joined before


@pytest.mark.attack
def test_node_refuses_attempts_that_its_reservation_does_not_cover() -> None:
    """A coordinator without a reserve, which asks again all the same."""
    nodes = nodes_of()
    engine = engine_of(nodes)
    opened(engine)
    quanta = PLAN.price(PLAN.slot("votes")).quanta
    for attempt in (1, 2):
        assert engine.measure("votes", attempt, VOTES, quanta, 1) is not None
    with pytest.raises(NodeRefusedError, match="too little set aside"):
        engine.measure("votes", 3, VOTES, quanta, 1)


# Resuming -----------------------------------------------------------------------------------------


def test_fit_goes_on_by_each_ledger() -> None:
    """The coordinator's process ends in mid-fit: what nodes replied comes again."""
    nodes, ledger = nodes_of(), Ledger.in_memory()
    ledger.add("all", BUDGET.epsilon, BUDGET.delta)
    curator = opened(engine_of(nodes, minimum=3), ledger, label="all")
    votes = curator.measure("votes", VOTES)
    nodes["north"].gone_from = 1
    with pytest.raises(AbsentNodeError):
        curator.measure("count", Count())
    kept = nodes["east"].node._membership.ledger.head()
    nodes["north"].gone_from = 10**9
    resumed = opened(engine_of(nodes, minimum=3), ledger, label="all", resume=curator.run)
    assert resumed.measure("votes", VOTES).values.tolist() == votes.values.tolist()
    assert nodes["east"].node._membership.ledger.head() == kept
    resumed.measure("count", Count())
    assert nodes["east"].node._membership.ledger.head() == kept  # it had replied before
    assert spent(nodes["north"]) == ["votes", "count"]
    assert all(len(node.node._membership.ledger.runs(LABEL)) == 1 for node in nodes.values())


@pytest.mark.parametrize("error", [AbsentNodeError, NodeRefusedError])
def test_fit_that_cannot_go_on_now_can_go_on_later(error: type[Exception]) -> None:
    """A node that a resumed fit finds gone, or that refuses for today, ends nothing."""
    nodes, ledger = nodes_of(), Ledger.in_memory()
    ledger.add("all", BUDGET.epsilon, BUDGET.delta)
    curator = opened(engine_of(nodes), ledger, label="all")
    votes = curator.measure("votes", VOTES)
    nodes["south"].refuses_to_join = error("not today.")
    with pytest.raises(error):
        opened(engine_of(nodes), ledger, label="all", resume=curator.run)
    nodes["south"].refuses_to_join = None
    resumed = opened(engine_of(nodes), ledger, label="all", resume=curator.run)
    assert resumed.measure("votes", VOTES).values.tolist() == votes.values.tolist()
    resumed.measure("count", Count())
    assert all(spent(nodes[name]) == ["votes", "count"] for name in NAMES)


def test_end_deletes_secrets_and_closes_runs_where_nodes_respond() -> None:
    nodes = nodes_of()
    engine = engine_of(nodes)
    engine.close()  # nothing was begun
    assert nodes["east"].ended == 0
    engine.begin(_terms())
    nodes["north"].gone_from = 0
    engine.close()
    for name in ("east", "south"):
        membership = nodes[name].node._membership
        assert membership.store._memory == {}
        assert not membership.ledger.runs(LABEL)[0].open
    assert nodes["north"].ended == 1


@pytest.mark.attack
@pytest.mark.parametrize(
    "error",
    [NodeRefusedError("no."), FailedNodeError("east"), RemoteError("17 MB", ""), ValueError("x")],
)
def test_node_cannot_take_a_model_away_at_the_end(error: Exception) -> None:
    """All have paid for it by then, whatever one of them replies."""
    nodes = nodes_of()
    engine = engine_of(nodes)
    engine.begin(_terms())
    nodes["east"].says_at_end = error
    engine.close()
    for name in ("north", "south"):
        assert not runs_of(nodes[name])[0].open


def _terms() -> FitTerms:
    most = PLAN.reserve
    return FitTerms("f" * 16, {}, BUDGET.epsilon, BUDGET.delta, most.quanta, most.slack, most.tail)
