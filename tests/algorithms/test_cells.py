"""Cells with tails: far rows neither set a cell's width nor are lost, and noise is no row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans

from privclust.algorithms import private_kmeans
from privclust.algorithms._cells import (
    CONFIRMED_FALSE_HINTS,
    FALSE_HINTS,
    FALSE_SHELLS,
    SMALLEST,
    Cells,
    as_coreset,
    cells_cost,
    measure_cells,
    unmeasured,
)
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.kernels.nearest import nearest
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.noise import NoiseSource, NoNoise
from privclust.privacy.plan import Slot, make_plan
from privclust.queries.shells import SHELLS_MAX, numbers_changed
from privclust.queries.unit import COORDINATES_MAX
from privclust.testing import SeededNoise, noise_from

repeatable = settings(deadline=None, derandomize=True, database=None)


def opened(rows: FloatArray, epsilon: float = 1.0) -> Curator:
    n_columns = rows.shape[1]
    engine = NumpyEngine(rows, Ball(np.zeros(n_columns), 1.0))
    slot = Slot("split 1", 1.0, numbers_changed(n_columns))
    return Curator.open(engine, make_plan(Budget(epsilon, 1e-6), [slot]))


def measured(rows: FloatArray, cells: Cells, noise: NoiseSource, epsilon: float = 1.0) -> Cells:
    with noise_from(noise):
        return measure_cells(opened(rows, epsilon), "split 1", cells)


def one_cell(radius: float, n_columns: int = 2) -> Cells:
    return unmeasured(np.zeros((1, n_columns)), np.array([radius]))


def with_far_group(n_far: int) -> tuple[FloatArray, FloatArray]:
    """Return 4,000 rows about the origin, and a few that lie 40 times as far out."""
    rng = np.random.default_rng(0)
    return rng.normal(0.0, 0.01, (4000, 2)), rng.normal([0.4, -0.3], 0.02, (n_far, 2))


# A cell and its tail -----------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [NoNoise(), SeededNoise(0)])
def test_a_cell_with_a_far_group_keeps_its_cores_radius_and_finds_the_groups_mean(
    noise: NoiseSource,
) -> None:
    near, far = with_far_group(200)
    found = measured(np.vstack([near, far]), one_cell(0.02), noise, epsilon=4.0)
    tails = found.tails
    assert tails is not None
    radius = np.sqrt((near**2).sum(axis=1).mean())
    np.testing.assert_allclose(found.radii, radius, rtol=0.1)
    np.testing.assert_allclose(found.centers, near.mean(axis=0)[None], atol=0.002)
    assert tails.certain.sum() == 1
    np.testing.assert_allclose(tails.centers[tails.certain], far.mean(axis=0)[None], atol=0.05)
    np.testing.assert_allclose(tails.counts[tails.certain], 200, atol=40)
    assert found.counts == pytest.approx([4000], rel=0.02)


def test_counts_of_a_core_and_its_tail_are_off_by_as_much_as_said() -> None:
    """Seeded, so no false alarm. Noise on the tail's count is noise on the core's, too."""
    rows, errors = np.vstack(with_far_group(200)), []
    for seed in range(200):
        found = measured(rows, one_cell(0.02), SeededNoise(seed), epsilon=4.0)
        tails = found.tails
        assert tails is not None
        ((_, shell),) = np.argwhere(tails.certain)
        core = (found.counts[0] - 4000) / found.count_sigma[0]
        errors.append((core, (tails.counts[0, shell] - 200) / tails.count_sigma[0, shell]))
    np.testing.assert_allclose(np.std(errors, axis=0), 1.0, atol=0.15)


def test_without_noise_what_is_known_of_a_tail_is_that_of_its_rows() -> None:
    near, far = with_far_group(200)
    found = measured(np.vstack([near, far]), one_cell(0.02), NoNoise(), epsilon=64.0)
    tails = found.tails
    assert tails is not None
    (shell,) = np.flatnonzero(tails.certain[0])
    around = far - far.mean(axis=0)
    assert tails.counts[0, shell] == pytest.approx(200, rel=1e-6)
    assert tails.inertia[0, shell] == pytest.approx((far**2).sum(), rel=1e-3)
    assert found.inertia[0] == pytest.approx(np.minimum((near**2).sum(1), 0.018**2).sum(), rel=1e-3)
    # A shell's rows are never taken for a point: an eighth of its inner radius at least.
    inner = 3 * 0.018 * 4**shell
    floor = 200 * (inner / 8) ** 2
    assert tails.within[0, shell] == pytest.approx(max((around**2).sum(), floor), rel=0.02)


def test_a_cell_most_of_whose_rows_are_far_moves_to_the_middle_of_all() -> None:
    _, far = with_far_group(4000)
    found = measured(np.vstack([far, np.zeros((1000, 2))]), one_cell(0.02), NoNoise())
    np.testing.assert_allclose(found.centers, 0.8 * far.mean(axis=0)[None], atol=0.01)
    assert found.radii[0] == pytest.approx(0.2, rel=0.2)


def test_shells_without_rows_are_seldom_taken_for_certain() -> None:
    """Seeded, so no false alarm."""
    rows = np.random.default_rng(0).normal(0.0, 0.01, (1000, 2))
    seen = 0
    for seed in range(200):
        found = measured(rows, one_cell(0.02), SeededNoise(seed))
        assert found.tails is not None
        seen += int(found.tails.certain.sum())
    assert seen <= 200 * FALSE_SHELLS + 5 * np.sqrt(200 * FALSE_SHELLS)


@pytest.mark.parametrize("false_hints", [FALSE_HINTS, CONFIRMED_FALSE_HINTS])
def test_so_many_empty_shells_are_taken_for_a_hint_on_average(false_hints: float) -> None:
    """Seeded, so no false alarm; a Poisson number of shells each time."""
    places = np.random.default_rng(0).uniform(-0.5, 0.5, (64, 2))
    seen, n_fits = 0, 100
    for seed in range(n_fits):
        with noise_from(SeededNoise(seed)):
            cells = unmeasured(places, np.full(64, 0.02))
            curator = opened(np.zeros((0, 2)))
            tails = measure_cells(curator, "split 1", cells, false_hints=false_hints).tails
        assert tails is not None
        seen += int((tails.counts > 0).sum())
    expected = n_fits * false_hints
    assert abs(seen - expected) < 5 * np.sqrt(expected)


def test_a_radius_that_is_too_small_grows_until_it_is_right() -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.1, (4000, 3))
    cells = one_cell(0.004, 3)
    for _ in range(5):
        cells = measured(rows, cells, NoNoise())
    assert cells.radii[0] == pytest.approx(0.1 * np.sqrt(3), rel=0.1)


# Whatever rows are -------------------------------------------------------------------------------


@repeatable
@given(
    arrays(np.float64, st.tuples(st.integers(0, 30), st.just(2)), elements=st.floats(-2, 2)),
    st.lists(st.floats(SMALLEST, 1.0), min_size=1, max_size=5),
    st.integers(-1, 3),
)
def test_measured_cells_are_finite_and_in_the_ball(
    rows: FloatArray, radii: list[float], seed: int
) -> None:
    noise = NoNoise() if seed < 0 else SeededNoise(seed)
    centers = np.random.default_rng(0).uniform(-0.7, 0.7, (len(radii), 2))
    with noise_from(noise):
        curator = opened(rows)
        found = measure_cells(curator, "split 1", unmeasured(centers, np.array(radii)))
    tails = found.tails
    assert tails is not None
    known = [found.centers, found.radii, found.counts, found.inertia]
    known += [found.variance, found.count_sigma]
    for values in (*known, *vars(tails).values()):
        assert len(values) == len(radii)
        assert np.isfinite(values).all()
    assert (np.linalg.norm(found.centers, axis=1) <= 1 + 1e-12).all()
    assert ((found.radii >= SMALLEST) & (found.radii <= 1.0)).all()
    assert min(found.counts.min(), found.inertia.min(), tails.counts.min()) >= 0
    assert (tails.counts[tails.certain] > 0).all()
    size = cells_cost(len(radii), 2.0).largest
    assert curator.releases[0].result.size <= size
    coreset = as_coreset(curator, found)
    assert np.isfinite(coreset.precision.center_stderr).all()


def test_some_of_the_cells_are_those_with_all_they_had() -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.2, (500, 2))
    cells = unmeasured(np.array([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.3]]), np.full(3, 0.1))
    found = measured(rows, cells, SeededNoise(0))
    chosen = found[np.array([True, False, True])]
    assert chosen.tails is not None
    assert found.tails is not None
    np.testing.assert_array_equal(chosen.count_sigma, found.count_sigma[[0, 2]])
    np.testing.assert_array_equal(chosen.centers, found.centers[[0, 2]])
    np.testing.assert_array_equal(chosen.tails.inertia, found.tails.inertia[[0, 2]])


# Clipped squares ---------------------------------------------------------------------------------


def test_cost_counts_as_many_shells_as_there_can_be_in_the_largest_result() -> None:
    cost = cells_cost(7.0, 3.0)
    assert cost.largest == 2 * 7 * (1 + SHELLS_MAX) * 5
    # A unit with many rows may change no more numbers, and so there are fewer shells.
    assert cells_cost(50_000.0, 3.0).largest == COORDINATES_MAX
    # Of twice as many cells, each has a core and a shell.
    assert cells_cost(500_000.0, 3.0).largest == 2 * 500_000 * (1 + 1) * 5
    assert cost.size < cost.largest


# Most rows are equal -----------------------------------------------------------------------------


def mostly_zeros() -> FloatArray:
    """Return rows 95 % of which are the same, the others in three groups."""
    rng = np.random.default_rng(0)
    rows = np.zeros((8000, 3))
    middles = np.array([[0.5, 0.0, 0.1], [0.0, 0.6, 0.0], [0.1, 0.1, 0.5]])
    rows[:400] = middles[rng.integers(0, 3, 400)] + rng.normal(0.0, 0.05, (400, 3))
    return rows


def loss(rows: FloatArray, centers: FloatArray) -> float:
    return float(np.mean(np.sum((rows - centers[nearest(rows, centers)]) ** 2, axis=1)))


@pytest.mark.parametrize("noise", [NoNoise(), *(SeededNoise(seed) for seed in range(3))])
def test_equal_rows_do_not_draw_all_cells(noise: NoiseSource) -> None:
    """Seeded, so no false alarm. Before cells had tails the loss was 41 times that of k-means."""
    rows = mostly_zeros()
    reference = loss(rows, KMeans(4, n_init=10, random_state=0).fit(rows).cluster_centers_)
    plan = private_kmeans.plan(4, 3, Budget(4.0, 1e-6))
    with noise_from(noise):
        curator = Curator.open(NumpyEngine(rows, Ball(np.zeros(3), 1.0)), plan.spending)
        found = private_kmeans.run(curator, plan, np.random.default_rng(0))
    assert loss(rows, found.centers) < 1.2 * reference
