"""Splitting: as many cells as wanted, in the ball, finite whatever the rows are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.algorithms._split import (
    SMALLEST,
    Cells,
    find_cells,
    into_ball,
    measure_cells,
    one_cell,
    schedule,
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
from privclust.testing import SeededNoise, noise_from


def curator_of(rows: FloatArray, parts: FloatArray) -> Curator:
    n_columns = rows.shape[1]
    slots = [Slot(f"split {n}", part, n_columns + 2) for n, part in enumerate(parts, 1)]
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
        5.0,
    )


def assert_sound(cells: Cells, n_cells: int) -> None:
    assert len(cells.centers) == n_cells
    for values in (cells.centers, cells.radii, cells.counts, cells.inertia, cells.variance):
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
        start, rng = one_cell(np.zeros(n_columns), 1.0), np.random.default_rng(0)
        cells = find_cells(curator, slots, steps, start, rng)
    assert_sound(cells, 12)
    assert len(curator.releases) == len(steps)


@pytest.mark.parametrize("noise", [NoNoise(), SeededNoise(1)])
def test_no_cell_grows_wider_than_it_was(noise: NoiseSource) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (300, 3))
    cells = some_cells(10, 3)
    with noise_from(noise):
        found = measure_cells(curator_of(rows, np.ones(1)), "split 1", cells)
    assert_sound(found, 10)
    assert (found.radii <= cells.radii).all()


def test_without_noise_a_cell_moves_to_the_mean_of_its_clipped_rows() -> None:
    rows = np.random.default_rng(0).normal([0.2, -0.1], 0.05, (2000, 2))
    with noise_from(NoNoise()):
        found = measure_cells(curator_of(rows, np.ones(1)), "split 1", one_cell(np.zeros(2), 1.0))
    np.testing.assert_allclose(found.centers, rows.mean(axis=0)[None], atol=1e-3)
    assert found.counts == pytest.approx([2000])
    assert found.inertia == pytest.approx([(rows**2).sum()], rel=1e-6)
