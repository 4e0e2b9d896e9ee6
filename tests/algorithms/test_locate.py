"""Locating: where the rows are and how far they reach, however loose the bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privclust.algorithms._cells import SMALLEST
from privclust.algorithms._locate import (
    LOCATE_SHARE,
    LOCATE_SHARE_MAX,
    LOCATE_STEPS,
    locate,
    locate_roughly,
)
from privclust.algorithms._refine import Centers
from privclust.algorithms.private_kmeans import plan
from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import GRID, FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.noise import NoNoise
from privclust.privacy.plan import Slot
from privclust.queries.shells import numbers_changed
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)


def normal(n_rows: int, n_columns: int) -> FloatArray:
    return np.random.default_rng(0).normal(size=(n_rows, n_columns))


def around(n_columns: int, wider: float) -> Ball:
    """Bounds about normal rows: tight, or some times too wide."""
    return Ball(np.zeros(n_columns), 2 * math.sqrt(n_columns) * wider)


def on_one_side(n_columns: int, wider: float) -> Box:
    """Bounds that have normal rows about 5 in a corner, unless they are tight."""
    return Box(np.zeros(n_columns), np.full(n_columns, 10.0 * wider))


def opened(rows: FloatArray, domain: Domain) -> Curator:
    spending = plan(2, rows.shape[1], BUDGET).spending
    return Curator.open(NumpyEngine(rows, domain), spending)


def located(
    rows: FloatArray, domain: Domain, seed: int = 0, sampling_exponent: int = 0
) -> tuple[Centers, Curator]:
    with noise_from(SeededNoise(seed)):
        curator = opened(rows, domain)
        seen = locate_roughly(curator, rows.shape[1])
        n_rows = max(1, round(float(seen.counts[0])))
        return locate(curator.sample(sampling_exponent), seen, n_rows), curator


def compared(found: Centers, rows: FloatArray, domain: Domain) -> tuple[float, float]:
    """Return the radius found, and how far off the centre is, over the radius 80% lie within."""
    unit = domain.to_grid(rows) / GRID
    mean = unit.mean(axis=0)
    radius = float(np.quantile(np.linalg.norm(unit - mean, axis=1), 0.8))
    return float(found.radii[0]) / radius, float(np.linalg.norm(found.points[0] - mean)) / radius


def steps(curator: Curator) -> int:
    return sum(release.slot.startswith("locate") for release in curator.releases)


@pytest.mark.parametrize("wider", [1, 10, 100, 1000])
@pytest.mark.parametrize("one_sided", [False, True], ids=["around", "one-sided"])
@pytest.mark.parametrize("n_columns", [1, 4, 40])
def test_rows_are_located_however_wide_the_bounds(
    n_columns: int, one_sided: bool, wider: float
) -> None:
    rows = normal(5000, n_columns) + (5.0 if one_sided else 0.0)
    domain = on_one_side(n_columns, wider) if one_sided else around(n_columns, wider)
    radius, away = compared(located(rows, domain)[0], rows, domain)
    assert 0.6 < radius < 1.5
    assert away < 0.25


@pytest.mark.parametrize("n_columns", [1, 4, 40])
def test_tight_bounds_take_one_more_step_and_loose_ones_no_more_than_needed(
    n_columns: int,
) -> None:
    rows = normal(5000, n_columns)
    _, tight = located(rows, around(n_columns, 1))
    _, loose = located(rows + 5, on_one_side(n_columns, 100))
    assert steps(tight) == 2
    assert steps(tight) < steps(loose) < LOCATE_STEPS
    # Each step after the first has a histogram of half its share, and one more ends the search.
    spent = LOCATE_SHARE * (1 + 1.5 + 0.5)
    assert tight.left == pytest.approx(1 - spent)


def test_steps_that_are_not_needed_are_left_to_the_rest() -> None:
    """All that is left, and not a thousandth more, can be planned again."""
    for domain in (around(4, 1), on_one_side(4, 100)):
        _, curator = located(normal(5000, 4), domain)
        with pytest.raises(ValueError, match="more than the plan reserved"):
            curator.refine([Slot("rest", curator.left + 0.001, numbers_changed(4))])
        curator.refine([Slot("rest", curator.left, numbers_changed(4))])
        assert math.fsum(slot.share for slot in curator.plan.slots) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("n_rows", "share"), [(1, LOCATE_SHARE_MAX), (1500, None), (10**6, LOCATE_SHARE)]
)
def test_few_rows_are_located_with_more_of_the_budget(n_rows: int, share: float | None) -> None:
    """In between, a count of all rows is 55 standard deviations."""
    with noise_from(NoNoise()):
        curator = opened(normal(10, 4), around(4, 1))
        locate(curator, locate_roughly(curator, 4), n_rows)
    found = curator.plan.slot("locate 2").share
    assert found == pytest.approx(share or (55 / (n_rows * curator.plan.reserve.mu)) ** 2)
    assert math.fsum(slot.share for slot in curator.plan.slots) == pytest.approx(1.0)


def test_first_step_counts_rows_and_finds_their_mean() -> None:
    rows = normal(20_000, 3) * 0.01 + [0.1, 0.0, -0.1]
    with noise_from(NoNoise()):
        seen = locate_roughly(opened(rows, Ball(np.zeros(3), 1.0)), 3)
    assert seen.counts[0] == pytest.approx(20_000)
    np.testing.assert_allclose(seen.centers[0], rows.mean(axis=0), atol=0.01)


@pytest.mark.parametrize("wider", [10, 100])
def test_faint_tables_are_located_in_wide_bounds(wider: float) -> None:
    """150 rows are 36 standard deviations of all the budget; the median of 20 fits is good.

    Within a factor 4 in at least 17: 20 and 19 were measured. Rows in a corner of such bounds are
    not tried here: the same count was 13 and 8 of 20.
    """
    rows, domain = normal(150, 4), around(4, wider)
    fits = np.array([compared(located(rows, domain, seed)[0], rows, domain) for seed in range(20)])
    radius, away = np.median(fits, axis=0)
    assert 0.7 < radius < 1.5
    assert away < 0.5
    assert np.count_nonzero((fits[:, 0] > 0.25) & (fits[:, 0] < 4) & (fits[:, 1] < 4)) >= 17


@pytest.mark.parametrize("noise", [NoNoise(), SeededNoise(0)])
@pytest.mark.parametrize("n_rows", [0, 1, 7])
def test_hardly_any_rows_have_a_finite_place_in_the_ball(
    noise: NoNoise | SeededNoise, n_rows: int
) -> None:
    with noise_from(noise):
        curator = opened(np.full((n_rows, 2), 0.3), Ball([0.0, 0.0], 1.0))
        found = locate(curator, locate_roughly(curator, 2), 1)
    assert np.isfinite(found.variance).all()
    assert 0 < found.radii[0] <= 1
    assert np.linalg.norm(found.points) <= 1


@pytest.mark.parametrize("n_rows", [10, 5000])
def test_equal_rows_are_located_whatever_the_bounds(n_rows: int) -> None:
    """Their radius shrinks from step to step, to below what a query can measure in."""
    for noise in (NoNoise(), SeededNoise(0)):
        with noise_from(noise):
            curator = opened(np.full((n_rows, 2), 0.3), Ball([0.0, 0.0], 1.0))
            found = locate(curator, locate_roughly(curator, 2), n_rows)
        assert SMALLEST <= found.radii[0] <= 1


@pytest.mark.parametrize("one_sided", [False, True], ids=["around", "one-sided"])
def test_a_sample_is_located_as_its_table_is_and_says_it_knows_less(one_sided: bool) -> None:
    rows = normal(20_000, 4) + (5.0 if one_sided else 0.0)
    domain = on_one_side(4, 100) if one_sided else around(4, 100)
    whole, _ = located(rows, domain)
    found, curator = located(rows, domain, sampling_exponent=3)
    radius, away = compared(found, rows, domain)
    assert 0.6 < radius < 1.5
    assert away < 0.25
    assert found.variance[0] > whole.variance[0]
    assert {release.sampling_exponent for release in curator.releases[1:]} == {3}
