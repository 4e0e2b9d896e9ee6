"""The closed forms against 60 digits, a second accountant, and exact sums of the lemma."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import example, given, settings
from hypothesis import strategies as st

from privclust.kernels.grid import UNIT
from privclust.privacy.accounting import (
    EPSILON_MIN,
    MU_MAX,
    QUANTA,
    Budget,
    Spend,
    delta_of,
    epsilon_of,
    gaussian_spend,
    mu_of,
    pure_epsilon_of,
    pure_spend,
)
from privclust.privacy.plan import SLOTS_MAX, Slot, make_plan

# A context of its own: the precision of other users of mpmath stays what it is.
mp: Any = mpmath.MPContext()
mp.dps = 60

EPSILONS = (0.05, 0.13, 0.25, 0.5, 1.0, 1.7, 3.0, 4.0, 8.0)
DELTAS = (1e-12, 3.7e-11, 1e-9, 2.5e-8, 1e-6, 7e-6, 1e-5, 4e-4, 1e-3)
GRID = list(itertools.product(EPSILONS, DELTAS))


def pure(epsilon: float) -> Spend:
    return pure_spend(int(epsilon * QUANTA))


def cdf(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def exact_delta(mu: Any, epsilon: Any) -> Any:
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    return cdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * cdf(-mu / 2 - epsilon / mu)


def exact_mu(epsilon: float, delta: float) -> Any:
    return mp.findroot(
        lambda mu: mp.log(exact_delta(mu, epsilon) / delta), mp.mpf(mu_of(epsilon, delta))
    )


def exact_epsilon(mu: float, delta: float) -> Any:
    return mp.findroot(
        lambda epsilon: mp.log(exact_delta(mu, epsilon) / delta), mp.mpf(epsilon_of(mu, delta))
    )


def exact_pure_mu(epsilon: float) -> Any:
    share = 1 / (1 + mp.exp(mp.mpf(epsilon)))
    return mp.findroot(lambda mu: mp.log(cdf(-mu / 2) / share), mp.mpf(pure(epsilon).mu), tol=1e-50)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_delta_is_right_to_nine_digits_and_never_below_the_true_one(epsilon: float) -> None:
    granted = [mu_of(epsilon, delta) for delta in DELTAS]
    for mu in (*granted, *np.geomspace(granted[0], 8.0, 25).tolist()):
        true = exact_delta(mu, epsilon)
        assert true <= mp.mpf(delta_of(mu, epsilon)) <= true * (1 + mp.mpf("1e-9"))


@pytest.mark.parametrize("epsilon", [EPSILON_MIN, float(MU_MAX)])
def test_delta_is_right_at_the_ends_of_what_a_budget_accepts(epsilon: float) -> None:
    for mu in np.geomspace(mu_of(epsilon, 1e-12), 32.0, 40).tolist():
        true = exact_delta(mu, epsilon)
        assert true <= mp.mpf(delta_of(mu, epsilon)) <= true * (1 + mp.mpf("1e-9"))


def test_mu_is_right_to_nine_digits_and_never_above_the_true_one() -> None:
    for epsilon, delta in GRID:
        true = exact_mu(epsilon, delta)
        assert true * (1 - mp.mpf("1e-9")) <= mp.mpf(mu_of(epsilon, delta)) <= true


def test_epsilon_is_right_to_nine_digits_and_never_below_the_true_one() -> None:
    for (epsilon, delta), factor in itertools.product(GRID, (1.0, 1.3)):
        mu = factor * mu_of(epsilon, delta)
        true = exact_epsilon(mu, delta)
        assert true <= mp.mpf(epsilon_of(mu, delta)) <= true * (1 + mp.mpf("1e-9"))


def test_nothing_released_costs_nothing() -> None:
    assert delta_of(0.0, 1.0) == 0.0
    assert epsilon_of(0.0, 1e-6) == 0.0
    assert Budget(EPSILON_MIN, 0.0).admits(Spend())


@pytest.mark.parametrize(
    ("epsilon", "delta", "releases"),
    [
        (0.25, 1e-6, 1),
        (0.5, 1e-3, 3),
        (1.0, 1e-6, 10),
        (1.0, 1e-9, 32),
        (2.0, 1e-6, 100),
        (4.0, 1e-9, 100),
        (8.0, 1e-5, 100),
    ],
)
def test_composed_epsilon_agrees_with_a_privacy_loss_distribution(
    epsilon: float, delta: float, releases: int
) -> None:
    slots = [Slot(str(number), 1 / releases) for number in range(releases)]
    plan = make_plan(Budget(epsilon, delta), slots)
    sigma = 1 / plan.price(slots[0]).mu
    one = privacy_loss_distribution.from_gaussian_mechanism(
        sigma, value_discretization_interval=1e-5
    )
    composed = one.self_compose(releases).get_epsilon_for_delta(delta)
    assert composed == pytest.approx(epsilon, rel=0, abs=1e-4)


def hockey_stick(sigma: float, shift: tuple[int, ...], epsilon: float) -> float:
    """Bound the divergence of discrete Gaussians at 0 and at `shift` by an exact sum, from above.

    All terms are positive, so float64 keeps twelve digits; what lies beyond 16 sigma is added
    whole, by the tail bound that `test_a_discrete_gaussian_rarely_exceeds_twelve_sigma` tries.
    """
    width = math.ceil(16 * sigma)
    x = np.arange(-width, width + 1)
    weights = np.exp(-(x**2) / (2 * sigma**2))
    mass, loss = np.ones(1), np.zeros(1)
    for moved in shift:
        mass = np.outer(mass, weights / weights.sum()).ravel()
        loss = np.add.outer(loss, (moved**2 - 2 * x * moved) / (2 * sigma**2)).ravel()
    terms = mass * -np.expm1(np.minimum(0.0, epsilon - loss))
    return float(terms.sum()) * (1 + 1e-12) + 2 * len(shift) * math.exp(-128)


def lemma_slack(sigma: float, mu: float, changed: int) -> float:
    return 1.01 * changed * (1 + (12 + mu) ** 2) / (24 * sigma**2)


def shifts(sigma: float, changed: int) -> Iterator[tuple[int, ...]]:
    sizes = sorted({1, 2, 3, int(sigma / 2), int(sigma), int(1.4 * sigma), int(2 * sigma)})
    yield from itertools.combinations_with_replacement(sizes, changed)


@pytest.mark.parametrize("changed", [1, 2])
@pytest.mark.parametrize("sigma", [4.0, 5.5, 8.0, 11.3, 16.0])
def test_lemma_bounds_the_exact_divergence_of_discrete_gaussians(
    sigma: float, changed: int
) -> None:
    for shift in shifts(sigma, changed):
        mu = math.hypot(*shift) / sigma
        slack = lemma_slack(sigma, mu, changed)
        tail = 2 * changed * math.exp(-72)
        for epsilon in (0.01, 0.1, 0.3, 0.7, 1.0, 2.0, 4.0, 8.0):
            guaranteed = math.exp(slack) * delta_of(mu, epsilon) + tail
            # The proof needs one slack where the statement grants two; both are tried.
            assert hockey_stick(sigma, shift, epsilon + slack) <= guaranteed
            assert hockey_stick(sigma, shift, epsilon + 2 * slack) <= guaranteed


def test_lemma_needs_its_slack() -> None:
    assert hockey_stick(4.0, (1,), 2.0) > 1.1 * delta_of(0.25, 2.0)
    assert hockey_stick(5.5, (1, 1), 2.0) > 1.03 * delta_of(math.sqrt(2) / 5.5, 2.0)


@pytest.mark.parametrize("sigma", ["0.5", "1", "4", "5.5", "16"])
def test_rounded_over_discrete_gaussian_mass_stays_within_the_pointwise_bound(sigma: str) -> None:
    # Proved for all x: -1 <= 24 sigma² log(rounded/discrete) <= z² + 24 sigma² eta, hence at most
    # 1 + z² in size and 1.01 is margin. eta is the normalisation; below 1e-130 for sigma >= 4.
    s = mp.mpf(sigma)
    normaliser = mp.fsum(mp.exp(-(mp.mpf(x) ** 2) / (2 * s**2)) for x in range(-400, 401))
    eta = mp.log(normaliser / (s * mp.sqrt(2 * mp.pi)))
    assert -mp.mpf("1e-50") <= eta <= 3 * mp.exp(-2 * (mp.pi * s) ** 2) + mp.mpf("1e-50")
    for x in range(math.ceil(14 * s) + 1):
        rounded = cdf(-(x - mp.mpf("0.5")) / s) - cdf(-(x + mp.mpf("0.5")) / s)
        discrete = mp.exp(-(mp.mpf(x) ** 2) / (2 * s**2)) / normaliser
        scaled, z = 24 * s**2 * mp.log(rounded / discrete), x / s
        assert -1 <= scaled <= z**2 + 24 * s**2 * eta + mp.mpf("1e-40")
        assert abs(scaled) <= 1 + z**2


@pytest.mark.parametrize("sigma", ["0.5", "4", "5.5", "16"])
def test_a_discrete_gaussian_rarely_exceeds_twelve_sigma(sigma: str) -> None:
    s = mp.mpf(sigma)
    weights = [mp.exp(-(mp.mpf(x) ** 2) / (2 * s**2)) for x in range(400)]
    whole = 2 * mp.fsum(weights) - 1
    for multiple in (1, 3, 12):
        beyond = 2 * mp.fsum(w for x, w in enumerate(weights) if x > multiple * s)
        assert beyond / whole <= 2 * mp.exp(-(mp.mpf(multiple) ** 2) / 2)


@pytest.mark.parametrize("changed", [1, 6, 5050])
@pytest.mark.parametrize("mu", [0.01, 0.2367, 1.0, 7.5, 64.0])
def test_gaussian_spend_carries_the_slack_and_tail_of_the_lemma(mu: float, changed: int) -> None:
    spend = gaussian_spend(int(mu**2 * QUANTA), changed)
    assert spend.slack == pytest.approx(lemma_slack(UNIT / mu, mu, changed), rel=1e-12)
    assert spend.tail == pytest.approx(2 * changed * math.exp(-72), rel=1e-12)
    assert spend.epsilon == math.inf
    # A query of larger sensitivity has a larger sigma, so this is the largest slack it can need.
    assert spend.slack * (1 + 1e-12) >= lemma_slack(3 * UNIT / mu, mu, changed)


@pytest.mark.attack
def test_spends_add_part_by_part_and_quanta_exactly() -> None:
    parts = [Spend(QUANTA * 4096 + 1, 0.5, 0.25, 1), Spend(1, 0.25, 0.5, 2), Spend(2)]
    total = Spend(QUANTA * 4096 + 4, 0.75, 0.75, 3)
    assert (Spend(pure=None) + Spend(pure=7)).pure is None
    assert all(sum(order, Spend()) == total for order in itertools.permutations(parts))
    assert Spend(QUANTA // 4).mu2 == 0.25
    assert Spend(QUANTA // 4).mu == 0.5


@pytest.mark.parametrize(
    "more",
    [
        Spend(11, 1.0, 1.0, 5),
        Spend(10, math.nextafter(1.0, 2.0), 1.0, 5),
        Spend(10, 1.0, math.nextafter(1.0, 2.0), 5),
        Spend(10, 1.0, 1.0, 6),
        Spend(10, 1.0, 1.0, None),
    ],
)
def test_within_refuses_when_any_one_part_exceeds(more: Spend) -> None:
    allowance = Spend(10, 1.0, 1.0, 5)
    assert allowance.within(allowance)
    assert allowance.within(replace(allowance, pure=None))
    assert not more.within(allowance)


@pytest.mark.parametrize("epsilon", [0.0, 0.0099, -1.0, 64.1, math.inf, math.nan])
def test_budget_refuses_an_epsilon_out_of_range_and_says_what_to_do(epsilon: float) -> None:
    message = rf"epsilon must lie between 0\.01 and 64, got {epsilon!r}\. Common choices"
    with pytest.raises(ValueError, match=message):
        Budget(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [-1e-9, 1e-16, 1.0, 2.0, math.inf, math.nan])
def test_budget_refuses_a_delta_out_of_range_and_says_what_to_do(delta: float) -> None:
    message = rf"delta must be at least 1e-15 and below 1 .*, got {delta!r}\. Type a value"
    with pytest.raises(ValueError, match=message):
        Budget(1.0, delta)


def test_budget_admits_the_largest_mu_and_no_more() -> None:
    # What is set aside for slack and tail costs less than 1e-6 of mu².
    for epsilon, delta in GRID:
        quanta = int(mu_of(epsilon, delta) ** 2 * QUANTA)
        assert Budget(epsilon, delta).admits(gaussian_spend(int(quanta * (1 - 1e-6)), 1))
        assert not Budget(epsilon, delta).admits(gaussian_spend(quanta, 1))


def test_capacity_keeps_the_guarantee_whatever_part_of_it_is_spent() -> None:
    for epsilon, delta in GRID:
        most = Budget(epsilon, delta).capacity
        slack, tail = mp.mpf(most.slack), mp.mpf(most.tail)
        mu = mp.sqrt(mp.mpf(most.quanta) / QUANTA)
        assert mp.exp(slack) * exact_delta(mu, epsilon - 2 * slack) + tail <= delta


def test_budget_limits_slack_and_tail_by_themselves() -> None:
    budget = Budget(1.0, 1e-6)
    half = replace(budget.capacity, quanta=budget.capacity.quanta // 2)
    assert budget.admits(half)
    assert not budget.admits(replace(half, slack=half.slack * (1 + 1e-9)))
    assert not budget.admits(replace(half, tail=half.tail * (1 + 1e-9)))


@pytest.mark.parametrize("allowance", [Spend(10, 1.0, 1.0, 5), Spend(10, 1.0, 1.0, None)])
def test_what_is_left_never_goes_below_zero(allowance: Spend) -> None:
    assert Spend(4, 0.25, 0.5, 2).left_of(allowance) == Spend(
        6, 0.75, 0.5, None if allowance.pure is None else 3
    )
    over = Spend(11, 2.0, 2.0, None)
    assert over.left_of(allowance) == Spend(0, 0, 0, None if allowance.pure is None else 0)


def test_only_a_delta_above_zero_has_a_mu() -> None:
    with pytest.raises(ValueError, match="delta above 0 has a mu"):
        mu_of(1.0, 0.0)


def test_pure_budget_admits_pure_spends_only() -> None:
    budget = Budget(1.0, 0.0)
    assert budget.admits(pure(0.5) + pure(0.5))
    assert not budget.admits(pure(0.5) + pure(0.51))
    assert not budget.admits(gaussian_spend(1, 1))


@pytest.mark.attack
@pytest.mark.parametrize("epsilon", [1e-3, 0.05, 0.25, 1.0, 2.5, 8.0, 30.0, 64.0])
def test_pure_charge_is_the_least_mu_whose_trade_off_curve_lies_below(epsilon: float) -> None:
    charged = mp.sqrt(mp.mpf(pure(epsilon).quanta) / QUANTA)
    assert exact_pure_mu(epsilon) <= charged <= exact_pure_mu(epsilon) * (1 + mp.mpf("1e-7"))
    grow = mp.exp(mp.mpf(epsilon))
    touch = 1 / (1 + grow)
    levels = [mp.mpf(k) / 200 for k in range(1, 200)] + [touch / 10**k for k in range(20)]
    for alpha in (*levels, 1 - touch):
        curve = max(mp.mpf(0), 1 - grow * alpha, (1 - alpha) / grow)
        quantile = mp.sqrt(2) * mp.erfinv(1 - 2 * alpha)
        assert cdf(quantile - charged) <= curve


def test_pure_epsilon_of_never_costs_more_than_it_was_given() -> None:
    for quanta in np.geomspace(1e-9 * QUANTA, 400 * QUANTA, 300).astype(np.int64).tolist():
        granted = pure_epsilon_of(quanta)
        assert pure_spend(granted).quanta <= quanta
        assert exact_pure_mu(granted / QUANTA) ** 2 * QUANTA <= quanta
        assert pure_spend(int(granted * (1 + 1e-4))).quanta > quanta


def exact_delta_of_pure_releases(count: int, each: float, epsilon: float) -> float:
    # Randomised response is the worst pure mechanism, so its exact divergence is the true delta.
    truth = 1 / (1 + math.exp(-each))
    return sum(
        math.comb(count, k)
        * truth**k
        * (1 - truth) ** (count - k)
        * max(0.0, 1 - math.exp(epsilon - (2 * k - count) * each))
        for k in range(count + 1)
    )


def test_twelve_pure_releases_of_epsilon_1_do_not_fit_into_epsilon_4() -> None:
    # Reading each as mu(1, 1e-6) would let twelve in, whose true delta is above 0.3.
    assert mu_of(4.0, 1e-6) ** 2 // mu_of(1.0, 1e-6) ** 2 == 12
    assert exact_delta_of_pure_releases(12, 1.0, 4.0) > 0.3
    counts = range(1, 20)
    budget = Budget(4.0, 1e-6)
    admitted = [n for n in counts if budget.admits(sum([pure(1.0)] * n, Spend()))]
    right = [n for n in counts if exact_delta_of_pure_releases(n, 1.0, 4.0) <= 1e-6]
    assert admitted == right == [1, 2, 3, 4]


@pytest.mark.parametrize(("each", "epsilon"), [(0.01, 0.5), (0.02, 1.0), (0.1, 4.0), (0.1, 8.0)])
def test_many_pure_releases_are_admitted_only_while_their_exact_delta_allows(
    each: float, epsilon: float
) -> None:
    budget = Budget(epsilon, 1e-6)
    admitted = 0
    while budget.admits(sum([pure(each)] * (admitted + 1), Spend())):
        admitted += 1
    assert admitted > epsilon / each  # The Gaussian currency beats adding epsilons here.
    assert exact_delta_of_pure_releases(admitted, each, epsilon) <= 1e-6


@st.composite
def planned(draw: st.DrawFn) -> tuple[Budget, list[Slot]]:
    weights = draw(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8))
    used = draw(st.floats(0.1, 1.0))
    slots = [
        Slot(
            name=str(number),
            share=used * weight / math.fsum(weights),
            l0=draw(st.integers(1, 1000)),
            mechanism=draw(st.sampled_from(["gaussian", "laplace", "select"])),
        )
        for number, weight in enumerate(weights)
    ]
    delta = 10 ** draw(st.floats(-12, -3))
    return Budget(draw(st.floats(0.05, 8.0)), delta), slots


@settings(deadline=None)
@given(planned())
@example((Budget(0.0625, 0.001), [Slot(str(n), 0.25, mechanism="laplace") for n in range(4)]))
def test_any_plan_fits_its_budget_and_wastes_none_of_it(case: tuple[Budget, list[Slot]]) -> None:
    budget, slots = case
    plan = make_plan(budget, slots)
    prices = sum((plan.price(slot) for slot in slots), Spend())
    assert budget.admits(plan.reserve)
    if prices.pure is None or plan.reserve.pure is None:
        assert plan.reserve.quanta - 2 * SLOTS_MAX <= prices.quanta
    else:
        assert plan.reserve.pure - 2 * SLOTS_MAX <= prices.pure
    assert prices.within(plan.reserve)
    richer = replace(plan, quanta=int(plan.quanta * 1.001))
    # Plans without Gaussian noise go by pure epsilon alone, though a large delta may allow more.
    guarantee = budget if prices.pure is None else Budget(budget.epsilon, 0.0)
    assert not guarantee.admits(sum((richer.price(slot) for slot in slots), Spend()))


@pytest.mark.attack
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64])
def test_a_budget_does_not_inherit_the_precision_of_numpy_scalars(kind: Any) -> None:
    epsilon = kind(0.5)
    assert Budget(epsilon, 1e-12).capacity == Budget(0.5, 1e-12).capacity
    assert type(Budget(epsilon, 1e-12).epsilon) is float
