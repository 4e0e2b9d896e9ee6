"""What docs/proofs/noise-shares.md says of masks and of sending a query again, counted out.

This is the protocol on paper, modulo 4 and with all masks there are. Real masks have tests of their
own.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from privclust.privacy.noise_shares import MEMBERS_MAX, NoiseShare
from privclust.testing import SeededNoise

MODULUS = 4
Masks = Mapping[tuple[int, int], int]


def all_masks(members: int) -> Iterator[Masks]:
    pairs = list(itertools.combinations(range(members), 2))
    for values in itertools.product(range(MODULUS), repeat=len(pairs)):
        yield dict(zip(pairs, values, strict=True))


def masked(member: int, value: int, masks: Masks) -> int:
    added = sum(mask for (first, _), mask in masks.items() if first == member)
    taken = sum(mask for (_, second), mask in masks.items() if second == member)
    return (value + added - taken) % MODULUS


def is_uniform(counts: Counter[tuple[int, ...]], outcomes: int) -> bool:
    return len(counts) == outcomes and len(set(counts.values())) == 1


@pytest.mark.parametrize("values", [(1, 2), (0, 0, 0), (3, 1, 2), (1, 0, 3, 2)])
def test_masked_vectors_are_uniform_subject_to_their_sum(values: Sequence[int]) -> None:
    members = range(len(values))
    seen = Counter(
        tuple(masked(member, values[member], masks) for member in members)
        for masks in all_masks(len(values))
    )
    assert {sum(vector) % MODULUS for vector in seen} == {sum(values) % MODULUS}
    assert is_uniform(seen, MODULUS ** (len(values) - 1))


@pytest.mark.parametrize("values", [(1, 2), (3, 1, 2), (1, 0, 3, 2)])
def test_vectors_are_uniform_if_one_honest_member_is_missing(values: Sequence[int]) -> None:
    for missing in range(len(values)):
        sent = [member for member in range(len(values)) if member != missing]
        seen = Counter(
            tuple(masked(member, values[member], masks) for member in sent)
            for masks in all_masks(len(values))
        )
        assert is_uniform(seen, MODULUS ** len(sent))


def test_members_with_different_contexts_send_uniform_vectors() -> None:
    # The first believes in one context and the two others in another: each has masks of its own.
    values = (3, 1, 2)
    seen: Counter[tuple[int, ...]] = Counter(
        (masked(0, values[0], one), masked(1, values[1], other), masked(2, values[2], other))
        for one, other in itertools.product(all_masks(3), repeat=2)
    )
    assert is_uniform(seen, MODULUS**3)


def test_mask_used_twice_shows_one_nodes_difference() -> None:
    """Why a repeat sends the stored bytes: noise drawn again under one mask is shown, and alone."""
    seen = {
        (masked(0, 3, masks) - masked(0, 1, masks)) % MODULUS
        for masks in all_masks(3)  # whatever the masks are
    }
    assert seen == {2}


def test_same_noise_for_a_smaller_cohort_leaves_the_missing_member_one_share() -> None:
    """Why a query that is sent again gets fresh noise."""
    share, sigma, size = NoiseShare(5, 1), 2.0**26, 20_000
    noise, exact = SeededNoise(5), np.zeros(size, dtype=np.int64)
    shares = [noise.gaussian(exact, share.sigma(sigma)) for _ in range(share.members)]
    first = np.sum(shares, axis=0)
    assert (first - np.sum(shares[1:], axis=0) == shares[0]).all()  # the others' noise is gone
    fewer = NoiseShare(4, 1)
    fresh = [noise.gaussian(exact, fewer.sigma(sigma)) for _ in range(fewer.members)]
    left = float((((first - np.sum(fresh, axis=0)) / sigma) ** 2).sum())
    # With fresh noise 5/4 + 4/3 sigma² are left. False alarm for a seed at random: far below 5e-7.
    assert left > 2 * float(chi2.isf(5e-7, size))


@given(st.integers(1, MEMBERS_MAX - 2), st.data())
def test_share_of_the_larger_cohort_is_too_small_for_the_smaller_one(
    colluding: int, data: st.DataObject
) -> None:
    members = data.draw(st.integers(colluding + 2, MEMBERS_MAX))
    fewer = data.draw(st.integers(colluding + 1, members - 1))
    sigma = 2.0**26
    old = Fraction(NoiseShare(members, colluding).sigma(sigma)) ** 2
    new = Fraction(NoiseShare(fewer, colluding).sigma(sigma)) ** 2
    assert old * (fewer - colluding) < Fraction(sigma) ** 2 <= new * (fewer - colluding)
