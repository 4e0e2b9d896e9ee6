"""What a node takes part in: what its owner allows and its ledger pays for, and nothing else."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.cohort_parts import (
    LABEL,
    NAMES,
    agreed,
    identity,
    ledger_of,
    membership_of,
    offers_for,
    request_of,
    terms_of,
)

from fuzz.hostile import joined, parts_of
from privclust.cohorts.membership import Membership, epsilon_alone
from privclust.cohorts.terms import Agreement, Member, Offer, Terms
from privclust.domains.box import Box
from privclust.engines.federated.wire import decode, encode
from privclust.errors import NodeRefusedError
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.queries import ClusterMoments, NearestVotes, Query, Unit

STRANGER = identity("mallory").public
MEMBERS = terms_of().members


def nodes_of(**changed: Any) -> list[Membership]:
    return [membership_of(name, **changed) for name in NAMES]


def refuses(node: Membership, terms: Terms, says: str) -> None:
    """Check that a node makes no offer under these terms, and would not join under them either."""
    with pytest.raises(NodeRefusedError, match=says):
        node.offer(encode(terms))
    assert node.store.offer(terms.digest) is None
    others = {member.name: member for member in terms.members}
    offers = []
    for name in others:
        unsigned = Offer(terms.digest, name, bytes([9]) + name.encode().ljust(31, b"\1"), b"")
        offers.append(replace(unsigned, signature=identity(name).sign(unsigned.signed)))
    if all(identity(name).public == one.identity for name, one in others.items()):
        with pytest.raises(NodeRefusedError, match=says):
            node.join(encode(Agreement(terms, tuple(offers))))
    assert not node.ledger.runs(LABEL)


@pytest.mark.attack
@pytest.mark.parametrize("place", range(3))
def test_key_that_is_not_pinned_is_refused(place: int) -> None:
    """Whoever coordinates could be all members but one, whose sums would have no mask."""
    members = list(MEMBERS)
    members[place] = Member(members[place].name, STRANGER)
    node = membership_of("north")
    says = "do not name it with its own key" if place == 1 else f"not have '{NAMES[place]}'"
    refuses(node, terms_of(members=tuple(members)), says)


@pytest.mark.attack
def test_stranger_among_the_members_is_refused() -> None:
    members = (*MEMBERS, Member("west", identity("west").public))
    refuses(membership_of("north"), terms_of(members=members), "policy does not have 'west'")
    without = (MEMBERS[0], MEMBERS[2])
    refuses(membership_of("north"), terms_of(members=without), "do not name it")


@pytest.mark.attack
def test_partner_called_like_the_node_itself_is_not_it() -> None:
    """A policy that lists the node among its partners, with a key of somebody else."""
    node = membership_of("north")
    partners = {**node.policy.partners, "north": STRANGER}
    object.__setattr__(node.policy, "partners", partners)
    members = tuple(Member(m.name, partners.get(m.name, m.identity)) for m in MEMBERS)
    refuses(node, terms_of(members=members), "do not name it with its own key")


@pytest.mark.attack
@pytest.mark.parametrize(
    ("policy", "terms", "says"),
    [
        ({}, {"coordinator": "eve"}, "no coordinator 'eve'"),
        ({"coordinators": ()}, {}, "no coordinator 'ada'"),
        ({"minimum": 3}, {}, "cohorts of at least 3"),
        ({"colluding": 2}, {"minimum": 3}, "guarantee against 2 together"),
        ({}, {"unit": Unit("who")}, "unit is one row in its policy and one 'who' in the terms"),
        ({"unit": Unit("who", 3)}, {}, "unit is one 'who' in its policy and one row in"),
        (
            {"unit": Unit("who", 3)},
            {"unit": Unit("who", 4)},
            "max_rows_per_unit is 3 in its policy and 4 in the terms",
        ),
        ({}, {"columns": ("b", "a", "c")}, "columns are 'a', 'b', 'c' in its policy and 'b', 'a'"),
        ({}, {"columns": 3}, "and 3 without names in the terms"),
        (
            {},
            {"domain": Box([0.0] * 3, [1.0, 2.0, 3.5])},
            "upper of column 'c' is 3.0 in its policy and 3.5 in the terms",
        ),
        ({"epsilon": 0.5}, {}, "allows an epsilon of 0.5 a fit, and the terms have 1"),
        ({"epsilon_alone": 1.4}, {}, r"an epsilon of 1\.45, and its policy allows 1\.4"),
    ],
)
def test_policy_refuses_what_it_does_not_allow(
    policy: dict[str, Any], terms: dict[str, Any], says: str
) -> None:
    refuses(membership_of("north", **policy), terms_of(**terms), says)


def test_epsilon_against_all_others_is_that_of_one_share() -> None:
    assert epsilon_alone(terms_of()) == pytest.approx(1.45, abs=0.01)
    assert epsilon_alone(terms_of(colluding=2, minimum=3)) == pytest.approx(1.0, abs=0.01)


@pytest.mark.attack
def test_another_version_is_refused() -> None:
    content, blobs = parts_of(encode(terms_of()))
    content["fields"]["version"] = "0.1.0"
    with pytest.raises(NodeRefusedError, match="what arrived is not"):
        membership_of("north").offer(joined((content, blobs)))


@pytest.mark.attack
def test_another_spelling_is_refused() -> None:
    """The same terms with a space between: another hash, and another agreement."""
    terms = terms_of()
    content, blobs = parts_of(encode(terms))
    head = json.dumps(content).encode()
    spelled = len(head).to_bytes(8, "little") + head + blobs
    assert decode(spelled, Terms).digest == terms.digest
    with pytest.raises(NodeRefusedError, match="what arrived is not"):
        membership_of("north").offer(spelled)


def test_offer_is_the_same_as_often_as_it_is_requested(tmp_path: Path) -> None:
    message = encode(terms_of())
    with ThreadPoolExecutor(4) as pool:
        stores = [membership_of("north", folder=tmp_path / "fits") for _ in range(8)]
        assert len(set(pool.map(lambda node: node.offer(message), stores))) == 1
    node = stores[0]
    assert node.offer(encode(terms_of(fit="f" * 16))) != node.offer(message)


def test_agreement_is_charged_once_however_often_it_is_joined() -> None:
    nodes = nodes_of()
    agreement = agreed(terms_of(), nodes)
    for _ in range(3):
        nodes[1].join(encode(agreement))
    (run,) = nodes[1].ledger.runs(LABEL)
    assert (run.name, run.reserved) == (agreement.run, agreement.terms.reserve)
    assert run.facts["coordinator"] == "ada"
    assert run.facts["members"] == "east north south"
    assert run.facts["colluding"] == "1"
    assert run.facts["epsilon alone"] == f"{epsilon_alone(agreement.terms):.6g}"


@pytest.mark.attack
def test_facts_of_a_coordinator_replace_none_of_the_nodes_own() -> None:
    """Nor is a fit charged to the cap of an analyst whom its coordinator names."""
    claimed = ("analyst", "colluding", "coordinator", "epsilon alone", "members")
    nodes = nodes_of()
    agreed(terms_of(facts=tuple((name, "a lie") for name in claimed)), nodes)
    (run,) = nodes[0].ledger.runs(LABEL)
    assert "a lie" not in run.facts.values()


@pytest.mark.attack
def test_agreement_without_its_own_offer_is_refused() -> None:
    """Somebody who has the identity's key, but not the secret of this fit, made another offer."""
    nodes, terms = nodes_of(), terms_of()
    offers = offers_for(terms, [nodes[0], membership_of("north"), nodes[2]])
    with pytest.raises(NodeRefusedError, match="another offer for these terms, or none"):
        nodes[1].join(encode(Agreement(terms, offers)))
    nodes[1].offer(encode(terms))
    with pytest.raises(NodeRefusedError, match="another offer for these terms, or none"):
        nodes[1].join(encode(Agreement(terms, offers)))
    assert not nodes[1].ledger.runs(LABEL)


@pytest.mark.attack
@pytest.mark.parametrize("unit", ["patient", "row in 2 clients"])
def test_ledger_of_another_unit_is_not_charged(unit: str) -> None:
    nodes = nodes_of()
    nodes[1].ledger = ledger_of(unit=unit)
    with pytest.raises(
        NodeRefusedError, match=f"north refuses: its ledger counts one '{unit}', and"
    ):
        agreed(terms_of(), nodes)
    assert not nodes[1].ledger.runs(LABEL)


@pytest.mark.attack
def test_ledger_with_too_little_left_is_not_charged() -> None:
    nodes = nodes_of()
    agreed(terms_of(), nodes)
    with pytest.raises(NodeRefusedError, match="its ledger has too little left"):
        agreed(terms_of(fit="f" * 16), nodes)
    assert len(nodes[0].ledger.runs(LABEL)) == 1
    poor = [membership_of(name, ledger=ledger_of(epsilon=0.5)) for name in NAMES]
    with pytest.raises(NodeRefusedError, match="its ledger has too little left"):
        agreed(terms_of(), poor)


def test_budget_comes_back_as_far_as_no_request_was_replied() -> None:
    nodes = nodes_of()
    agreement = agreed(terms_of(), nodes)
    nodes[0].end(agreement.digest)
    assert nodes[0].ledger.remaining(LABEL) == Budget(1.0, 1e-6).capacity
    nodes[0].end(agreement.digest)
    nodes[0].end(bytes(32))


# Requests ----------------------------------------------------------------------------------------


@pytest.mark.attack
def test_request_of_no_agreement_or_an_ended_one_is_refused() -> None:
    nodes = nodes_of()
    agreement = agreed(terms_of(), nodes)
    message = encode(request_of(agreement))
    assert nodes[0].request(message)[1].digest == agreement.digest
    with pytest.raises(NodeRefusedError, match="no such agreement, or the fit has ended"):
        nodes[0].request(encode(replace(request_of(agreement), agreement=bytes(32))))
    nodes[0].end(agreement.digest)
    with pytest.raises(NodeRefusedError, match="no such agreement, or the fit has ended"):
        nodes[0].request(message)
    assert nodes[0].store.offer(agreement.terms.digest) is None


@pytest.mark.attack
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"cohort": ("east", "south")}, "not in the cohort"),
        ({"cohort": ("north",)}, "does not keep to the agreement"),
        ({"cohort": ("east", "north", "west")}, "does not keep to the agreement"),
        ({"size": 4}, "does not keep to the agreement"),
        ({"sampling_exponent": 40}, "does not keep to the agreement"),
    ],
)
def test_request_that_does_not_keep_to_the_agreement_is_refused(
    changed: dict[str, Any], says: str
) -> None:
    nodes = nodes_of()
    agreement = agreed(terms_of(), nodes)
    with pytest.raises(NodeRefusedError, match=says):
        nodes[1].request(encode(request_of(agreement, **changed)))


def put(query: Query, **arrays: FloatArray) -> tuple[Membership, bytes]:
    """Return a node and a request about a query with other arrays, at the end of what it sends."""
    nodes = nodes_of()
    content, blobs = parts_of(encode(request_of(agreed(terms_of(), nodes), query)))
    sent = content["fields"]["query"]["fields"]
    for name, array in arrays.items():
        sent[name] = {"array": "<f8", "shape": list(array.shape)}
    before = sum(getattr(query, name).nbytes for name in arrays)
    blobs = blobs[: len(blobs) - before] + b"".join(one.tobytes() for one in arrays.values())
    return nodes[0], joined((content, blobs))


@pytest.mark.attack
def test_request_that_fails_with_one_row_only_is_refused() -> None:
    """The second centre, which has no radius, is nearest to the row in request and to no other."""
    honest = ClusterMoments(np.zeros((2, 3)), np.ones(2), 1.0, 1.0)
    far = np.array([[0.0] * 3, [2.0**24] * 3])
    node, message = put(honest, centers=far, radii=np.ones(2))
    assert node.request(message)
    node, message = put(honest, centers=far, radii=np.ones(1))
    with pytest.raises(NodeRefusedError, match="what arrived is not"):
        node.request(message)


@pytest.mark.attack
def test_request_with_points_off_the_grid_is_refused() -> None:
    """What a row adds would depend on the rows beside it."""
    votes = NearestVotes(np.eye(3) / 2)
    node, message = put(votes, candidates=np.eye(3) * 2.0**24)
    assert node.request(message)
    for wrong in (0.5, 2.0**25 + 1):
        node, message = put(votes, candidates=np.full((3, 3), wrong))
        with pytest.raises(NodeRefusedError, match="what arrived is not"):
            node.request(message)


@pytest.mark.parametrize("message", [b"", b"\xff" * 40, encode(terms_of()), encode(b"request")])
def test_other_bytes_are_refused(message: bytes) -> None:
    node = membership_of("north")
    for act in (node.join, node.request):
        with pytest.raises(
            NodeRefusedError, match=r"what arrived is not an? (agreement|request)\."
        ):
            act(message)
