"""OpenDP's samplers as this library calls them: the right law, fresh for every coordinate."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

from privclust.kernels.grid import UNIT, FloatArray, IntArray
from privclust.privacy.noise import NoiseSource, NoNoise, OpenDPNoise, noise_source
from privclust.testing import noise_from

NOISE: NoiseSource = OpenDPNoise()
pytestmark = pytest.mark.real_noise

# Two draws of sigma or scale s coincide with probability at most 0.283/s, which is 1/(2·sqrt(pi)·s)
# (Laplace: 1/(4·s)), and coincide up to sign with at most twice that: 8.5e-9 for s = 2^26.
SAME_UP_TO_SIGN = 8.5e-9

# Noise of one process before it forks, of two children, and of itself once more.
FORKED = """
import os, signal, sys
import numpy as np
from privclust.privacy.noise import OpenDPNoise

def show(size):
    noise = getattr(OpenDPNoise(), sys.argv[1])(np.zeros(size, dtype=np.int64), 2.0**26)
    os.write(1, (" ".join(map(str, noise)) + " ").encode())

show(3)
for _ in range(2):
    child = os.fork()
    if child == 0:
        signal.alarm(300)  # locks that were held while forking stay so: fail, do not hang
        show(4)
        os._exit(0)
    os.waitpid(child, 0)
show(3)
"""


def draws(mechanism: str, exact: IntArray, scale: float) -> IntArray:
    draw = NOISE.gaussian if mechanism == "gaussian" else NOISE.laplace
    return draw(exact, scale)


def zeros(size: int) -> IntArray:
    return np.zeros(size, dtype=np.int64)


def all_different_up_to_sign(values: IntArray) -> bool:
    # 14 values form 91 pairs.
    assert math.comb(values.size, 2) * SAME_UP_TO_SIGN < 1e-6
    return np.unique(np.abs(values)).size == values.size


def fits(counts: NDArray[np.int64], probabilities: FloatArray) -> bool:
    """Compare by Pearson's chi-square at nominal 1e-7.

    With every expected count above 60, as is asserted, twelve million simulated tables of each of
    the laws below put the true false-alarm rate at 2e-7; each test raises one or two alarms.
    """
    assert probabilities.sum() == pytest.approx(1.0, abs=1e-12)
    expected = counts.sum() * probabilities
    assert expected.min() > 60
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return statistic < float(chi2.isf(1e-7, len(counts) - 1))


def folded(values: IntArray, weights: FloatArray, limit: int) -> FloatArray:
    """Add up weights per value, all values beyond `limit` counting as `limit`."""
    cells = np.clip(values, -limit, limit) + limit
    return np.asarray(np.bincount(cells, weights, 2 * limit + 1), dtype=np.float64)


@pytest.mark.parametrize(
    ("mechanism", "scale", "limit"), [("gaussian", 3.0, 9), ("laplace", 2.0, 11)]
)
def test_noise_has_the_exact_mass_function(mechanism: str, scale: float, limit: int) -> None:
    x = np.arange(-400, 401)
    power = (x / scale) ** 2 / 2 if mechanism == "gaussian" else np.abs(x) / scale
    mass = folded(x, np.exp(-power) / np.exp(-power).sum(), limit)
    # Two alarms, one for each centre: 4e-7 in all.
    for centre in (0, 5):
        noise = draws(mechanism, zeros(40_000) + centre, scale) - centre
        counts = folded(noise, np.ones(noise.size), limit).astype(np.int64)
        assert fits(counts, mass)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_neighbouring_coordinates_are_independent(mechanism: str) -> None:
    # Signs of pairs fall into four cells; zeros are left out, which keeps the cells equally likely.
    noise = draws(mechanism, zeros(40_000), 3.0)
    first, second = noise[0::2], noise[1::2]
    kept = (first != 0) & (second != 0)
    cells = 2 * (first[kept] > 0) + (second[kept] > 0)
    assert fits(np.bincount(cells, minlength=4), np.full(4, 0.25))


def permute_and_flip_probabilities(scores: IntArray, scale: float) -> FloatArray:
    """Visit indices in random order, accept each with exp((score − best)/scale), stop at the first.

    Taking the largest of the scores with exponential noise of that scale is the same mechanism
    (Ding and others, 2021); OpenDP draws the latter, so the two derivations check each other.
    """
    accept = np.exp((scores - scores.max()) / scale)
    chosen = np.zeros(scores.size)
    for order in itertools.permutations(range(scores.size)):
        left = 1.0
        for index in order:
            chosen[index] += left * accept[index]
            left *= 1 - accept[index]
    return chosen / math.factorial(scores.size)


def test_selection_has_the_exact_probabilities_of_permute_and_flip() -> None:
    scores = np.array([3, 1, 0, 3, 2])
    chosen = [NOISE.permute_and_flip(scores, 2.0) for _ in range(20_000)]
    counts = np.bincount(chosen, minlength=scores.size)
    assert fits(counts, permute_and_flip_probabilities(scores, 2.0))


@pytest.mark.attack
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_no_two_coordinates_and_no_two_calls_share_noise(mechanism: str) -> None:
    # False alarm: 91 pairs · 8.5e-9 = 7.7e-7.
    calls = [draws(mechanism, zeros(7), UNIT) for _ in range(2)]
    assert all_different_up_to_sign(np.concatenate(calls))


@pytest.mark.attack
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_cores_do_not_share_noise(mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # False alarm: two of 2048 pairs equal, (2048 · 8.5e-9)² / 2 = 1.5e-10.
    monkeypatch.setattr("privclust.privacy.noise.available_cores", lambda: 2)
    first, second = draws(mechanism, zeros(4096), UNIT).reshape(2, 2048)
    assert np.count_nonzero(first == second) < 2


@pytest.mark.attack
@pytest.mark.parametrize("cores", [1, 2])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_parts_of_a_long_result_do_not_share_noise(
    mechanism: str, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # False alarm: two of 1024 · 6 pairs equal, (6144 · 8.5e-9)² / 2 = 1.4e-9.
    monkeypatch.setattr("privclust.privacy.noise.available_cores", lambda: cores)
    monkeypatch.setattr("privclust.privacy.noise._MOST_AT_ONCE", 1024)
    exact = np.arange(4096) << 40
    parts = (draws(mechanism, exact, UNIT) - exact).reshape(4, 1024)
    assert sum(np.count_nonzero(a == b) for a, b in itertools.combinations(parts, 2)) < 2
    assert np.abs(parts).max() < 2**33


@pytest.mark.attack
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_two_noise_sources_do_not_share_noise(mechanism: str) -> None:
    # False alarm: 91 pairs · 8.5e-9 = 7.7e-7.
    sources = [OpenDPNoise(), noise_source()]
    calls = [getattr(source, mechanism)(zeros(7), float(UNIT)) for source in sources]
    assert all_different_up_to_sign(np.concatenate(calls))


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_processes_that_were_forked_do_not_share_noise(mechanism: str) -> None:
    """A generator seeded before the fork would go on alike in parent and children.

    In a process of its own, since libraries loaded by other tests may not survive a fork.
    """
    # False alarm: 91 pairs · 8.5e-9 = 7.7e-7.
    done = subprocess.run(
        [sys.executable, "-c", FORKED, mechanism], capture_output=True, text=True, check=True
    )
    values = np.array(done.stdout.split(), dtype=np.int64)
    assert values.size == 14
    assert all_different_up_to_sign(values)


@pytest.mark.attack
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_every_coordinate_gets_noise_whatever_its_exact_value(mechanism: str) -> None:
    # False alarm: a draw is 0 with probability at most 1/(2 s) = 7.5e-9; 8 · 7.5e-9 = 6e-8.
    exact = np.array([0, 0, 0, 1, -1, UNIT, -UNIT, 2**40])
    assert np.all(draws(mechanism, exact, UNIT) != exact)


@pytest.mark.attack
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_low_bits_of_the_noise_vary(mechanism: str) -> None:
    # Each of the 26 low bits is fair to 3 %: 60 alike have probability 2·0.53^60 = 6e-17.
    noise = draws(mechanism, zeros(60), UNIT)
    for bit in range(26):
        assert 0 < np.count_nonzero(noise >> bit & 1) < 60


@pytest.mark.attack
def test_selection_is_random() -> None:
    # Ten equal scores, 20 calls: all alike with probability 10^-19.
    scores = np.full(10, 5 * UNIT)
    assert len({NOISE.permute_and_flip(scores, float(UNIT)) for _ in range(20)}) > 1


@pytest.mark.attack
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_noise_has_the_requested_size(mechanism: str) -> None:
    # Of 400 draws, those beyond one scale are Binomial(400, p) with p = 0.3173 or 0.3679. By
    # Hoeffding the share is off by 0.14 with probability below 2·exp(-2·400·0.14²) = 3.1e-7.
    share = {"gaussian": math.erfc(math.sqrt(0.5)), "laplace": math.exp(-1)}[mechanism]
    beyond = np.abs(draws(mechanism, zeros(400), UNIT)) > UNIT
    assert abs(beyond.mean() - share) < 0.14


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_totals_at_the_clamp_do_not_wrap(mechanism: str) -> None:
    # The range of 50 scales is exceeded with probability 100·exp(-50) = 2e-20.
    exact = np.repeat(np.array([2**62, -(2**62)]), 50)
    pairs = zip(draws(mechanism, exact, UNIT), exact, strict=True)
    moved = [int(noisy) - int(old) for noisy, old in pairs]
    assert 0 < max(map(abs, moved)) < 50 * UNIT


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_results_beyond_64_bits_saturate_instead_of_wrapping(mechanism: str) -> None:
    largest, smallest = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    exact = np.repeat(np.array([largest, smallest]), 40)
    noisy = draws(mechanism, exact, UNIT)
    # Half of all draws point outwards; that none of 40 does has probability 2^-40 on either side.
    assert np.all(noisy[:40] > 2**62)
    assert np.all(noisy[40:] < -(2**62))
    assert np.any(noisy[:40] == largest)
    assert np.any(noisy[40:] == smallest)


def vectors() -> Any:
    return dp.vector_domain(dp.atom_domain(T="i64"))


def opendp_cost(mechanism: Any, moved: float) -> float:
    return float(mechanism.map(moved))


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 7.7])
@pytest.mark.parametrize("moved", [UNIT, 3 * UNIT, 10**12 + 1])
def test_opendp_agrees_on_what_laplace_noise_and_selections_cost(
    epsilon: float, moved: int
) -> None:
    laplace = dp.m.make_laplace(vectors(), dp.l1_distance(T="i64"), scale=moved / epsilon)
    assert epsilon * (1 - 1e-9) <= opendp_cost(laplace, moved) <= epsilon * (1 + 1e-9)
    for monotone, moves in ((True, 1), (False, 2)):
        metric = dp.linf_distance(T="i64", monotonic=monotone)
        scale = moves * moved / epsilon
        choice = dp.m.make_noisy_max(vectors(), metric, dp.max_divergence(), scale=scale)
        assert epsilon * (1 - 1e-9) <= opendp_cost(choice, moved) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.05, 0.2367, 1.0, 8.0])
def test_opendp_agrees_on_what_gaussian_noise_costs(mu: float) -> None:
    # OpenDP counts in zero-concentrated rho, and mu-GDP of the Gaussian is rho = mu²/2.
    gaussian = dp.m.make_gaussian(vectors(), dp.l2_distance(T="f64"), scale=UNIT / mu)
    assert opendp_cost(gaussian, float(UNIT)) == pytest.approx(mu**2 / 2, rel=1e-9)


@pytest.mark.attack
def test_noise_is_opendp_unless_a_test_says_otherwise() -> None:
    assert noise_source().name == "OpenDP"
    with noise_from(NoNoise()):
        assert noise_source().name == "none"
    assert noise_source().name == "OpenDP"
