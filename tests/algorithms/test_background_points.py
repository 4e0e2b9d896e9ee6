"""Rows far from all cells: spread where they can be, and not imagined where there are none."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.algorithms._background_points import FAR, background
from privclust.algorithms._distances import EDGES as OCTAVES
from privclust.algorithms._distances import Distances
from privclust.kernels.grid import FloatArray

# Tight cells around a box; points are looked for in one twice as wide.
CELLS = np.array([[-0.3, -0.2], [0.3, 0.2], [-0.3, 0.2], [0.3, -0.2]])
WIDTH = 0.02
EDGES = WIDTH * OCTAVES


def background_of(
    votes: dict[float, float],
    sigma: float = 5.0,
    cells: FloatArray = CELLS,
    certain: tuple[bool, ...] | None = None,
    proof: float = 1.0,
) -> tuple[FloatArray, FloatArray]:
    """Return the background of 1,000 rows near the cells and some at other distances."""
    table = np.zeros(len(EDGES) + 1)
    table[1] = 1000.0
    for distance, count in votes.items():
        table[np.searchsorted(EDGES, distance)] = count
    known = np.ones(len(cells), dtype=np.bool_) if certain is None else np.array(certain)
    rng = np.random.default_rng(0)
    return background(cells, known, WIDTH, Distances(table, sigma), proof, rng)


def test_there_is_no_background_where_far_bins_hold_only_noise() -> None:
    points, weights = background_of({0.1: 3.0, 0.25: -4.0, 0.5: 6.0})
    assert points.shape == (0, 2)
    assert weights.size == 0


@pytest.mark.parametrize(("wide", "reach"), [(4.0, 0.3), (8.0, 0.6)])
def test_the_box_is_as_wide_as_votes_say(wide: float, reach: float) -> None:
    """Rows spread evenly far beyond all cells are looked for there, and others are not."""
    cells, rng = CELLS / 4, np.random.default_rng(2)
    spread = rng.uniform(-1.0, 1.0, (100_000, 2)) * [0.075 * wide, 0.05 * wide]
    spread /= np.maximum(np.linalg.norm(spread, axis=1, keepdims=True), 1.0)
    away = np.linalg.norm(spread[:, None] - cells, axis=2).min(axis=1)
    bins, there = np.unique(np.searchsorted(EDGES, away[away > 0.1]), return_counts=True)
    votes = dict(
        zip((EDGES[bins] / np.sqrt(2)).tolist(), (200 * there / there.sum()).tolist(), strict=False)
    )
    points, weights = background_of(votes, sigma=5.0, cells=cells)
    assert weights.sum() > 100
    assert 0.5 * reach < np.abs(points).max() < 1.4 * reach


def test_near_rows_make_no_background() -> None:
    assert background_of({0.005: 500.0, 0.03: 500.0, 0.06: 300.0}, sigma=0.0)[1].size == 0


@pytest.mark.parametrize("distance", [0.1, 0.25])
def test_far_rows_are_spread_over_points_as_far_as_they_are(distance: float) -> None:
    points, weights = background_of({distance: 60.0}, sigma=0.0)
    assert (weights > 0).all()
    away = np.linalg.norm(points[:, None] - CELLS, axis=2).min(axis=1)
    assert (np.searchsorted(EDGES, away) == np.searchsorted(EDGES, distance)).all()
    assert away.min() > FAR * 0.01


def evenly_spread(n_rows: float) -> dict[float, float]:
    """Return how many of so many rows, spread evenly over the box, lie how far from all cells."""
    spread = np.random.default_rng(1).uniform(-1, 1, (100_000, 2)) * [0.6, 0.4]
    away = np.linalg.norm(spread[:, None] - CELLS, axis=2).min(axis=1)
    far = away[np.searchsorted(OCTAVES, away / WIDTH) > np.searchsorted(OCTAVES, FAR)]
    bins, there = np.unique(np.searchsorted(EDGES, far), return_counts=True)
    middles = EDGES[bins] / np.sqrt(2)
    return dict(zip(middles.tolist(), (n_rows * there / there.sum()).tolist(), strict=True))


def test_rows_spread_evenly_are_all_there_less_what_noise_would_add() -> None:
    rows = evenly_spread(120.0)
    assert len(rows) > 1
    assert background_of(rows, sigma=0.0)[1].sum() == pytest.approx(120.0, rel=0.05)
    less = background_of(rows, sigma=5.0)[1].sum()
    assert 120.0 - 5.0 * np.sqrt(len(rows)) - 6.0 < less < 120.0 - 5.0


def test_with_more_proof_fewer_rows_make_a_background_and_as_many_are_in_it() -> None:
    few, many = evenly_spread(12.0), evenly_spread(120.0)
    assert background_of(few, sigma=5.0)[1].size > 0
    assert background_of(few, sigma=5.0, proof=2.5)[1].size == 0
    sure = background_of(many, sigma=5.0, proof=2.5)[1].sum()
    assert sure == background_of(many, sigma=5.0)[1].sum()


def test_votes_where_hardly_any_point_is_make_no_background() -> None:
    """Rows spread evenly do not explain them, so that noise is the likelier reason."""
    rare, *_ = sorted(evenly_spread(1.0).items(), key=lambda item: item[1])
    assert background_of({rare[0]: 10.0}, sigma=5.0)[1].size == 0


def test_rows_farther_than_any_point_are_left_out() -> None:
    points, weights = background_of({9.0: 200.0})
    assert len(points) == len(weights) == 0


def test_points_lie_around_cells_that_hold_rows_for_certain() -> None:
    """An empty cell that noise threw to the rim would spread outliers over the whole ball."""
    cells = np.vstack([CELLS, [[0.0, 0.99]]])
    wide, _ = background_of({0.25: 60.0}, cells=cells)
    narrow, _ = background_of({0.25: 60.0}, cells=cells, certain=(True,) * 4 + (False,))
    assert wide[:, 1].max() > 0.8
    assert narrow[:, 1].max() <= 0.4 + 1e-9
    assert background_of({0.25: 60.0}, certain=(False,) * 4)[1].size > 0


def test_cells_that_are_all_one_point_have_no_background_around_them() -> None:
    points, weights = background_of({0.25: 100.0}, cells=np.zeros((3, 2)))
    assert np.isfinite(points).all()
    assert len(points) == len(weights) == 0
