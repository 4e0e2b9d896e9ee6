"""A node that replies: charge, read, noise, mask, store; once, and to the whole cohort alike."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.cohort_parts import (
    LABEL,
    NAMES,
    QUERY_QUANTA,
    added_up,
    agreed,
    ledger_of,
    members_of,
    membership_of,
    process_of,
    replied,
    request_of,
    rows_of,
    tables_of,
    terms_of,
    watched,
)
from helpers.processes import race
from helpers.query_examples import SUMS, VOTES
from scipy.stats import chi2

from privclust.cohorts.member import LocalMember, RehearsedNode
from privclust.cohorts.sum_request import Reply
from privclust.cohorts.terms import Agreement
from privclust.engines.federated.wire import decode, encode
from privclust.engines.memory import NumpyEngine
from privclust.errors import EngineError, NodeRefusedError
from privclust.kernels.grid import IntArray
from privclust.privacy.accounting import QUANTA, gaussian_spend
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.ledger.records import StoredResult
from privclust.queries import ColumnHistograms
from privclust.testing import NoNoise, SeededNoise, noise_from

FOUR = (*NAMES, "west")


def begun(names: tuple[str, ...] = NAMES) -> tuple[dict[str, LocalMember], Agreement]:
    members = members_of(tables_of(names))
    return members, agreed(terms_of(names), members.values())


def exact() -> IntArray:
    parts = [
        NumpyEngine(table, terms_of().domain).aggregate(VOTES) for table in tables_of().values()
    ]
    total: IntArray = np.sum([np.array(list(one)) for one in parts], axis=0)
    return total


# Masks --------------------------------------------------------------------------------------------


def test_sum_of_all_is_what_a_trusted_server_would_add_up() -> None:
    members, agreement = begun()
    with noise_from(NoNoise()):
        replies = [replied(one, request_of(agreement)) for one in members.values()]
    assert added_up(replies).tolist() == exact().tolist()
    assert {reply.noise for reply in replies} == {"none"}


OTHER_QUESTIONS: dict[str, dict[str, Any]] = {
    "cohort": {"cohort": ("east", "north", "west")},
    "larger cohort": {"cohort": FOUR},
    "attempt": {"attempt": 2},
    "slot": {"slot": "other"},
    "query": {"query": replace(VOTES, candidates=-VOTES.candidates / 2**25)},
    "sigma": {"quanta": QUERY_QUANTA + 1},
    "l0": {"l0": 2},
    "sample": {"sampling_exponent": 1},
}


@pytest.mark.attack
@pytest.mark.parametrize("what", OTHER_QUESTIONS)
def test_masks_of_different_requests_do_not_vanish(what: str) -> None:
    """Two of three are requested one thing, the third another: nothing comes of the sum."""
    members, agreement = begun(FOUR)
    request = request_of(agreement, cohort=NAMES)
    changed = replace(request, **OTHER_QUESTIONS[what])
    with noise_from(NoNoise()):
        for odd in ("east", "north"):
            fresh = {name: one for name, one in members.items() if name in NAMES}
            requested = {name: changed if name == odd else request for name in fresh}
            total = added_up([replied(fresh[name], requested[name]) for name in NAMES])
            assert (np.abs(total) > 2**40).all()  # false alarm 3·2^-22 a time, keys are fresh
            members, agreement = begun(FOUR)
            request = request_of(agreement, cohort=NAMES)
            changed = replace(request, **OTHER_QUESTIONS[what])


@pytest.mark.attack
def test_masks_of_cohorts_that_overlap_do_not_vanish() -> None:
    """A ring of four, each of whom is told of three: every mask is added once and subtracted once.

    Only what the masks are made of keeps the two ends of each apart.
    """
    members, agreement = begun(FOUR)
    left_out = dict(zip(FOUR, reversed(FOUR), strict=True))
    with noise_from(NoNoise()):
        replies = [
            replied(
                members[name],
                request_of(agreement, cohort=tuple(one for one in FOUR if one != left_out[name])),
            )
            for name in FOUR
        ]
    assert (np.abs(added_up(replies)) > 2**40).all()


@pytest.mark.attack
def test_masks_of_different_agreements_do_not_vanish() -> None:
    """The same keys and the same request, where one node knows another agreement."""
    members, agreement = begun()
    memberships = [membership_of(name, epsilon=1.0) for name in NAMES]
    other = agreed(terms_of(fit="f" * 16), memberships)
    with noise_from(NoNoise()):
        replies = [replied(members[name], request_of(agreement)) for name in NAMES[:2]]
        south = LocalMember(memberships[2], tables_of()["south"])
        replies.append(replied(south, request_of(other)))
    assert (np.abs(added_up(replies)) > 2**40).all()


def test_replies_without_one_node_say_nothing() -> None:
    members, agreement = begun()
    with noise_from(NoNoise()):
        replies = [replied(one, request_of(agreement)) for one in members.values()]
    for left_out in range(3):
        some = [one for place, one in enumerate(replies) if place != left_out]
        assert (np.abs(added_up(some)) > 2**40).all()


# Once ---------------------------------------------------------------------------------------------


@pytest.mark.attack
def test_repeated_request_gets_the_bytes_that_were_stored() -> None:
    """Also from a process that begins anew; noise drawn twice would average out."""
    members, agreement = begun()
    request = request_of(agreement)
    first = replied(members["north"], request)
    assert replied(members["north"], request) == first
    membership = members["north"]._membership
    fresh = process_of("north", agreement, membership, tables_of()["north"], membership.ledger)
    assert decode(fresh.reply(request), Reply) == first
    (run,) = membership.ledger.runs(LABEL)
    assert run.spent == gaussian_spend(request.quanta, request.l0)


@pytest.mark.attack
@pytest.mark.parametrize(
    "what", [name for name in OTHER_QUESTIONS if name not in ("attempt", "slot")]
)
def test_changed_request_in_a_used_slot_is_refused(what: str) -> None:
    members, agreement = begun(FOUR)
    request = request_of(agreement, cohort=NAMES)
    replied(members["east"], request)
    with pytest.raises(NodeRefusedError, match="another request in this slot"):
        replied(members["east"], replace(request, **OTHER_QUESTIONS[what]))


@pytest.mark.attack
def test_slot_named_like_an_attempt_is_not_one() -> None:
    members, agreement = begun()
    replied(members["east"], request_of(agreement, attempt=2))
    with pytest.raises(NodeRefusedError, match="another request in this slot"):
        replied(members["east"], request_of(agreement, slot="votes, attempt 2"))


class Dying(Ledger):
    """A ledger whose process dies before a result is stored."""

    def record(self, run: str, slot: str, result: StoredResult) -> StoredResult:
        raise KeyboardInterrupt


@pytest.mark.attack
def test_noise_that_was_not_stored_does_not_leave() -> None:
    """A crash between charge and storing: charged once, drawn afresh, and only that is seen."""
    members, agreement = begun()
    membership, request = members["north"]._membership, request_of(agreement)
    dying = Dying(membership.ledger._journal)
    table = tables_of()["north"]
    with pytest.raises(KeyboardInterrupt):
        process_of("north", agreement, membership, table, dying).reply(request)
    (run,) = membership.ledger.runs(LABEL)
    assert run.spent == gaussian_spend(request.quanta, request.l0)
    seen = {
        process_of("north", agreement, membership, table, membership.ledger).reply(request)
        for _ in range(3)
    }
    assert len(seen) == 1
    assert membership.ledger.runs(LABEL)[0].spent == run.spent


@pytest.mark.attack
def test_two_workers_that_read_at_once_give_the_same_bytes() -> None:
    """Both claim before either has stored: the second discards its noise."""
    members, agreement = begun()
    membership, request = members["north"]._membership, request_of(agreement)
    barrier, seen = threading.Barrier(2), list[bytes]()

    class Meeting(Ledger):
        def record(self, run: str, slot: str, result: StoredResult) -> StoredResult:
            barrier.wait(60)
            return super().record(run, slot, result)

    def work() -> None:
        ledger = Meeting(membership.ledger._journal)
        table = tables_of()["north"]
        seen.append(process_of("north", agreement, membership, table, ledger).reply(request))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(seen) == 2
    assert seen[0] == seen[1]


def worker(folder: Path) -> Callable[[], str]:
    """Return what a process of a node does that has its ledger and its secrets in a folder."""
    ledger = Ledger.open(str(folder / "ledger.db"))
    membership = membership_of("north", ledger=ledger, folder=folder / "fits")
    (file,) = (folder / "fits").glob("*.agreement")
    agreement = membership.store.agreement(bytes.fromhex(file.stem))
    assert agreement is not None
    node = process_of("north", agreement, membership, tables_of()["north"], ledger)
    return lambda: node.reply(request_of(agreement)).hex()


def test_processes_give_the_same_bytes(tmp_path: Path) -> None:
    ledger = Ledger.create(str(tmp_path / "ledger.db"), LABEL, epsilon=1.0, delta=1e-6)
    north = membership_of("north", ledger=ledger, folder=tmp_path / "fits")
    agreed(terms_of(), [membership_of("east"), north, membership_of("south")])
    code = (
        "import sys\nfrom pathlib import Path\nfrom cohorts.test_member import worker\n"
        "work = worker(Path(sys.argv[2]))\n"
        "print('ready', flush=True)\ninput()\nprint(work())"
    )
    first, second = race(code, str(tmp_path))
    assert first == second


# Before rows are read -----------------------------------------------------------------------------


class Watched(Ledger):
    """A ledger that notes what is written into it."""

    def __init__(self, log: list[str]) -> None:
        ledger = ledger_of()
        super().__init__(ledger._journal)
        self._log = log

    def claim(self, *args: Any) -> StoredResult | None:
        found = super().claim(*args)
        self._log.append("charge")
        return found

    def record(self, *args: Any) -> StoredResult:
        found = super().record(*args)
        self._log.append("store")
        return found


def watched_node(log: list[str]) -> tuple[LocalMember, Agreement]:
    memberships = [membership_of(name, ledger=Watched(log)) for name in NAMES]
    agreement = agreed(terms_of(), memberships)
    return LocalMember(memberships[1], watched(rows_of(40), log)), agreement


@pytest.mark.attack
def test_node_charges_before_it_reads_and_stores_before_it_sends() -> None:
    log: list[str] = []
    node, agreement = watched_node(log)
    assert log == []
    replied(node, request_of(agreement))
    assert log == ["charge", "read", "store"]
    replied(node, request_of(agreement))
    assert log == ["charge", "read", "store", "charge"]


@pytest.mark.attack
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"quanta": 2**60}, "too little set aside"),
        ({"quanta": 2**62 + 1}, r"too little set aside|does not fit"),
        (
            {"query": VOTES, "l0": VOTES.sensitivity.l0, "quanta": 2**63 - 1},
            r"does not fit|too little",
        ),
        ({"query": SUMS, "size": SUMS.size, "sensitivity": SUMS.sensitivity}, "does not fit"),
    ],
)
def test_request_is_refused_before_rows_are_read(changed: dict[str, Any], says: str) -> None:
    """Sums change more coordinates than votes are charged for."""
    log: list[str] = []
    node, agreement = watched_node(log)
    with pytest.raises(NodeRefusedError, match=says):
        replied(node, replace(request_of(agreement), **changed))
    assert log == []


def test_request_after_the_end_of_another_agreement_on_the_same_terms_is_refused() -> None:
    """A member lost its offer and made another: both agreements have one secret of ours."""
    terms, nodes = terms_of(), [membership_of(name, epsilon=1.0) for name in NAMES]
    nodes[1].ledger = ledger_of(epsilon=2.0)
    first = agreed(terms, nodes)
    again = [membership_of("east"), nodes[1], membership_of("south")]
    second = agreed(terms, again)
    assert first.digest != second.digest
    node = LocalMember(nodes[1], tables_of()["north"])
    node.end(first.digest)
    with pytest.raises(NodeRefusedError, match="refuses"):
        replied(node, request_of(second))


def test_unreadable_rows_say_nothing() -> None:
    def broken() -> Any:
        raise ValueError("secret 1234567")

    members, agreement = begun()
    node = LocalMember(members["north"]._membership, broken)
    with pytest.raises((EngineError, NodeRefusedError)) as failed:
        replied(node, request_of(agreement))
    assert "1234567" not in str(failed.value)


# Noise --------------------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("requested", [FOUR, NAMES])
def test_noise_of_the_sum_has_the_variance_that_the_cohort_owes(requested: tuple[str, ...]) -> None:
    """n/(n − c)·σ² by chi-square, from 3072 coordinates: false alarm 1e-6, seeded."""
    query = ColumnHistograms(np.ones(3), 1024)
    members = members_of({name: rows_of(0) for name in FOUR})
    agreement = agreed(terms_of(FOUR, colluding=2, minimum=3), members.values())
    request = request_of(agreement, query, cohort=requested)
    replies = []
    for seed, name in enumerate(requested):
        with noise_from(SeededNoise(seed)):
            replies.append(replied(members[name], request))
    noise, n_requested = added_up(replies).astype(float), len(requested)
    sigma2 = query.sensitivity.l2_squared * QUANTA / request.quanta
    statistic = float((noise**2).sum()) / (sigma2 * n_requested / (n_requested - 2))
    assert chi2.isf(1 - 5e-7, query.size) < statistic < chi2.isf(5e-7, query.size)


def test_each_node_draws_its_own_sample_by_a_key_that_is_nowhere() -> None:
    keys: list[bytes] = []

    class Noting(NoNoise):
        def key(self) -> bytes:
            keys.append(NumpyEngine.__name__.encode() + bytes([len(keys)]))
            return keys[-1].ljust(32, b"\0")

    members, agreement = begun()
    request = request_of(agreement, sampling_exponent=1)
    with noise_from(Noting()):
        for one in members.values():
            replied(one, request)
    assert len(set(keys)) == 3
    assert not any(key in encode(request) for key in keys)


# Rehearsals ---------------------------------------------------------------------------------------


def test_rehearsed_node_refuses_what_it_has_made_no_offer_for() -> None:
    node = RehearsedNode("north", rows_of(5))
    for act in (node.join, node.submit, node.end):
        with pytest.raises(NodeRefusedError, match="it made no offer before"):
            act(bytes(32))
