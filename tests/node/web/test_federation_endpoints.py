"""A node's endpoints for coordinators: what they take, refuse and log, and that it is paid once."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.federation_member import POLICY, SOUTH, WEST, North, member, north_of
from helpers.node_federation import BOUNDS
from helpers.node_policy import INSTITUTE, ada, bob

from privclust import FedDPKMeans, Ledger
from privclust.cohorts.engine import CohortEngine, Node
from privclust.cohorts.identity import Identity
from privclust.cohorts.sum_request import SLOT_MAX, Reply, SumRequest
from privclust.cohorts.terms import Agreement, Offer, Terms
from privclust.engines.federated.wire import decode, encode
from privclust.engines.noisy import FitTerms
from privclust.errors import AbsentNodeError, EngineError, FailedNodeError, NodeRefusedError
from privclust.node.federations import hosted, sum_requests
from privclust.node.federations.responding import reply_to_requests
from privclust.node.web import _federation_endpoints
from privclust.node.web._federation_endpoints import AGREEMENT_BYTES_MAX, REQUEST_BYTES_MAX
from privclust.privacy.accounting import Budget
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import ColumnHistograms, NearestVotes
from privclust.queries.unit import Unit
from privclust.remote.node import RemoteNode

SERVER_DATA = np.random.default_rng(0).uniform(0, 1, (40, 2)) * [120, 1e6]
OTHERS = {"south": SOUTH, "west": WEST}
VOTES = NearestVotes(np.array([[0.5, 0.0], [-0.5, 0.0]]))


@pytest.fixture
def north(tmp_path: Path) -> Iterator[North]:
    with north_of(tmp_path) as found:
        yield found


def estimator(**given: Any) -> FedDPKMeans:
    parameters = {"epsilon": 0.5, "delta": 1e-6, "bounds": BOUNDS, "random_state": 0}
    return FedDPKMeans(2, server_data=SERVER_DATA, **{**parameters, **given})


@dataclass
class Begun:
    """A fit that all three have agreed to, and what is sent in it."""

    north: North
    who: str = "a1"
    epsilon: float = 0.5
    terms: Terms = field(init=False)
    agreement: Agreement = field(init=False)

    def __post_init__(self) -> None:
        federation = self.north.federation(self.who)
        engine = federation.open_engine(None, domain_of(self.north), Unit())
        assert isinstance(engine, CohortEngine)
        most = make_plan(Budget(self.epsilon, 1e-6), [Slot("all", 1.0)]).reserve
        fit = FitTerms("f" * 16, {}, self.epsilon, 1e-6, most.quanta, most.slack, most.tail)
        self.terms = engine._terms(fit)
        offers = [decode(one.offer(encode(self.terms)), Offer) for one in federation.nodes]
        self.agreement = Agreement(self.terms, tuple(offers))

    @property
    def remote(self) -> RemoteNode:
        token = ada(time.time()) if self.who == "a1" else bob(time.time())
        return self.north.remote(token)

    def request(self, slot: str = "votes", **changes: Any) -> SumRequest:
        requested = SumRequest(
            agreement=self.agreement.digest,
            slot=slot,
            attempt=1,
            cohort=("north", "south", "west"),
            quanta=self.terms.quanta // 4,
            l0=1,
            sampling_exponent=0,
            query=VOTES,
            sensitivity=VOTES.sensitivity,
            size=VOTES.size,
        )
        return replace(requested, **changes)


def domain_of(north: North) -> Any:
    return north.node.federations["loans"].hosted.member.domain


def begun(north: North, **given: Any) -> Begun:
    found = Begun(north, **given)
    found.remote.join(encode(found.agreement))
    return found


def audit(north: North) -> list[tuple[str, str]]:
    lines = (north.folder / "audit.jsonl").read_text().splitlines()
    return [(line["analyst"], line["outcome"]) for line in map(json.loads, lines)]


# Fits ---------------------------------------------------------------------------------------------


def test_fit_is_charged_once_for_each_reply(north: North) -> None:
    with north.working():
        model = estimator().fit(north.federation())
    assert sorted(np.round(model.cluster_centers_[:, 0], -1)) == [30, 70]
    (run,) = north.ledger.runs("credit")
    assert run.state == "finished"
    assert sorted(run.charges) == ["lift", "sums 1", "weights"]
    assert run.facts["analyst"] == run.facts["coordinator"] == "a1"
    assert run.facts["members"] == "north south west"
    assert north.ledger.verify() == []
    outcomes = ["offered", "agreed", "requested", "requested", "requested", "ended"]
    assert audit(north) == [("a1", one) for one in outcomes]
    assert not list((north.folder / "secrets").iterdir())


def test_failed_fit_is_resumed_with_the_replies_that_there_are(
    north: North, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever coordinates is interrupted: terms, offers and replies are the same ones later."""
    place = str(tmp_path / "coordinator.db")
    Ledger.create(place, "loans", epsilon=2.0, delta=1e-6)
    federation, requested = north.federation(), list[bytes]()
    submit = RemoteNode.submit

    def interrupted(self: RemoteNode, message: bytes) -> None:
        requested.append(message)
        if len(requested) == 2:
            raise KeyboardInterrupt
        submit(self, message)

    with north.working():
        monkeypatch.setattr(RemoteNode, "submit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            estimator(ledger=place, dataset="loans").fit(federation)
        (run,) = Ledger.open(place).runs("loans")
        assert [one.state for one in north.ledger.runs("credit")] == ["open"]
        estimator(ledger=place, dataset="loans").fit(federation, resume=run.name)
    assert requested[1] == requested[2]
    (charged,) = north.ledger.runs("credit")
    assert (charged.state, len(charged.charges)) == ("finished", 3)


def test_replies_are_the_same_each_time(north: North) -> None:
    fit = begun(north)
    message, digest = encode(fit.request()), fit.request().digest
    with north.working():
        for _ in range(3):
            fit.remote.join(encode(fit.agreement))
            fit.remote.submit(message)
        first = replied(fit, digest)
        fit.remote.submit(message)
        assert replied(fit, digest) == first
        fit.remote.end(fit.agreement.digest)
    (run,) = north.ledger.runs("credit")
    assert list(run.charges) == ["votes"]
    assert audit(north)[1:] == [("a1", "agreed"), ("a1", "requested"), ("a1", "ended")]


def replied(fit: Begun, digest: bytes) -> Reply:
    deadline = time.monotonic() + 60
    while (given := fit.remote.reply(fit.agreement.digest, digest)) is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return decode(given, Reply)


def test_reply_is_seen_from_the_next_tick_on(tmp_path: Path) -> None:
    with north_of(tmp_path, POLICY.replace("lanes = 4", "lanes = 4\ntick = 3")) as north:
        fit = begun(north)
        with north.working():
            fit.remote.submit(encode(fit.request()))
            replied(fit, fit.request().digest)
            requested = north.node.requests.get(fit.agreement.run, fit.request().digest.hex())
            assert requested is not None
            assert requested.visible_at % 3 == 0
            assert time.time() >= requested.visible_at
            fit.remote.end(fit.agreement.digest)


def test_fit_whose_time_is_over_goes_on_when_it_is_sent_the_request_again(tmp_path: Path) -> None:
    policy = POLICY.replace("epsilon_alone = 4.0\n", "epsilon_alone = 4.0\nseconds = 2\n", 1)
    with north_of(tmp_path, policy) as north:
        fit = begun(north)
        until_over(north, fit)
        with north.working():
            until_over(north, fit)  # the process ends the job by itself
            for _ in range(20):
                fit.remote.submit(encode(fit.request()))
                with suppress(AbsentNodeError):  # a busy machine: this time is over, too
                    replied(fit, fit.request().digest)
                    break
        job = north.node.jobs.get(fit.agreement.run)
        assert job is not None
        assert job.price in [2.0 * times for times in range(2, 22)]  # each time counts
        north.node.jobs.close_replies(job.run, time.time())
        fit.remote.submit(encode(fit.request("later")))
        with north.working():
            until_over(north, fit)


def until_over(north: North, fit: Begun) -> None:
    deadline = time.monotonic() + 60
    while True:
        job = north.node.jobs.get(fit.agreement.run)
        assert job is not None
        if job.release_at <= time.time():
            return
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_request_that_nobody_replies_any_more_is_put_again(north: North) -> None:
    fit = begun(north)
    fit.remote.submit(encode(fit.request()))
    assert fit.remote.reply(fit.agreement.digest, fit.request().digest) is None
    north.node.jobs.close_replies(fit.agreement.run, time.time())
    with pytest.raises(AbsentNodeError):
        fit.remote.reply(fit.agreement.digest, fit.request().digest)
    fit.remote.submit(encode(fit.request()))
    assert fit.remote.reply(fit.agreement.digest, fit.request().digest) is None


def test_rows_that_cannot_be_read_are_one_fixed_word(north: North) -> None:
    fit = begun(north)
    (north.folder / "credit.parquet").write_bytes(b"no table, and a canary")
    fit.remote.submit(encode(fit.request()))
    while (job := north.node.jobs.lease(time.time(), 600)) is None:
        time.sleep(0.05)  # it begins at a tick
    with pytest.raises((EngineError, ValueError, OSError)):  # whatever it is, none of it is said
        reply_to_requests(north.node.policy, job)
    path = f"loans/replies/{fit.agreement.digest.hex()}/{fit.request().digest.hex()}"
    deadline = time.monotonic() + 60
    while (reply := north.send("GET", path)).status == 204:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert (reply.status, reply.kind) == (500, "failed")
    assert b"canary" not in reply.body
    with pytest.raises(FailedNodeError, match="could not read or sum its rows, and this fit"):
        fit.remote.reply(fit.agreement.digest, fit.request().digest)


def test_fit_that_failed_does_not_go_on(tmp_path: Path) -> None:
    """As the error says: only another fit reads rows that can be read again."""
    policy = POLICY.replace("epsilon_alone = 4.0\n", "epsilon_alone = 4.0\nseconds = 2\n", 1)
    with north_of(tmp_path, policy) as north:
        fit = begun(north)
        while (job := north.node.jobs.lease(time.time(), 600)) is None:
            time.sleep(0.05)
        assert north.node.jobs.fail(job.run, job.lease, time.time())
        failed = north.node.jobs.get(job.run)
        assert failed is not None
        while time.time() < (failed.visible_at or 0):
            time.sleep(0.05)
        with pytest.raises(FailedNodeError):
            fit.remote.join(encode(fit.agreement))
        with pytest.raises(FailedNodeError):
            fit.remote.submit(encode(fit.request()))


# Refusals -----------------------------------------------------------------------------------------


def test_stranger_and_unknown_federation_look_alike(north: North) -> None:
    carl = INSTITUTE.token(
        iss="https://id.institute.example", aud="node", sub="carl", exp=int(time.time()) + 300
    )
    for method, path in (
        ("GET", ""),
        ("POST", "/offers"),
        ("POST", "/agreements"),
        ("POST", "/requests"),
        ("POST", "/end"),
        ("GET", f"/replies/{'0' * 64}/{'0' * 64}"),
    ):
        replies = [
            north.send(method, f"{name}{path}", b"", token)
            for name, token in (("loans", carl), ("nothing", carl), ("nothing", None))
        ]
        assert {reply.status for reply in replies} == {404}
        assert len({reply.body for reply in replies}) == 1
    with pytest.raises(NodeRefusedError):
        north.remote(carl, name="north", identity="ab" * 32).offer(b"")


def test_terms_of_another_coordinator_are_refused(north: North) -> None:
    fit = Begun(north, "b2")
    with pytest.raises(NodeRefusedError, match="another coordinator than the one who sends"):
        north.remote().offer(encode(fit.terms))
    with pytest.raises(NodeRefusedError, match="another coordinator than the one who sends"):
        north.remote().join(encode(fit.agreement))


def test_fit_of_another_coordinator_does_not_exist(north: North) -> None:
    fit = begun(north, who="b2")
    message, digest = encode(fit.request()), fit.request().digest
    fit.remote.submit(message)
    other = north.remote()
    with pytest.raises(NodeRefusedError, match="no such agreement"):
        other.submit(message)
    with pytest.raises(AbsentNodeError):
        other.reply(fit.agreement.digest, digest)
    for digest in (fit.agreement.digest, b"", bytes(2**16)):
        other.end(digest)  # does nothing, and says nothing
    assert fit.remote.reply(fit.agreement.digest, fit.request().digest) is None
    assert [run.state for run in north.ledger.runs("credit")] == ["open"]


def test_old_agreement_and_request_are_refused(north: North) -> None:
    fit = begun(north)
    fit.remote.end(fit.agreement.digest)
    before = len(north.ledger.export())
    with pytest.raises(NodeRefusedError, match="another offer for these terms, or none"):
        fit.remote.join(encode(fit.agreement))
    with pytest.raises(NodeRefusedError, match="the fit has ended"):
        fit.remote.submit(encode(fit.request()))
    again = decode(fit.remote.offer(encode(fit.terms)), Offer)
    assert again not in fit.agreement.offers  # another key, so that no old message fits
    with pytest.raises(NodeRefusedError, match="another offer"):
        fit.remote.join(encode(fit.agreement))
    assert len(north.ledger.export()) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"size": VOTES.size + 1},
        {"sensitivity": replace(VOTES.sensitivity, l1=2 * VOTES.sensitivity.l1)},
        {"cohort": ("north",)},
        {"cohort": ("north", "other", "south")},
        {"cohort": ("south", "west")},
        {"sampling_exponent": 99},
        {"agreement": bytes(32)},
    ],
)
def test_request_with_other_parts_is_refused_before_rows(
    north: North, changes: dict[str, Any]
) -> None:
    fit = begun(north)
    with pytest.raises(NodeRefusedError):
        fit.remote.submit(encode(fit.request(**changes)))
    assert north.node.requests.next(fit.agreement.run) is None


def test_reply_of_too_many_numbers_is_refused(
    north: North, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_federation_endpoints, "SIZE_MAX", 1)
    fit = begun(north)
    with pytest.raises(NodeRefusedError, match="at most 1 numbers"):
        fit.remote.submit(encode(fit.request()))


def test_request_that_a_web_process_let_through_is_refused_where_rows_are(north: North) -> None:
    """The process with rows trusts nobody: a request in the table is checked again."""
    fit = begun(north)
    requested = [
        encode(fit.request(size=VOTES.size + 1)),
        encode(fit.request(cohort=("south", "west"))),
        b"no request",
    ]
    for number, content in enumerate(requested):
        north.node.requests.submit(fit.agreement.run, f"{number:064x}", content, 2, 10**6)
    fit.remote.submit(encode(fit.request()))
    with north.working():
        replied(fit, fit.request().digest)
        for number in range(len(requested)):
            with pytest.raises(NodeRefusedError, match="Nothing was read"):
                fit.remote.reply(fit.agreement.digest, bytes.fromhex(f"{number:064x}"))
        fit.remote.end(fit.agreement.digest)
    (run,) = north.ledger.runs("credit")
    assert list(run.charges) == ["votes"]


def test_other_request_in_a_used_slot_is_refused(north: North) -> None:
    fit = begun(north)
    other = fit.request(query=NearestVotes(np.array([[0.25, 0.0], [-0.5, 0.0]])))
    with north.working():
        for request in (fit.request(), other):
            fit.remote.submit(encode(request))
        replied(fit, fit.request().digest)
        with pytest.raises(NodeRefusedError, match="another request in this slot"):
            replied(fit, other.digest)
        fit.remote.end(fit.agreement.digest)


def test_price_beyond_the_agreement_is_refused(north: North) -> None:
    fit = begun(north)
    dear = fit.request(quanta=2 * fit.terms.quanta)
    with north.working():
        fit.remote.submit(encode(dear))
        with pytest.raises(NodeRefusedError, match="too little set aside"):
            replied(fit, dear.digest)
        fit.remote.end(fit.agreement.digest)
    (run,) = north.ledger.runs("credit")
    assert not run.charges


def test_budget_of_the_coordinator_binds(north: North) -> None:
    """The analyst has 1.0 at the ledger's delta: a fit of 1.5 that the federation allows is not."""
    fit = Begun(north, "b2", epsilon=1.5)
    for _ in range(2):
        with pytest.raises(NodeRefusedError, match="too little left"):
            fit.remote.join(encode(fit.agreement))
    assert not north.ledger.runs("credit")
    assert audit(north)[1:] == [("b2", "agreed"), ("b2", "not-allowed")]


def test_facts_cannot_charge_another_analyst(north: North) -> None:
    fit = Begun(north)
    join_under(fit, replace(fit.terms, facts=(("analyst", "b2"), ("coordinator", "b2"))))
    (run,) = north.ledger.runs("credit")
    assert run.facts["analyst"] == run.facts["coordinator"] == "a1"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"epsilon": 1.0, "delta": 1e-3}, "allows a delta of 1e-06, and the terms have 0.001"),
        ({"epsilon": 2.5}, "an epsilon of 2 a fit, and the terms have 2.5"),
        ({"facts": (("period", "2026-W07"),)}, "periods"),
    ],
)
def test_terms_beyond_the_policy_are_refused(
    north: North, changes: dict[str, Any], why: str
) -> None:
    fit = Begun(north)
    with pytest.raises(NodeRefusedError, match=why):
        join_under(fit, replace(fit.terms, **changes))


def join_under(fit: Begun, terms: Terms) -> None:
    """Let all three agree to other terms, and north join."""
    folder, north = fit.north.folder, fit.north.identity
    others = (member(name, one, folder, north, "a1") for name, one in OTHERS.items())
    members: list[Node] = [fit.remote, *others]
    made = [decode(one.offer(encode(terms)), Offer) for one in members]
    fit.remote.join(encode(Agreement(terms, tuple(made))))


def test_member_with_another_key_is_refused(north: North) -> None:
    fit = Begun(north)
    liar = Identity(b"l" * 32)
    members = tuple(
        replace(one, identity=liar.public) if one.name == "west" else one
        for one in fit.terms.members
    )
    with pytest.raises(NodeRefusedError, match="does not have 'west' with the key"):
        fit.remote.offer(encode(replace(fit.terms, members=members)))


def test_node_with_another_key_than_was_pinned_is_refused(north: North) -> None:
    federation = north.federation()
    pinned = north.remote(name="north", identity="ab" * 32)
    nodes = (pinned, *federation.nodes[1:])
    with pytest.raises(NodeRefusedError, match=r"its own key|does not have 'north'"):
        estimator().fit(replace(federation, nodes=nodes))
    assert not north.ledger.runs("credit")


@pytest.mark.parametrize("path", ["offers", "agreements", "requests"])
@pytest.mark.parametrize("body", [b"", b"x" * 100, (2**62).to_bytes(8, "little") + b"{}"])
def test_bytes_that_are_no_message_are_refused(north: North, path: str, body: bytes) -> None:
    reply = north.send("POST", f"loans/{path}", body)
    assert (reply.status, reply.kind) == (403, "not-allowed")


@pytest.mark.parametrize(
    ("path", "most"),
    [("offers", AGREEMENT_BYTES_MAX), ("requests", REQUEST_BYTES_MAX), ("end", 2**16)],
)
def test_long_bodies_are_refused(north: North, path: str, most: int) -> None:
    reply = north.send("POST", f"loans/{path}", bytes(most + 1))
    assert (reply.status, reply.kind) == (413, "invalid-request")


# Limits -------------------------------------------------------------------------------------------


def test_fit_has_a_largest_number_of_requests(
    north: North, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sum_requests, "REQUESTS_MAX", 2)
    fit = begun(north)
    for slot in ("one", "two", "two"):
        fit.remote.submit(encode(fit.request(slot)))
    reply = north.send("POST", "loans/requests", encode(fit.request("three")))
    assert (reply.status, reply.kind) == (429, "quota-exceeded")


@pytest.mark.attack
def test_fit_writes_no_more_into_a_ledger_than_its_owner_allows(tmp_path: Path) -> None:
    """Replies of many numbers cost next to no mu²: what they take up is limited by itself."""
    policy = POLICY.replace("epsilon_alone = 4.0\n", "epsilon_alone = 4.0\nmegabytes = 1\n", 1)
    with north_of(tmp_path, policy) as north:
        fit = begun(north)
        half = histogram_request(fit, "half", 12_000)
        fit.remote.submit(encode(half))
        for slot, n_bins in (("more", 12_000), ("much more", 100_000)):
            with pytest.raises(NodeRefusedError, match=r"may write 1,000,000 bytes .* megabytes"):
                fit.remote.submit(encode(histogram_request(fit, slot, n_bins)))
        fit.remote.submit(encode(half))  # known, and counted once
        fit.remote.submit(encode(fit.request()))
        with north.working():
            replied(fit, fit.request().digest)
            fit.remote.end(fit.agreement.digest)
        (run,) = north.ledger.runs("credit")
        assert sorted(run.charges) == ["half", "votes"]


def test_what_a_fit_writes_into_a_ledger_is_counted_in_full(north: North) -> None:
    fit = begun(north)
    requests = (histogram_request(fit, "x" * SLOT_MAX, 1000), fit.request())
    for request in requests:
        fit.remote.submit(encode(request))
    with north.working():
        replied(fit, requests[-1].digest)
        counted, written = written_by_fit(north)
        fit.remote.end(fit.agreement.digest)
    assert counted / 2 < written <= counted


def written_by_fit(north: North) -> tuple[int, int]:
    """Return what the node counts, and what its ledger took up."""
    with closing(sqlite3.connect(north.folder / "ledger.db")) as opened:
        ((counted,),) = opened.execute("SELECT sum(written) FROM privclust_sum_requests")
        entries = opened.execute(
            "SELECT * FROM privclust_entries WHERE kind IN ('claim', 'result')"
        )
        written = [
            len(value if isinstance(value, bytes) else str(value))
            for row in entries
            for value in row
        ]
    return counted, sum(written)


def histogram_request(fit: Begun, slot: str, n_bins: int) -> SumRequest:
    """Return a request of 2 * `n_bins` numbers that costs the least mu² there is."""
    query = ColumnHistograms(np.ones(2) / 2, n_bins)
    declared = {"sensitivity": query.sensitivity, "size": query.size, "l0": 2, "quanta": 1}
    return fit.request(slot, query=query, **declared)


def test_offers_that_nobody_took_are_deleted_or_limited(
    north: North, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_federation_endpoints, "OFFERS_MAX", 2)
    fit = begun(north)
    others = [encode(replace(fit.terms, fit=f"{number:016x}")) for number in range(3)]
    fit.remote.offer(others[0])
    reply = north.send("POST", "loans/offers", others[1])
    assert (reply.status, reply.kind) == (429, "quota-exceeded")
    monkeypatch.setattr(hosted, "OFFER_SECONDS", -60)
    assert fit.remote.offer(others[1])
    assert fit.remote.offer(others[2])
    fit.remote.join(encode(fit.agreement))  # its offer is still there


def test_secrets_of_fits_that_the_owner_closed_are_deleted(north: North) -> None:
    begun(north)
    federation = north.node.federations["loans"]
    federation.forget_offers(north.node.clock())
    assert federation.hosted.store.count_offers() == 1
    (run,) = north.ledger.runs("credit")
    north.ledger.close(run.name)
    federation.forget_offers(north.node.clock())
    assert federation.hosted.store.count_offers() == 0


def test_fits_that_the_owner_closed_leave_space_for_others(
    north: North, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_federation_endpoints, "OFFERS_MAX", 1)
    fit = begun(north)
    other = encode(replace(fit.terms, fit=f"{1:016x}"))
    assert north.send("POST", "loans/offers", other).kind == "quota-exceeded"
    (run,) = north.ledger.runs("credit")
    north.ledger.close(run.name)
    assert fit.remote.offer(other)


def test_work_of_a_day_binds_coordinators(tmp_path: Path) -> None:
    with north_of(tmp_path, POLICY.replace("work_per_day = 6000", "work_per_day = 500", 1)) as one:
        fit = Begun(one)
        reply = one.send("POST", "loans/agreements", encode(fit.agreement))
        assert (reply.status, reply.kind) == (429, "quota-exceeded")
        assert not one.ledger.runs("credit")


# What is said -------------------------------------------------------------------------------------


def test_federation_is_described_to_its_coordinators(north: North) -> None:
    assert north.send("GET", "loans").json() == {
        "name": "loans",
        "member": "north",
        "identity": north.identity.hex(),
        "partners": {"south": SOUTH.public.hex(), "west": WEST.public.hex()},
        "columns": north.send("GET", "loans").json()["columns"],
        "unit": "",
        "max_rows_per_unit": 1,
        "minimum": 2,
        "colluding": 1,
        "epsilon": 2.0,
        "epsilon_alone": 4.0,
        "seconds": 600,
        "megabytes": 64,
        "delta": 1e-6,
        "epsilon_left": pytest.approx(4.0),
    }
    listed = north.server.send("GET", "/v1/federations", ada(time.time())).json()
    assert listed == {"federations": ["loans"]}
    assert (north.remote().name, north.remote().identity) == ("north", north.identity)


def test_log_has_no_message_and_no_reply(north: North) -> None:
    with north.working():
        estimator().fit(north.federation())
    for line in (north.folder / "audit.jsonl").read_text().splitlines():
        assert set(json.loads(line)) == {
            "time", "analyst", "table", "outcome", "fit", "seconds", "epsilon", "delta", "policy"
        }  # fmt: skip
