"""Sums of noise shares against exact masses, the lemma's conditions, and exact rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from helpers.share_sums import cohorts, lemma_slack, sum_of_shares
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from privclust.kernels.grid import UNIT, FloatArray
from privclust.privacy.accounting import MU_MAX, QUANTA, delta_of, gaussian_spend
from privclust.privacy.noise_shares import (
    MEMBERS_MAX,
    SHARE_SIGMA_MAX,
    SHARE_SIGMA_MIN,
    NoiseShare,
    kappa,
)
from privclust.testing import SeededNoise

mp: Any = mpmath.MPContext()
mp.dps = 70


def theta(variance: Any, angle: Any) -> Any:
    """Return the characteristic function of a discrete Gaussian but for its normalisation.

    By Poisson summation it is a sum over the frequencies angle + 2 pi j; those left out here come
    to less than 1e-80 for variances from 1/4 up.
    """
    return mp.fsum(mp.exp(-variance * (angle + 2 * mp.pi * j) ** 2 / 2) for j in range(-8, 9))


def discrete_gaussian(variance: Any, reach: int) -> list[Any]:
    weights = [mp.exp(-mp.mpf(x * x) / (2 * variance)) for x in range(-reach, reach + 1)]
    whole = mp.fsum(weights)
    return [weight / whole for weight in weights]


def log_ratios(members: int, sigma: str) -> list[Any]:
    """Return |log ratio| of the sum of shares to one discrete Gaussian, from 0 to 8 sigma.

    The sum's mass is its characteristic function's inverse transform over a ring of 34 sigma. What
    comes round the ring is less than e^-300 of what is there; of 70 digits 54 or more are left.
    """
    variance = mp.mpf(sigma) ** 2
    whole = mp.sqrt(members * variance)
    half = int(17 * whole) + 20
    at_0 = theta(variance, 0)
    phi = [(theta(variance, mp.pi * m / half) / at_0) ** members for m in range(half + 1)]
    cosines = [mp.cos(mp.pi * m / half) for m in range(2 * half)]
    one = discrete_gaussian(members * variance, int(25 * whole) + 5)
    ratios = []
    for x in range(int(8 * whole) + 1):
        inner = mp.fsum(phi[m] * cosines[m * x % (2 * half)] for m in range(1, half))
        mass = (phi[0] + phi[half] * (-1) ** x + 2 * inner) / (2 * half)
        ratios.append(abs(mp.log(mass / one[len(one) // 2 + x])))
    return ratios


@pytest.mark.attack
@pytest.mark.parametrize("members", [2, 3, 4, 10, 30, 100, 300, 1000])
@pytest.mark.parametrize("sigma", ["0.5", "0.75", "1"])
def test_sum_of_shares_is_one_discrete_gaussian_up_to_kappa(members: int, sigma: str) -> None:
    ratios = log_ratios(members, sigma)
    bound = kappa(members, float(sigma))
    assert max(ratios) <= bound
    # Where it matters it is not far off. From sigma 1 up it is all too small to matter.
    assert bound <= (30 * max(ratios) if sigma != "1" else 2.5e-4)


@pytest.mark.parametrize(("members", "sigma"), [(2, "0.5"), (3, "0.5"), (5, "0.75"), (9, "1")])
def test_kappa_holds_far_out_in_the_tails(members: int, sigma: str) -> None:
    # By adding up products, all positive: nothing cancels, so every digit counts at 24 sigma, too.
    variance = mp.mpf(sigma) ** 2
    reach = int(24 * math.sqrt(members) * float(sigma))
    share = discrete_gaussian(variance, reach + 30)
    mass = share
    for _ in range(members - 1):
        middle = len(mass) // 2
        mass = [
            mp.fsum(
                mass[middle + y] * share[reach + 30 + x - y]
                for y in range(max(-middle, x - reach - 30), min(middle, x + reach + 30) + 1)
            )
            for x in range(-reach - 30, reach + 31)
        ]
    one = discrete_gaussian(members * variance, reach + 30)
    bound = kappa(members, float(sigma))
    assert all(abs(mp.log(mass[30 + x] / one[30 + x])) <= bound for x in range(2 * reach + 1))


@given(st.floats(0.0, 1.0), st.floats(0.3, 3.0), st.integers(1, MEMBERS_MAX))
@settings(max_examples=60, deadline=None)
def test_ripple_of_a_discrete_sum_is_within_the_step_of_kappa(
    centre: float, sigma: float, added: int
) -> None:
    variance = mp.mpf(sigma) ** 2 * added / (added + 1)
    spread = mp.sqrt(variance)
    places = range(-math.ceil(20 * spread) - 2, math.ceil(20 * spread) + 4)
    terms = (mp.exp(-((x - mp.mpf(centre)) ** 2) / (2 * variance)) for x in places)
    found = mp.fsum(terms) / mp.sqrt(2 * mp.pi * variance)
    ripple = 2 * mp.nsum(lambda j: mp.exp(-2 * mp.pi**2 * variance * j**2), [1, 12])
    tiny = mp.mpf("1e-60")
    assert 1 - ripple - tiny <= found <= 1 + ripple + tiny
    # The largest is at the integers, the smallest half-way: no narrower bound would do.
    at_0 = mp.fsum(mp.exp(-mp.mpf(x * x) / (2 * variance)) for x in places)
    assert abs(at_0 / mp.sqrt(2 * mp.pi * variance) - 1 - ripple) < tiny


@given(
    st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(-0.5, 0.5)), min_size=1, max_size=12),
    st.lists(st.floats(0.01, 1.0), min_size=1, max_size=12),
)
def test_adding_the_same_noise_to_both_widens_no_ratio(
    masses: list[tuple[float, float]], noise: list[float]
) -> None:
    first = np.array([mass for mass, _ in masses])
    logs = np.array([log for _, log in masses])
    widest = np.abs(logs).max()
    both = np.log(np.convolve(first * np.exp(logs), noise) / np.convolve(first, noise))
    assert np.abs(both).max() <= widest + 1e-13


def kappa_in_70_digits(members: int, sigma: float) -> Any:
    total = mp.mpf(0)
    for added in range(1, members):
        exponent = -2 * (mp.pi * mp.mpf(sigma)) ** 2 * added / (added + 1)
        ripple = 2 * mp.fsum(mp.exp(exponent * j * j) for j in range(1, 9))
        if ripple >= 1:
            return mp.inf
        total += mp.log1p(2 * ripple / (1 - ripple))
    return total


@pytest.mark.attack
@given(st.integers(1, 60), st.floats(0.3, 12.0))
@settings(max_examples=60, deadline=None)
def test_kappa_is_rounded_up_and_by_little(members: int, sigma: float) -> None:
    true, bound = kappa_in_70_digits(members, sigma), kappa(members, sigma)
    assert true <= bound
    assert bound == 0 if members == 1 else bound > 0
    # Beyond sigma 0.4 the closed form of the series costs less than a twentieth of it, and what it
    # adds below the smallest float is far below that.
    assert sigma < 0.4 or bound <= true * mp.mpf("1.05") + mp.mpf("1e-300")


@given(st.integers(2, MEMBERS_MAX), st.floats(0.3, 3.0))
@settings(max_examples=30, deadline=None)
def test_kappa_grows_with_shares_and_falls_with_their_size(members: int, sigma: float) -> None:
    assert kappa(members - 1, sigma) <= kappa(members, sigma)
    assert kappa(members, sigma * 1.01) <= kappa(members, sigma)


@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.25, math.nan])
def test_shares_too_small_for_the_proof_have_no_kappa(sigma: float) -> None:
    assert kappa(2, sigma) == math.inf


@pytest.mark.attack
@pytest.mark.parametrize("changed", [1, 6, 5050, 2**24])
@pytest.mark.parametrize("quanta", [1, 1024, QUANTA // 10**6, QUANTA, MU_MAX**2 * QUANTA])
def test_what_the_lemma_leaves_unused_covers_every_cohort(quanta: int, changed: int) -> None:
    # gaussian_spend charges 1.01 times the first two terms of (b); the third is below 1e-300 at
    # such sigmas, so that the hundredth is there for 2·D·kappa.
    charged = gaussian_spend(quanta, changed).slack
    needed = 2 * changed * kappa(MEMBERS_MAX, SHARE_SIGMA_MIN)
    assert needed < 1e-200 * charged * (1 - 1 / 1.01)


def test_no_share_of_a_real_sum_is_too_small() -> None:
    smallest = NoiseShare(MEMBERS_MAX, 1).sigma(UNIT / MU_MAX)
    assert smallest > UNIT / MU_MAX / math.sqrt(MEMBERS_MAX) > 33_158 > SHARE_SIGMA_MIN


def hockey_stick(mass: FloatArray, shift: int, epsilon: float) -> float:
    """Bound the divergence of noise at 0 and at `shift` by an exact sum, from above."""
    over = mass[shift:] - math.exp(epsilon) * mass[: len(mass) - shift]
    under = mass[:-shift] - math.exp(epsilon) * mass[shift:]
    ends = 2 * math.exp(-110)
    return max(float(side[side > 0].sum()) for side in (over, under)) * (1 + 1e-12) + ends


@pytest.mark.parametrize(("members", "sigma"), [(2, 3.0), (3, 2.0), (3, 4.0), (9, 1.5), (30, 1.0)])
def test_lemma_bounds_the_exact_divergence_of_sums_of_shares(members: int, sigma: float) -> None:
    whole, mass = sigma * math.sqrt(members), sum_of_shares(members, sigma)
    for shift in sorted({1, 2, 3, int(whole), int(2 * whole)}):
        mu = shift / whole
        slack = lemma_slack(whole, mu, 1) + 2 * kappa(members, sigma)
        for epsilon in (0.01, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0):
            guaranteed = math.exp(slack) * delta_of(mu, epsilon) + 2 * math.exp(-72)
            assert hockey_stick(mass, shift, epsilon + slack) <= guaranteed
            assert hockey_stick(mass, shift, epsilon + 2 * slack) <= guaranteed


@pytest.mark.parametrize(("members", "sigma"), [(2, 0.5), (3, 1.0), (10, 0.75), (100, 1.0)])
def test_a_sum_of_shares_rarely_exceeds_twelve_sigma(members: int, sigma: float) -> None:
    mass, whole = sum_of_shares(members, sigma), sigma * math.sqrt(members)
    x = np.abs(np.arange(len(mass)) - len(mass) // 2)
    for multiple in (1, 3, 6, 12):
        # Ends that were cut off and errors of convolution: less than 1e-12 of it, and e^-110.
        beyond = float(mass[x > multiple * whole].sum()) * (1 + 1e-12) + 2 * math.exp(-110)
        assert beyond <= 2 * math.exp(-(multiple**2) / 2)


@pytest.mark.parametrize(("members", "sigma"), [(2, 1024), (3, 3000)])
def test_a_thirtieth_of_the_tail_is_used(members: int, sigma: int) -> None:
    # What the saturation of a share is paid from: the mass beyond 12 sigma is a thirtieth of tau.
    whole = mp.mpf(sigma) * mp.sqrt(members)
    first = mp.floor(12 * whole) + 1
    # Each term of the sum is at most the integral over the unit interval before it.
    beyond = mp.exp(-(first**2) / (2 * whole**2)) + whole * mp.sqrt(mp.pi / 2) * mp.erfc(
        first / (whole * mp.sqrt(2))
    )
    assert 2 * beyond / (whole * mp.sqrt(2 * mp.pi)) <= 2 * mp.exp(-72) / 29


@pytest.mark.attack
@given(cohorts(), st.floats(2.0**16, 2.0**52))
def test_honest_shares_have_the_noise_that_was_charged_for_and_hardly_more(
    share: NoiseShare, sigma: float
) -> None:
    each = Fraction(share.sigma(sigma))
    left = each**2 * share.honest
    assert Fraction(sigma) ** 2 <= left <= Fraction(sigma) ** 2 * (1 + Fraction(1, 2**48))
    whole = Fraction(share.total(sigma)) ** 2
    assert abs(whole / (each**2 * share.members) - 1) < Fraction(1, 2**50)


@given(cohorts())
def test_exact_sums_of_a_cohort_fit_together(share: NoiseShare) -> None:
    assert share.honest + share.colluding == share.members
    assert share.largest * share.members <= 2**62 < (share.largest + 1) * share.members


@pytest.mark.attack
@pytest.mark.parametrize("members", [2, 3, 10, 1000])
def test_no_share_saturates_and_no_sum_wraps(members: int) -> None:
    # Pr[|noise| > b·sigma] <= 2·e^(-b²/2) for a share, and for a sum of shares by its own sigma.
    share = NoiseShare(members, members - 1)
    room = (2**63 - 1 - share.largest) / SHARE_SIGMA_MAX
    assert room**2 / 2 > 100 * 72
    whole = (2**63 - 1 - share.largest * members) / (SHARE_SIGMA_MAX * math.sqrt(members))
    assert whole**2 / 2 > 128


@pytest.mark.parametrize(
    ("members", "colluding"),
    [(1, 1), (2, 0), (2, 2), (3, 4), (1001, 1), (0, 0), (-3, 1), (3, -1), (3.0, 1), (3, True)],
)
def test_impossible_cohorts_are_refused(members: int, colluding: int) -> None:
    with pytest.raises(ValueError, match="a cohort has at most 1000 members"):
        NoiseShare(members, colluding)


@pytest.mark.attack
@pytest.mark.parametrize(
    "sigma", [0.0, -(2.0**26), SHARE_SIGMA_MIN, 2 * SHARE_SIGMA_MAX, math.inf, math.nan]
)
def test_shares_beyond_what_the_proof_allows_are_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match="a share of the noise must lie between 1024 and 9007199"):
        NoiseShare(3, 1).sigma(sigma)
    with pytest.raises(ValueError, match="a share of the noise must lie between"):
        NoiseShare(3, 1).total(sigma)


@pytest.mark.parametrize("share", [NoiseShare(3, 1), NoiseShare(10, 3), NoiseShare(50, 24)])
def test_what_colluders_cannot_subtract_is_the_noise_that_was_charged_for(
    share: NoiseShare,
) -> None:
    # Seeded, so it never flickers. For a seed at random: two sides of three sums at 1.5e-7, 9e-7.
    noise, sigma, size = SeededNoise(29), 2.0**26, 20_000
    exact = np.zeros(size, dtype=np.int64)
    drawn = [noise.gaussian(exact, share.sigma(sigma)) for _ in range(share.members)]
    for seen, scale in (
        (drawn[share.colluding :], sigma),
        (drawn, share.total(sigma)),
        (drawn[:1], share.sigma(sigma)),
    ):
        squares = float(((np.sum(seen, axis=0) / scale) ** 2).sum())
        assert chi2.ppf(1.5e-7, size) < squares < chi2.isf(1.5e-7, size)
