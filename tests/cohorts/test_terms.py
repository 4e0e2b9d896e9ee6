"""What nodes agree on: parts that belong together, signed by all."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from cohorts.test_masks import LOW_ORDER
from helpers.cohort_parts import (
    BUDGET,
    NAMES,
    RESERVE,
    agreed,
    identity,
    membership_of,
    offers_for,
    terms_of,
    with_offer,
)

from privclust.cohorts.terms import Agreement, Member, Terms
from privclust.domains._number_column import NumberColumn
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.engines.federated.wire import WireError, decode, encode
from privclust.queries import Unit

BMI = NumberColumn("bmi", 12.0, 60.0)
MEMBERS = tuple(Member(name, identity(name).public) for name in NAMES)


def test_agreement_is_about_what_missing_cells_count_as() -> None:
    found = [
        terms_of(columns=("bmi",), domain=Mixed((replace(BMI, missing=missing),)))
        for missing in (None, 25.0, 26.0)
    ]
    assert len({terms.digest for terms in found}) == 3
    for terms in found:
        assert decode(encode(terms), Terms).domain == terms.domain


@pytest.mark.attack
@pytest.mark.parametrize("missing", [61.0, 11.0])
def test_terms_with_a_value_for_missing_cells_beyond_the_bounds_are_refused(
    missing: float,
) -> None:
    sent = encode(terms_of(columns=("bmi",), domain=Mixed((replace(BMI, missing=25.0),))))
    declared, other = (25.0).hex().encode(), missing.hex().encode()
    assert (sent.count(declared), len(declared)) == (1, len(other))
    with pytest.raises(WireError):
        decode(sent.replace(declared, other), Terms)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"members": MEMBERS[:1]}, "2 to 1000 members"),
        ({"members": MEMBERS[::-1]}, "sorted by names"),
        ({"members": (*MEMBERS, MEMBERS[-1])}, "names that differ"),
        ({"members": (MEMBERS[0], Member("z", MEMBERS[0].identity))}, "identity of its own"),
        ({"colluding": 0}, "1 <= colluding < minimum"),
        ({"colluding": 2, "minimum": 2}, "1 <= colluding < minimum"),
        ({"colluding": -1}, "1 <= colluding < minimum"),
        ({"minimum": 1}, "1 <= colluding < minimum"),
        ({"minimum": 4}, "1 <= colluding < minimum"),
        ({"version": "0.0.1"}, "same version"),
        ({"protocol": 2}, "same version"),
        ({"columns": ("a", "b")}, "columns are those of the domain"),
        ({"columns": 2}, "columns are those of the domain"),
        ({"unit": Unit("who", 1, clients=1)}, "units are those of one node"),
        ({"unit": Unit("client", 1, whole=True)}, "units are those of one node"),
        ({"quanta": 2 * RESERVE.quanta}, "more is set aside"),
        ({"quanta": -1}, "negative"),
        ({"quanta": 0}, "nothing is set aside"),
        ({"slack": 1.0}, "more is set aside"),
        ({"tail": 1e-6}, "more is set aside"),
        ({"slack": -1.0}, "negative"),
        ({"delta": 0.0}, "more is set aside"),
        ({"epsilon": BUDGET.epsilon / 2}, "more is set aside"),
        ({"epsilon": 65.0}, "epsilon"),
        ({"facts": (("seed", "1"), ("seed", "2"))}, "facts"),
        ({"facts": (("seed", "1", "2"),)}, "facts"),
        ({"facts": (("seed",),)}, "facts"),
        ({"facts": (("seed", "\0"),)}, "facts"),
        ({"facts": (("seed", "1" * 2**20),)}, "facts"),
        ({"facts": tuple((f"fact {n:04}", "1") for n in range(1000))}, "facts"),
    ],
)
def test_terms_whose_parts_do_not_agree_are_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        terms_of(**changed)


@pytest.mark.parametrize(("name", "key"), [("", bytes(32)), ("a\n", bytes(32)), ("a", bytes(31))])
def test_member_without_a_name_or_key_is_refused(name: str, key: bytes) -> None:
    with pytest.raises(ValueError, match="a name that can be printed, and a key of 32 bytes"):
        Member(name, key)


def test_hash_of_terms_is_over_all_of_them() -> None:
    terms = terms_of()
    others: dict[str, Any] = {
        "fit": "f" * 16,
        "coordinator": "bob",
        "members": tuple(replace(one, name=f"x{one.name}") for one in MEMBERS),
        "colluding": 2,
        "minimum": 3,
        "columns": ("a", "b", "d"),
        "domain": Box([0.0] * 3, [1.0, 2.0, 4.0]),
        "unit": Unit("who", 2),
        "facts": (),
        "epsilon": 2.0,
        "delta": 1e-5,
        "quanta": RESERVE.quanta - 1,
        "slack": RESERVE.slack / 2,
        "tail": RESERVE.tail / 2,
    }
    assert set(others) | {"protocol", "version"} == {one.name for one in fields(Terms)}
    seen = {terms.digest}
    for name, value in others.items():
        same = {"minimum": 3, "slack": RESERVE.slack / 4}
        seen.add(terms_of(**{**same, name: value}).digest)
    assert len(seen) == 1 + len(others)


def test_terms_arrive_as_they_left() -> None:
    terms = terms_of()
    assert encode(decode(encode(terms), Terms)) == encode(terms)


# Agreements -------------------------------------------------------------------------------------


def agreement() -> Agreement:
    return agreed(terms_of(), map(membership_of, NAMES))


@pytest.mark.attack
def test_agreement_needs_the_signed_offer_of_every_member() -> None:
    whole = agreement()
    north, south = whole.offers[1], whole.offers[2]
    by_north = identity("north").sign(replace(south, name="south").signed)
    wrong = {
        "one missing": whole.offers[:2],
        "none": (),
        "another order": whole.offers[::-1],
        "one twice": (*whole.offers[:2], whole.offers[1]),
        "another's name": with_offer(whole, 2, name="west"),
        "another's key": with_offer(whole, 2, key=north.key),
        "a key that was not signed": with_offer(whole, 2, key=bytes(31) + b"\1"),
        "a short key": with_offer(whole, 2, key=south.key[:31]),
        "no signature": with_offer(whole, 2, signature=b""),
        "signed by another member": with_offer(whole, 2, signature=by_north),
        "of other terms": with_offer(whole, 2, terms=terms_of(fit="f" * 16).digest),
    }
    for offers in wrong.values():
        with pytest.raises(ValueError, match="member"):
            Agreement(whole.terms, offers)
        content = encode(whole.terms), offers
        with pytest.raises(WireError):
            decode(encode(content), Agreement)
    assert Agreement(whole.terms, whole.offers).digest == whole.digest


@pytest.mark.attack
def test_offer_for_other_terms_does_not_serve_again() -> None:
    """The same nodes under weaker terms: their signatures are over the terms."""
    nodes = [membership_of(name) for name in NAMES]
    old = offers_for(terms_of(), nodes)
    weaker = terms_of(fit="f" * 16)
    with pytest.raises(ValueError, match="not signed"):
        Agreement(weaker, old)
    renamed = tuple(replace(offer, terms=weaker.digest) for offer in old)
    with pytest.raises(ValueError, match="not signed"):
        Agreement(weaker, renamed)


@pytest.mark.attack
@pytest.mark.parametrize("point", LOW_ORDER.values(), ids=LOW_ORDER)
def test_key_by_which_no_secret_is_shared_is_refused_in_an_offer(point: int) -> None:
    """A member that signs such a key would let the others charge and read, and then fail."""
    whole = agreement()
    weak = replace(whole.offers[2], key=point.to_bytes(32, "little"))
    signed = replace(weak, signature=identity("south").sign(weak.signed))
    with pytest.raises(ValueError, match="no secret"):
        Agreement(whole.terms, (*whole.offers[:2], signed))


def test_hash_of_an_agreement_is_over_all_offers() -> None:
    nodes = [membership_of(name) for name in NAMES]
    one = agreed(terms_of(), nodes)
    again = agreed(terms_of(), nodes)
    other = Agreement(terms_of(), offers_for(terms_of(), [*nodes[:2], membership_of("south")]))
    assert one.digest == again.digest != other.digest
    assert one.run == one.digest[:16].hex() != other.run


def test_keys_are_those_of_a_cohort() -> None:
    whole = agreement()
    found = whole.keys(("east", "south"))
    assert set(found) == {"east", "south"}
    assert found["south"].key == whole.offers[2].key
    assert found["south"].identity == identity("south").public


@pytest.mark.attack
@pytest.mark.parametrize("part", ["slack", "tail"])
def test_terms_that_would_take_all_slack_or_tail_of_a_ledger_are_refused(part: str) -> None:
    """A fit of next to no mu² could otherwise keep every other fit from the ledger."""
    hostile = {"quanta": 1, part: getattr(BUDGET.capacity, part)}
    with pytest.raises(ValueError, match="more slack or tail"):
        terms_of(**{"slack": 0.0, "tail": 0.0, **hostile})


@pytest.mark.attack
def test_name_of_a_fit_is_no_text() -> None:
    with pytest.raises(ValueError, match="16 or 32 hexadecimal digits"):
        terms_of(fit="x\n\x1b[31m")
