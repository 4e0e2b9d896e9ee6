"""The nearest candidate, compared with integer brute force."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.kernels.grid import GRID, FloatArray, to_grid
from privclust.kernels.nearest import nearest, squared_distances


def exact_squares(rows: FloatArray, candidates: FloatArray) -> list[list[int]]:
    """All squared distances in Python's unlimited integers."""
    whole_rows = rows.astype(np.int64).astype(object)
    whole_candidates = candidates.astype(np.int64).astype(object)
    return [((whole_candidates - row) ** 2).sum(axis=1).tolist() for row in whole_rows]


def brute_force(rows: FloatArray, candidates: FloatArray) -> list[int]:
    return [squares.index(min(squares)) for squares in exact_squares(rows, candidates)]


def grid_points(n_points: int, n_columns: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    return to_grid(rng.normal(size=(n_points, n_columns)) / np.sqrt(n_columns))


@pytest.mark.parametrize("n_candidates", [1, 2, 511, 512, 513, 1024, 1025, 1500])
@pytest.mark.parametrize("n_columns", [1, 5])
def test_nearest_equals_brute_force(n_candidates: int, n_columns: int) -> None:
    rows = grid_points(60, n_columns, seed=n_candidates)
    candidates = grid_points(n_candidates, n_columns, seed=1)
    assert nearest(rows, candidates).tolist() == brute_force(rows, candidates)


@pytest.mark.parametrize("n_rows", [0, 1, 255, 256, 257, 600])
def test_every_row_of_every_tile_gets_its_nearest_point(n_rows: int) -> None:
    rows, candidates = grid_points(n_rows, 2, seed=2), grid_points(7, 2, seed=3)
    assert nearest(rows, candidates).tolist() == brute_force(rows, candidates)


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [1, 16, 65])
def test_candidates_one_unit_apart_at_the_rim_are_distinguished(n_columns: int) -> None:
    rng = np.random.default_rng(4)
    rim = rng.normal(size=(20, n_columns))
    rows = np.trunc(rim / np.linalg.norm(rim, axis=1, keepdims=True) * (GRID - 64))
    candidates = np.repeat(rows, 15, axis=0) + rng.choice([-1.0, 0.0, 1.0], (300, n_columns))
    rng.shuffle(candidates)
    assert nearest(rows, candidates).tolist() == brute_force(rows, candidates)


@pytest.mark.attack
@pytest.mark.parametrize(("first", "second"), [(3, 600), (0, 1), (511, 512), (512, 1499)])
def test_duplicate_candidates_vote_for_the_lowest_index(first: int, second: int) -> None:
    candidates = grid_points(1500, 3, seed=5)
    candidates[second] = candidates[first]
    assert nearest(candidates[[first, second]], candidates).tolist() == [first, first]


@pytest.mark.attack
@pytest.mark.parametrize("distance", [1, 600])
@pytest.mark.parametrize("n_columns", [1, 3, 16, 65])
def test_rows_on_an_exact_bisector_vote_for_the_lowest_index(n_columns: int, distance: int) -> None:
    # A candidate and its mirror image in the first coordinate; a row with a zero there is a tie.
    candidates = np.zeros((distance + 1, n_columns))
    candidates[:, 0] = GRID - 1
    rows = grid_points(300, n_columns, seed=6)
    rows[:, 0] = 0
    shape = to_grid(np.full((1, n_columns), 0.4 / n_columns))[0]
    candidates[0], candidates[-1] = shape, shape * np.where(np.arange(n_columns) == 0, -1, 1)
    assert set(nearest(rows, candidates).tolist()) == {0}
    assert set(nearest(rows, candidates[::-1]).tolist()) == {0}


@pytest.mark.parametrize("n_columns", [1, 3, 65])
def test_squared_distances_are_exact(n_columns: int) -> None:
    rows, points = grid_points(50, n_columns, seed=7), -grid_points(50, n_columns, seed=7)
    points[25:] = grid_points(25, n_columns, seed=8)
    expected = [exact_squares(r[None], p[None])[0][0] for r, p in zip(rows, points, strict=True)]
    assert [int(square) for square in squared_distances(rows, points, np.arange(50))] == expected


def test_opposite_ends_of_the_ball_have_an_exact_distance() -> None:
    rim, one = np.array([[float(GRID)]]), np.zeros(1, dtype=np.int64)
    assert squared_distances(rim, -rim, one).tolist() == [2.0**52]
    assert squared_distances(rim, 1 - rim, one).tolist() == [float((2 * GRID - 1) ** 2)]
