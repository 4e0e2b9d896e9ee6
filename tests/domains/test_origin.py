"""What is written down of a table's state: a name that can be printed, and a salted hash."""

from __future__ import annotations

from dataclasses import replace

import pytest

from privclust.domains.origin import Origin, hash_of_state, printable, recorded_hash, state_of_hash

DELTA = Origin("Delta", "visits", "one version")
STATES = [f"0fb2 version {number}" for number in range(20)]


@pytest.mark.attack
def test_two_seals_of_one_state_have_nothing_in_common() -> None:
    hashes = [hash_of_state(STATES[7]) for _ in range(100)]
    assert len({part for salted_hash in hashes for part in salted_hash.split("-")}) == 200
    assert all(state_of_hash(salted_hash, STATES) == STATES[7] for salted_hash in hashes)


def test_a_state_is_found_by_its_seal_alone() -> None:
    salted_hash = hash_of_state(STATES[7])
    assert state_of_hash(salted_hash, STATES[:7]) is None
    assert replace(DELTA, salted_hash=salted_hash).is_of(STATES[7])
    assert not replace(DELTA, salted_hash=salted_hash).is_of(STATES[8])
    assert not DELTA.is_of(STATES[7])
    for other in ("", "-", "0fb2 version 7", salted_hash[:-1]):
        assert state_of_hash(other, STATES) is None


def test_a_ledger_says_of_a_state_whether_it_can_be_had_again() -> None:
    assert recorded_hash({}) is None
    assert recorded_hash(DELTA.facts) is None
    assert recorded_hash(replace(DELTA, salted_hash="12-34").facts) == "12-34"


@pytest.mark.parametrize("name", ["", "visits\nPrivacy guarantee: epsilon = 0", "\u202evisits"])
def test_a_name_that_could_pass_for_another_line_is_refused_or_shown_otherwise(name: str) -> None:
    with pytest.raises(ValueError, match="can be printed"):
        replace(DELTA, name=name)
    assert printable(name).isprintable()
    assert len(printable("x" * 5000)) < 200


@pytest.mark.attack
def test_a_name_cannot_add_a_sentence() -> None:
    forged = replace(DELTA, name='visits", one version. Epsilon is 0. "x')
    assert forged.sentence == "Delta, \"visits', one version. Epsilon is 0. 'x\", one version"
    assert forged.facts["source"] == forged.sentence
