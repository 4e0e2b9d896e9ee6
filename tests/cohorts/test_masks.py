"""Masks: they vanish in the sum of all, and hide everything until then."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from privclust.cohorts.masks import MaskKey, length_prefixed, masked, new_secret, public_key
from privclust.kernels.grid import IntArray

FALSE_ALARM = 1e-7
"""Of one chi-square with fresh keys. Those of these tests are fixed: they come out alike each time.
"""
SIZE = 2**14
CURVE = 2**255 - 19
LOW_ORDER = {
    "0": 0,
    "1": 1,
    "-1": CURVE - 1,
    "order 8": 325606250916557431795983626356110631294008115727848805560023387167927233504,
    "order 8 too": 39382357235489614581723060781553021112529911719440698176882885853963445705823,
    "p": CURVE,
    "p + 1": CURVE + 1,
}
"""Points by which no secret is shared, whatever the other key is, with other spellings of two."""


def secret_of(name: str) -> bytes:
    return sha256(name.encode()).digest()


def key_of(name: str) -> MaskKey:
    return MaskKey(name, sha256(b"identity" + name.encode()).digest(), public_key(secret_of(name)))


def hidden(name: str, values: IntArray, others: list[str], context: bytes) -> IntArray:
    return masked(values, secret_of(name), key_of(name), map(key_of, others), context)


def mask(context: bytes, own: str = "north", other: str = "south", size: int = SIZE) -> IntArray:
    return hidden(own, np.zeros(size, dtype=np.int64), [other], context)


def is_uniform(values: IntArray) -> bool:
    """Tell whether each of the eight bytes of integers looks uniform, by chi-square."""
    given = np.frombuffer(values.tobytes(), np.uint8).reshape(-1, 8)
    expected = len(given) / 256
    counts = np.array([np.bincount(column, minlength=256) for column in given.T])
    found = ((counts - expected) ** 2 / expected).sum(axis=1)
    return bool((found < chi2.isf(FALSE_ALARM / 8, 255)).all())


@settings(deadline=None, derandomize=True, database=None, max_examples=40)
@given(st.integers(2, 6), st.binary(max_size=40), st.integers(0, 2**32))
def test_masks_vanish_in_the_sum_of_all(n_nodes: int, context: bytes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"node {number}" for number in rng.permutation(n_nodes)]
    values = rng.integers(-(2**62), 2**62, (n_nodes, 5)) // n_nodes
    values[0, 0], values[1, 0] = 2**63 - 1, -(2**63)  # which wrap, and come back
    sent = [
        hidden(name, one, [other for other in names if other != name], context)
        for name, one in zip(names, values, strict=True)
    ]
    total = np.sum([one.view(np.uint64) for one in sent], axis=0, dtype=np.uint64).view(np.int64)
    assert total.tolist() == values.sum(axis=0).tolist()
    for one, before in zip(sent, values, strict=True):
        assert not (one == before).any()  # 2^-64 a coordinate


@pytest.mark.attack
def test_mask_is_of_one_context_and_one_pair() -> None:
    """A mask that serves twice gives the difference of what it hides."""
    own, other = key_of("north"), key_of("south")
    zeros = np.zeros(4, dtype=np.int64)

    def of(own: MaskKey, other: MaskKey, context: bytes) -> bytes:
        return masked(zeros, secret_of("north"), own, [other], context).tobytes()

    seen = [
        of(own, other, b"request"),
        of(own, other, b"request 2"),
        of(own, other, b""),
        of(replace(own, identity=bytes(32)), other, b"request"),
        of(own, replace(other, identity=bytes(32)), b"request"),
        of(own, replace(other, name="west"), b"request"),
        of(replace(own, name="a"), other, b"request"),
        of(own, key_of("west"), b"request"),
    ]
    negated = [(-np.frombuffer(one, np.int64)).tobytes() for one in seen]
    assert len({*seen, *negated}) == 2 * len(seen)


def test_one_of_two_adds_and_the_other_subtracts() -> None:
    assert (mask(b"request") == -mask(b"request", "south", "north")).all()


def test_masks_look_uniform_alone_and_against_each_other() -> None:
    first, second = mask(b"request"), mask(b"request, again")
    for values in (first, second, first - second, first ^ second):
        assert is_uniform(values)
    assert is_uniform(hidden("north", np.full(SIZE, 2**40), ["south", "west"], b"request"))
    assert not is_uniform(np.arange(SIZE))


@pytest.mark.attack
@pytest.mark.parametrize("point", LOW_ORDER.values(), ids=LOW_ORDER)
def test_key_by_which_no_secret_is_shared_is_refused(point: int) -> None:
    for high_bit in (0, 2**255):
        weak = MaskKey("south", bytes(32), (point | high_bit).to_bytes(32, "little"))
        with pytest.raises(ValueError):  # noqa: PT011 - of cryptography, in its own words
            masked(np.zeros(1, dtype=np.int64), secret_of("north"), key_of("north"), [weak], b"")


@pytest.mark.attack
def test_another_spelling_of_a_key_makes_another_mask() -> None:
    """Two members whose keys differ in the bit that X25519 ignores have one secret with a third."""
    south = key_of("south")
    spelled = replace(south, key=south.key[:31] + bytes([south.key[31] | 128]))
    zeros, own = np.zeros(4, dtype=np.int64), key_of("north")
    one, two = (masked(zeros, secret_of("north"), own, [x], b"q") for x in (south, spelled))
    assert not (one == two).any()


def test_what_is_masked_stays_as_it_was() -> None:
    values = np.arange(5)
    hidden("north", values, ["south"], b"request")
    assert values.tolist() == [0, 1, 2, 3, 4]


def test_secrets_are_fresh() -> None:
    assert len({new_secret() for _ in range(8)}) == 8


@settings(deadline=None, derandomize=True, database=None, max_examples=200)
@given(st.lists(st.binary(max_size=3), max_size=4), st.lists(st.binary(max_size=3), max_size=4))
def test_no_two_lists_of_parts_give_the_same_bytes(one: list[bytes], two: list[bytes]) -> None:
    assert (length_prefixed(*one) == length_prefixed(*two)) == (one == two)
