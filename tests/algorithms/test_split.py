"""Splitting: as many cells as wanted, in the ball, finite whatever the rows are."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.algorithms._cells import (
    CLIP,
    SMALLEST,
    Cells,
    Tails,
    into_ball,
    measure_cells,
    unmeasured,
)
from privclust.algorithms._split import (
    PARTS_MAX,
    find_cells,
    schedule,
    settled,
    shares,
    split,
)
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.noise import NoiseSource, NoNoise
from privclust.privacy.plan import Slot, make_plan
from privclust.queries.shells import CORE_RADII, numbers_changed
from privclust.testing import SeededNoise, noise_from


def curator_of(rows: FloatArray, parts: FloatArray) -> Curator:
    n_columns = rows.shape[1]
    wide = numbers_changed(n_columns)
    slots = [Slot(f"split {n}", part, wide) for n, part in enumerate(parts, 1)]
    engine = NumpyEngine(rows, Ball(np.zeros(n_columns), 1.0))
    return Curator.open(engine, make_plan(Budget(1.0, 1e-6), slots))


def some_cells(n_cells: int, n_columns: int, seed: int = 0) -> Cells:
    """Cells all over the ball, some of them on its rim."""
    rng = np.random.default_rng(seed)
    return Cells(
        into_ball(rng.normal(size=(n_cells, n_columns))),
        rng.uniform(0.01, 1.0, n_cells),
        rng.uniform(0.0, 100.0, n_cells),
        rng.uniform(0.0, 10.0, n_cells),
        rng.uniform(0.0, 0.1, n_cells),
        np.full(n_cells, 5.0),
    )


def with_tails(cells: Cells, shells: dict[int, tuple[FloatArray, float]]) -> Cells:
    """Give cells a shell each: of some, the mean and the number of rows that it holds for sure."""
    n_cells, n_columns = cells.centers.shape
    centers, counts = np.zeros((n_cells, 1, n_columns)), np.zeros((n_cells, 1))
    for cell, (center, count) in shells.items():
        centers[cell], counts[cell] = center, count
    inertia = counts * ((centers - cells.centers[:, None]) ** 2).sum(axis=2)
    within, variance = counts * 0.001, np.full((n_cells, 1), 1e-4)
    sigma = np.full((n_cells, 1), 5.0)
    tails = Tails(centers, counts, inertia, within, variance, sigma, counts > 0)
    return replace(cells, tails=tails)


def assert_sound(cells: Cells, n_cells: int | None = None) -> None:
    n_cells = len(cells.centers) if n_cells is None else n_cells
    known = [cells.centers, cells.radii, cells.counts, cells.inertia, cells.variance]
    for values in (*known, cells.count_sigma):
        assert len(values) == n_cells
        assert np.isfinite(values).all()
    assert (np.linalg.norm(cells.centers, axis=1) <= 1 + 1e-12).all()
    assert ((cells.radii >= SMALLEST) & (cells.radii <= 1.0)).all()
    assert (cells.counts >= 0).all()


@pytest.mark.parametrize("repeats", [1, 2, 3])
@given(st.integers(1, 5000))
def test_cells_at_most_double_until_there_are_enough(repeats: int, n_cells: int) -> None:
    steps = schedule(n_cells, repeats)
    assert (steps[0], steps[-1]) == (1, n_cells)
    assert all(a <= b <= 2 * a for a, b in pairwise(steps))
    assert all(steps.count(size) == repeats for size in set(steps) - {1})


@given(st.integers(1, 5000), st.integers(1, 3))
def test_shares_are_a_whole_and_grow_with_the_cells(n_cells: int, repeats: int) -> None:
    parts = shares(schedule(n_cells, repeats))
    assert parts.sum() == pytest.approx(1.0)
    assert (parts > 0).all()
    assert (np.diff(parts) >= 0).all()


@settings(deadline=None)
@given(st.integers(1, 40), st.data(), st.sampled_from([1, 4, 18]))
def test_split_gives_exactly_as_many_cells_as_wanted(
    before: int, data: st.DataObject, n_columns: int
) -> None:
    after = data.draw(st.integers(before, 2 * before))
    cells = some_cells(before, n_columns)
    halves = split(cells, after, np.random.default_rng(1))
    assert_sound(halves, after)
    assert halves.radii.max() <= cells.radii.max()


def test_the_cells_of_largest_inertia_are_split_and_the_others_stay() -> None:
    cells = some_cells(6, 3)
    halves = split(cells, 8, np.random.default_rng(1))
    widest = np.sort(np.argsort(cells.inertia)[-2:])
    moved = np.flatnonzero((halves.centers[:6] != cells.centers).any(axis=1))
    assert moved.tolist() == widest.tolist()
    assert sorted(halves.radii[6:]) == sorted(cells.radii[widest])


def test_empty_cells_give_their_place_to_parts_of_others() -> None:
    cells = with_tails(some_cells(6, 3), {})
    cells = replace(cells, counts=np.array([50.0, 2.0, 60.0, 0.0, 70.0, 80.0]))
    parts = split(cells, 8, np.random.default_rng(1))
    assert_sound(parts, 8)
    gaps = np.linalg.norm(parts.centers[:, None] - cells.centers, axis=2).min(axis=0)
    assert (gaps[[1, 3]] > gaps[[0, 2, 4, 5]].max()).all()


@pytest.mark.parametrize("n_held", [0, 1, 2])
def test_there_are_half_as_many_cells_as_wanted_however_few_hold_rows(n_held: int) -> None:
    """PrivateKMeans wants twice as many as clusters: with fewer than k it failed, and had spent."""
    counts = np.where(np.arange(40) < n_held, 100.0, 0.0)
    parts = split(
        with_tails(replace(some_cells(40, 3), counts=counts), {}), 40, np.random.default_rng(1)
    )
    assert_sound(parts)
    assert 20 <= len(parts.centers) <= 40


def test_a_part_is_put_where_a_cells_tail_is_if_that_has_more_inertia() -> None:
    middle = np.array([0.5, 0.5, 0.0])
    cells = with_tails(some_cells(4, 3), {2: (middle, 500.0)})
    parts = split(cells, 5, np.random.default_rng(1))
    np.testing.assert_array_equal(parts.centers[:4], cells.centers)
    np.testing.assert_allclose(parts.centers[4], middle, atol=0.02)


def test_a_cell_is_split_into_four_at_most_while_others_can_be() -> None:
    cells = replace(some_cells(8, 3), inertia=np.where(np.arange(8) == 3, 1e6, 1.0))
    parts = split(cells, 16, np.random.default_rng(1))
    of_it = np.isclose(parts.inertia, 1e6)
    assert_sound(parts, 16)
    assert of_it.sum() == PARTS_MAX


# Which cells clusters are found by ---------------------------------------------------------------


def near_and_far(*far: tuple[float, float]) -> Cells:
    """Return ten cells of 100 rows near the origin, and others: how far, with how many rows."""
    rng = np.random.default_rng(0)
    others = np.array([[x, 0.0] for x, _ in far]).reshape(-1, 2)
    centers = np.vstack([rng.normal(0.0, 0.05, (10, 2)), others])
    counts = np.array([100.0] * 10 + [count for _, count in far])
    radii = np.full(len(counts), 0.02)
    even = np.ones(len(counts))
    return Cells(centers, radii, counts, counts * radii**2, 1e-4 * even, 10.0 * even)


def test_a_cell_that_noise_threw_far_from_all_others_does_not_survive() -> None:
    cells = near_and_far((0.9, 12.0), (-0.8, 0.0))
    kept = settled(cells, 4)
    np.testing.assert_array_equal(kept.centers, cells.centers[:10])


def test_a_cell_that_noise_threw_far_out_is_no_less_harmful_for_being_wide() -> None:
    """Its own radius, of noise too, must not be what harm is compared with."""
    cells = near_and_far((0.3, 12.0))
    wide = replace(cells, radii=np.append(cells.radii[:10], 1.0))
    np.testing.assert_array_equal(settled(wide, 4).centers, cells.centers[:10])


@pytest.mark.parametrize(
    "far",
    [
        [(0.9, 25.0)],
        [(0.9, 18.0), (0.91, 18.0)],
        [(0.12, 5.0)],
    ],
    ids=["certain", "certain together", "near others"],
)
def test_a_cell_that_noise_cannot_explain_or_that_does_no_harm_survives(
    far: list[tuple[float, float]],
) -> None:
    cells = near_and_far(*far)
    if far == [(0.12, 5.0)]:
        cells = replace(cells, radii=np.full(11, 0.2))
    np.testing.assert_array_equal(settled(cells, 4).centers, cells.centers)


def test_there_is_always_a_cell_more_than_clusters() -> None:
    cells = near_and_far((0.9, 12.0), (-0.8, 2.0))
    assert len(settled(cells, 10).centers) == 11
    empty = replace(cells, counts=np.zeros(12))
    assert len(settled(empty, 4).centers) == 12


def test_certain_tails_become_cells() -> None:
    group = np.array([0.6, 0.1])
    found = settled(with_tails(near_and_far(), {3: (group, 80.0)}), 4)
    assert_sound(found, 11)
    assert found.tails is None
    np.testing.assert_array_equal(found.centers[10], group)
    assert found.counts[10] == 80.0
    assert found.radii[10] == pytest.approx(np.sqrt(0.001))


# Whatever rows are -------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [NoNoise(), SeededNoise(0)])
@pytest.mark.parametrize("n_rows", [0, 1, 500])
@pytest.mark.parametrize("n_columns", [1, 4])
def test_rows_that_are_none_or_all_equal_give_finite_cells(
    noise: NoiseSource, n_rows: int, n_columns: int
) -> None:
    steps = schedule(12, 2)
    with noise_from(noise):
        curator = curator_of(np.zeros((n_rows, n_columns)), shares(steps))
        slots = [f"split {n}" for n in range(1, len(steps) + 1)]
        start = unmeasured(np.zeros((1, n_columns)), np.ones(1))
        cells = find_cells(curator, slots, steps, start, np.random.default_rng(0))
    # Cells that are empty are not split, so that there may be fewer than were wanted.
    assert_sound(cells)
    assert 6 <= len(cells.centers) <= 12
    assert len(curator.releases) == len(steps)
    assert_sound(settled(cells, 6))
    assert len(settled(cells, 6).centers) >= 6


@pytest.mark.parametrize("noise", [NoNoise(), SeededNoise(1)])
def test_no_cell_grows_by_more_than_a_core(noise: NoiseSource) -> None:
    """A cell once too narrow must be able to grow, or rows around it stay hidden for good."""
    rows = np.random.default_rng(0).normal(0.0, 0.3, (300, 3))
    cells = some_cells(10, 3)
    with noise_from(noise):
        found = measure_cells(curator_of(rows, np.ones(1)), "split 1", cells)
    assert_sound(found, 10)
    assert (found.radii <= CLIP * CORE_RADII * cells.radii).all()


def test_without_noise_a_cell_moves_to_the_mean_of_its_clipped_rows() -> None:
    rows = np.random.default_rng(0).normal([0.2, -0.1], 0.05, (2000, 2))
    with noise_from(NoNoise()):
        start = unmeasured(np.zeros((1, 2)), np.ones(1))
        found = measure_cells(curator_of(rows, np.ones(1)), "split 1", start)
    np.testing.assert_allclose(found.centers, rows.mean(axis=0)[None], atol=1e-3)
    assert found.counts == pytest.approx([2000])
    assert found.inertia == pytest.approx([(rows**2).sum()], rel=1e-6)


# A second measurement ----------------------------------------------------------------------------


def measured_twice(rows: FloatArray, tails: Tails | None) -> Cells:
    """Return one cell in the middle, after two measurements without noise."""
    cell = unmeasured(np.zeros((1, 2)), np.array([0.02]))
    cell = replace(cell, tails=tails, count_sigma=np.array([10.0]))
    with noise_from(NoNoise()):
        curator = curator_of(rows, np.ones(1))
        return find_cells(curator, ["split 1"], [1], cell, np.random.default_rng(0))


def tail_at(center: tuple[float, float], n_rows: float, within: float, square: float) -> Tails:
    """Return one shell whose rows have this mean, and such mean squares about it and the cell."""
    only = np.ones((1, 1))
    return Tails(
        np.array([[center]]), n_rows * only, n_rows * square * only, n_rows * within * only,
        0.0 * only, only, np.zeros((1, 1), dtype=np.bool_),
    )  # fmt: skip


def test_what_seems_to_lie_aside_is_measured_as_a_cell_and_kept_if_rows_are_there() -> None:
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(0.0, 0.01, (900, 2)), rng.normal([0.5, 0.0], 0.01, (100, 2))])
    found = measured_twice(rows, tail_at((0.45, 0.05), 60.0, 0.01, 0.2))
    assert_sound(found, 2)
    np.testing.assert_allclose(found.centers, [[0.0, 0.0], [0.5, 0.0]], atol=0.01)
    assert found.counts[1] == pytest.approx(100)
    nobody = measured_twice(rows, tail_at((-0.45, 0.05), 60.0, 0.01, 0.2))
    assert_sound(nobody, 1)


def test_a_shell_that_has_its_mean_in_the_cell_is_no_cell() -> None:
    """Noise filled it, and on the place of the cell it would take half of its rows."""
    rows = np.random.default_rng(0).normal(0.0, 0.01, (900, 2))
    assert_sound(measured_twice(rows, tail_at((0.001, 0.0), 60.0, 0.19, 0.2)), 1)


def test_a_second_measurement_gives_the_mean_of_both_counts() -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.01, (900, 2))
    nothing = tail_at((0.0, 0.0), 0.0, 0.0, 0.0)
    assert measured_twice(rows, nothing).counts == pytest.approx([(900 + 1) / 2])
    assert measured_twice(rows, None).counts == pytest.approx([900])


@pytest.mark.parametrize("n_steps", [1, 2])
def test_counts_are_off_by_as_much_as_said_however_often_cells_were_measured(n_steps: int) -> None:
    """Seeded, so no false alarm. A group aside is a cell of its own from the second time on."""
    rng = np.random.default_rng(0)
    near, far = rng.normal(0.0, 0.01, (8000, 2)), rng.normal([0.5, 0.0], 0.02, (2000, 2))
    rows, errors = np.vstack([near, far]), []
    for seed in range(200):
        with noise_from(SeededNoise(seed)):
            curator = curator_of(rows, np.full(n_steps, 1 / n_steps))
            start = unmeasured(np.zeros((1, 2)), np.array([0.02]))
            slots = [f"split {n}" for n in range(1, n_steps + 1)]
            cells = settled(find_cells(curator, slots, [1] * n_steps, start, rng), 2)
        # The group may have a third cell beside it, which noise made.
        errors.append((cells.counts[:2] - [8000, 2000]) / cells.count_sigma[:2])
    np.testing.assert_allclose(np.std(errors, axis=0), 1.0, atol=0.15)


def test_cells_double_at_most_once_whatever_lies_aside() -> None:
    """How many numbers a query measures was said before the first charge."""
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal([at, 0.0], 0.001, (500, 2)) for at in (0.0, 0.06, 0.2, 0.8)])
    with noise_from(NoNoise()):
        curator = curator_of(rows, np.ones(6) / 6)
        start = unmeasured(np.zeros((1, 2)), np.array([0.01]))
        found = find_cells(curator, [f"split {n}" for n in range(1, 7)], [1] * 6, start, rng)
    assert_sound(found, 2)


def test_no_more_tails_become_cells_than_there_are_cells() -> None:
    cells = with_tails(some_cells(3, 2), {cell: (np.full(2, 0.1), 80.0) for cell in range(3)})
    tails = cells.tails
    assert tails is not None
    fivefold = Tails(*(np.repeat(getattr(tails, each.name), 5, axis=1) for each in fields(tails)))
    assert_sound(settled(replace(cells, tails=fivefold), 3), 6)
