"""What is written down of a table's state: a name that can be printed, and a seal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from privclust.sources.snapshot import Origin, printable, seal_in, sealed, unsealed

DELTA = Origin("Delta", "visits", "one version")
STATES = [f"0fb2 version {number}" for number in range(20)]


@pytest.mark.attack
def test_two_seals_of_one_state_have_nothing_in_common() -> None:
    seals = [sealed(STATES[7]) for _ in range(100)]
    assert len({part for seal in seals for part in seal.split("-")}) == 200
    assert all(unsealed(seal, STATES) == STATES[7] for seal in seals)


def test_a_state_is_found_by_its_seal_alone() -> None:
    seal = sealed(STATES[7])
    assert unsealed(seal, STATES[:7]) is None
    assert replace(DELTA, seal=seal).is_of(STATES[7])
    assert not replace(DELTA, seal=seal).is_of(STATES[8])
    assert not DELTA.is_of(STATES[7])
    for other in ("", "-", "0fb2 version 7", seal[:-1]):
        assert unsealed(other, STATES) is None


def test_a_ledger_says_of_a_state_whether_it_can_be_had_again() -> None:
    assert seal_in({}) is None
    assert seal_in(DELTA.facts) is None
    assert seal_in(replace(DELTA, seal="12-34").facts) == "12-34"


@pytest.mark.parametrize("name", ["", "visits\nPrivacy guarantee: epsilon = 0", "\u202evisits"])
def test_a_name_that_could_pass_for_another_line_is_refused_or_shown_otherwise(name: str) -> None:
    with pytest.raises(ValueError, match="can be printed"):
        replace(DELTA, name=name)
    assert printable(name).isprintable()
    assert len(printable("x" * 5000)) < 200
