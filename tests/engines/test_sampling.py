"""Inclusion bits of a sample: fair, secret, and each a matter of its key and address alone."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from privclust.engines.sampling import SAMPLING_EXPONENT_MAX, included, row_words

KEY = bytes(range(32))
BLOCK = 8192
keys = st.binary(min_size=32, max_size=32)
blocks = st.integers(0, 2**40)
offsets = st.one_of(st.integers(0, BLOCK - 1), st.integers(BLOCK - 300, BLOCK - 1))
starts = st.builds(lambda block, offset: BLOCK * block + offset, blocks, offsets)
sizes = st.integers(0, 300)
exponents = st.integers(0, SAMPLING_EXPONENT_MAX)
cheap = settings(deadline=None, derandomize=True, database=None, max_examples=60)


def drawn(key: bytes, start: int, n_rows: int, sampling_exponent: int) -> NDArray[np.bool_]:
    """Draw the inclusion bits of `n_rows` rows, the first of which has the address `start`."""
    return included(row_words(key, start, n_rows), sampling_exponent)


@pytest.mark.attack
@cheap
@given(keys, starts, sizes, sizes, exponents)
def test_inclusion_bit_does_not_depend_on_how_many_are_drawn_with_it(
    key: bytes, start: int, few: int, more: int, sampling_exponent: int
) -> None:
    many = drawn(key, start, few + more, sampling_exponent)
    assert many.shape == (few + more,)
    assert drawn(key, start, few, sampling_exponent).tolist() == many[:few].tolist()
    assert drawn(key, start + few, more, sampling_exponent).tolist() == many[few:].tolist()


@cheap
@given(keys, starts, sizes, exponents)
def test_inclusion_bit_follows_from_32_bits_of_the_key_and_the_address(
    key: bytes, start: int, n_rows: int, sampling_exponent: int
) -> None:
    """A second way to draw it, row by row, in Python's integers."""
    streams = {
        block: hashlib.shake_256(key + block.to_bytes(8, "little")).digest(4 * BLOCK)
        for block in (start // BLOCK, (start + n_rows) // BLOCK)
    }
    expected = []
    for address in range(start, start + n_rows):
        block, place = divmod(address, BLOCK)
        word = int.from_bytes(streams[block][4 * place : 4 * place + 4], "little")
        expected.append(word * 2**sampling_exponent < 2**SAMPLING_EXPONENT_MAX)
    assert drawn(key, start, n_rows, sampling_exponent).tolist() == expected


@cheap
@given(keys, starts, sizes, exponents, exponents)
def test_smaller_sampling_rate_keeps_a_part_of_what_a_larger_one_keeps(
    key: bytes, start: int, n_rows: int, one: int, other: int
) -> None:
    less, more = sorted((one, other))
    wide, narrow = (
        drawn(key, start, n_rows, sampling_exponent) for sampling_exponent in (less, more)
    )
    assert not (narrow & ~wide).any()


@cheap
@given(keys, starts, sizes)
def test_sampling_exponent_0_keeps_every_row(key: bytes, start: int, n_rows: int) -> None:
    assert drawn(key, start, n_rows, 0).all()


@pytest.mark.parametrize(
    ("sampling_exponent", "kept"),
    [
        (0, [True, True, True, True]),
        (1, [True, True, False, False]),
        (SAMPLING_EXPONENT_MAX, [True, False, False, False]),
    ],
)
def test_exactly_one_word_in_2_to_the_sampling_exponent_is_included(
    sampling_exponent: int, kept: list[bool]
) -> None:
    words = np.array([0, 2**31 - 1, 2**31, 2**32 - 1], dtype=np.uint32)
    assert included(words, sampling_exponent).tolist() == kept


def test_other_keys_and_blocks_draw_other_bits() -> None:
    """False alarm: two of 9 fair strings of 256 bits are equal, below 1e-75."""
    addresses = [(key, block) for key in (KEY, KEY[::-1], bytes(32)) for block in (0, 1, 2**32)]
    strings = {drawn(key, BLOCK * block, 256, 1).tobytes() for key, block in addresses}
    assert len(strings) == len(addresses)


def as_often_as(found: int, n_bits: int, probability: float, false_alarm: float) -> bool:
    law = binom(n_bits, probability)
    return bool(law.ppf(false_alarm / 2) <= found <= law.isf(false_alarm / 2))


@pytest.mark.parametrize("sampling_exponent", [1, 2, 5])
def test_rows_are_included_as_often_as_declared_alone_and_in_pairs(
    sampling_exponent: int,
) -> None:
    """With a fresh key. False alarm: four exact binomial tests at 5e-8, three times: 6e-7.

    Pairs that share no row are independent: neighbours in a block, two blocks, two keys.
    """
    n_bits = 2**17
    key, other = secrets.token_bytes(32), secrets.token_bytes(32)
    bits = drawn(key, 0, n_bits, sampling_exponent)
    assert as_often_as(int(bits.sum()), n_bits, 0.5**sampling_exponent, 5e-8)
    for pair in (
        bits[::2] & bits[1::2],
        bits & drawn(key, n_bits, n_bits, sampling_exponent),
        bits & drawn(other, 0, n_bits, sampling_exponent),
    ):
        assert as_often_as(int(pair.sum()), len(pair), 0.25**sampling_exponent, 5e-8)
