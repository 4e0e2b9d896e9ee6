"""What a fit with noise in shares costs, by whom one is seen: second accountant and lemma."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from helpers.share_sums import cohorts, lemma_slack, sum_of_shares
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.kernels.grid import UNIT
from privclust.privacy.accounting import MU_MAX, QUANTA, Spend, epsilon_of_spend, gaussian_spend
from privclust.privacy.noise_shares import (
    MEMBERS_MAX,
    NoiseShare,
    spend_against_all_others,
    spend_at_nodes,
    spend_of_outsiders,
)

mp: Any = mpmath.MPContext()
mp.dps = 40


def pld_epsilon(members: int, sigma: float, shift: int, replies: int, delta: float) -> float:
    """Ask dp-accounting for the epsilon of `replies` sums with the noise of so many shares."""
    mass = sum_of_shares(members, sigma)
    logs = dict(enumerate(np.log(mass[mass > 1e-280]).tolist()))
    moved = {x + shift: log for x, log in logs.items()}
    one = privacy_loss_distribution.from_two_probability_mass_functions(
        logs, moved, value_discretization_interval=1e-4
    )
    return float(one.self_compose(replies).get_epsilon_for_delta(delta))


@pytest.mark.parametrize(
    ("share", "sigma", "shift", "replies"),
    [
        (NoiseShare(3, 1), 24.0, 6, 1),
        (NoiseShare(3, 2), 24.0, 6, 8),
        (NoiseShare(10, 2), 40.0, 8, 4),
        (NoiseShare(16, 5), 40.0, 20, 2),
    ],
)
def test_second_accountant_agrees_with_every_line_of_a_statement(
    share: NoiseShare, sigma: float, shift: int, replies: int
) -> None:
    delta, mu = 1e-6, shift / sigma
    each = sigma / math.sqrt(share.honest)
    quanta, slack = math.ceil(mu**2 * QUANTA), lemma_slack(sigma, mu, 1)
    one = Spend(quanta, slack, 2 * math.exp(-72), None)
    spend = sum([one] * replies, Spend())
    for seen, claimed in (
        (share.honest, spend),
        (1, spend_against_all_others(spend, share)),
        (share.members, spend_of_outsiders(spend, share)),
    ):
        stated = epsilon_of_spend(claimed, delta)
        found = pld_epsilon(seen, each, shift, replies, delta)
        rounding = replies * 1e-4  # dp-accounting rounds each loss up to its next interval
        assert found - rounding <= stated <= found + 3 * claimed.slack + 0.01 * found


@pytest.mark.attack
@pytest.mark.parametrize("nodes", [2, 3])
def test_somebody_at_several_nodes_is_stated_and_the_sum_of_ledgers_would_be_too_little(
    nodes: int,
) -> None:
    share, sigma, shift, delta = NoiseShare(4, 1), 60.0, 12, 1e-6
    mu = shift / sigma
    slack = lemma_slack(sigma, mu, 1)
    spend = Spend(math.ceil(mu**2 * QUANTA), slack, 2 * math.exp(-72), None)
    found = pld_epsilon(share.honest, sigma / math.sqrt(share.honest), nodes * shift, 1, delta)
    stated = epsilon_of_spend(spend_at_nodes(spend, nodes), delta)
    assert found - 1e-4 <= stated <= found + 3 * nodes**3 * slack + 0.01 * found
    ledgers = epsilon_of_spend(sum([spend] * nodes, Spend()), delta)
    assert ledgers < found - 0.1


@given(
    st.lists(st.lists(st.floats(0.0, 8.0), min_size=3, max_size=3), min_size=1, max_size=9),
)
def test_ledgers_bound_somebody_by_the_square_of_the_sum_of_their_mus(
    replies: list[list[float]],
) -> None:
    # Minkowski: rows are replies, columns the nodes' mus for it.
    mus = np.array(replies)
    together = math.sqrt((mus.sum(axis=1) ** 2).sum())
    each = np.sqrt((mus**2).sum(axis=0))
    assert together <= each.sum() * (1 + 1e-12)
    assert together**2 <= 3 * (each**2).sum() * (1 + 1e-12)


@given(
    st.integers(1, 5).flatmap(
        lambda nodes: st.lists(
            st.tuples(st.floats(0.0, 8.0), st.lists(st.booleans(), min_size=nodes, max_size=nodes)),
            min_size=1,
            max_size=9,
        )
    )
)
def test_unit_declared_for_several_nodes_is_bounded_by_the_mean_of_their_ledgers(
    replies: list[tuple[float, list[bool]]],
) -> None:
    # Noise is made for all nodes at once; each that takes part charges the reply's whole mu.
    nodes = len(replies[0][1])
    truth = sum((mu * sum(part) / nodes) ** 2 for mu, part in replies)
    ledgers = [sum(mu**2 for mu, part in replies if part[node]) for node in range(nodes)]
    assert truth <= sum(ledgers) / nodes * (1 + 1e-12) <= max(ledgers) * (1 + 2e-12)


slots = st.lists(
    st.tuples(st.integers(1, MU_MAX**2 * QUANTA), st.integers(1, 2**24)), min_size=1, max_size=6
)


def lemma_of(
    charges: list[tuple[int, int]], noise: Fraction, moved: int, wider: int
) -> tuple[Fraction, Any, Any]:
    """Add up the lemma's mu², H and tau where noise has `noise` times its variance.

    Sums move by `moved` sensitivities, in `wider` times as many coordinates.
    """
    mu2 = sum((Fraction(quanta) for quanta, _ in charges), Fraction(0)) * moved**2 / noise
    slack, tail = mp.mpf(0), mp.mpf(0)
    scale = mp.mpf(noise.numerator) / noise.denominator
    for quanta, changed in charges:
        mu = mp.sqrt(mp.mpf(quanta) / QUANTA)
        variance = mp.mpf(UNIT) ** 2 / mu**2 * scale
        moved_by = moved * mu / mp.sqrt(scale)
        slack += wider * changed * (1 + (12 + moved_by) ** 2) / (24 * variance)
        tail += 2 * wider * changed * mp.exp(-72)
    return mu2, slack * mp.mpf("1.01"), tail


ALMOST = 1 - mp.mpf("1e-12")
"""H and tau are rounded to nearest; the proof leaves more than that unused."""


@pytest.mark.attack
@given(slots, cohorts())
@settings(deadline=None)
def test_cost_against_all_others_is_that_of_one_share(
    charges: list[tuple[int, int]], share: NoiseShare
) -> None:
    reserved = sum((gaussian_spend(*charge) for charge in charges), Spend())
    alone = spend_against_all_others(reserved, share)
    mu2, slack, tail = lemma_of(charges, Fraction(1, share.honest), 1, 1)
    assert alone.quanta == mu2
    assert alone.slack >= slack * ALMOST
    assert alone.slack <= slack * share.honest / ALMOST
    assert alone.tail >= tail * ALMOST
    assert alone.pure is None


@pytest.mark.attack
@given(slots, cohorts())
@settings(deadline=None)
def test_cost_of_outsiders_is_that_of_all_shares(
    charges: list[tuple[int, int]], share: NoiseShare
) -> None:
    reserved = sum((gaussian_spend(*charge) for charge in charges), Spend())
    outside = spend_of_outsiders(reserved, share)
    mu2, slack, tail = lemma_of(charges, Fraction(share.members, share.honest), 1, 1)
    assert mu2 <= outside.quanta < mu2 + 1
    assert outside.slack >= slack * ALMOST
    assert outside.tail >= tail * ALMOST
    assert outside.within(reserved)


@given(slots, st.integers(1, MEMBERS_MAX))
@settings(deadline=None)
def test_cost_at_several_nodes_is_that_of_as_many_sensitivities(
    charges: list[tuple[int, int]], nodes: int
) -> None:
    reserved = sum((gaussian_spend(*charge) for charge in charges), Spend())
    several = spend_at_nodes(reserved, nodes)
    mu2, slack, tail = lemma_of(charges, Fraction(1), nodes, nodes)
    assert several.quanta == mu2
    assert several.slack >= slack * ALMOST
    assert several.tail >= tail * ALMOST
    assert spend_at_nodes(reserved, 1) == reserved


@given(slots, cohorts(), st.data())
def test_the_largest_cohort_stands_for_smaller_ones(
    charges: list[tuple[int, int]], share: NoiseShare, data: st.DataObject
) -> None:
    reserved = sum((gaussian_spend(*charge) for charge in charges), Spend())
    fewer = NoiseShare(data.draw(st.integers(share.colluding + 1, share.members)), share.colluding)
    for bound in (spend_against_all_others, spend_of_outsiders):
        assert bound(reserved, fewer).within(bound(reserved, share))


def test_pure_costs_have_no_shares() -> None:
    share, pure = NoiseShare(3, 1), Spend(5, pure=5)
    with pytest.raises(ValueError, match="only Gaussian noise comes in shares"):
        spend_against_all_others(pure, share)
    with pytest.raises(ValueError, match="only Gaussian noise comes in shares"):
        spend_of_outsiders(pure, share)
    with pytest.raises(ValueError, match="only Gaussian noise comes in shares"):
        spend_at_nodes(pure, 2)
    assert spend_against_all_others(Spend(), share) == spend_of_outsiders(Spend(), share) == Spend()


@pytest.mark.parametrize("nodes", [0, -1, 1001, 2.0, True])
def test_impossible_numbers_of_nodes_are_refused(nodes: int) -> None:
    with pytest.raises(ValueError, match="rows lie at 1 to 1000 nodes"):
        spend_at_nodes(Spend(1, pure=None), nodes)
