"""Projections: exact products, then a rule for each row alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from privclust.kernels.grid import GRID, FloatArray, clip_to_ball, to_grid
from privclust.kernels.projection import Projection, gaussian_projection
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.cubes import SubcubeCounts
from privclust.queries.shells import ShellMoments
from privclust.queries.swaps import SetSavings, SwapSavings


def rows_of(n_columns: int, n_rows: int = 300) -> FloatArray:
    rows = np.random.default_rng(1).normal(size=(n_rows, n_columns))
    return to_grid(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def as_python_ints(points: FloatArray) -> np.ndarray[tuple[int, ...], np.dtype[np.object_]]:
    return points.astype(np.int64).astype(object)


def on_a_knife_edge() -> tuple[Projection, FloatArray]:
    """A projection, and rows that it sends within a hair of an integer number of grid units.

    There a product that is off by its last bit is truncated to another number. The last column
    weighs one unit, so that a row's last coordinate sets its product to the unit.
    """
    rng = np.random.default_rng(7)
    directions = to_grid(rng.normal(size=(1, 65)) / 16)
    directions[0, -1] = 1.0
    rows = to_grid(rng.normal(size=(3000, 65)) / 16)
    rows[:, -1] = 0.0
    gain = 1.3
    image = (rows @ directions[0]) * (gain / GRID)
    rows[:, -1] = np.rint((np.ceil(image) - image) * (GRID / gain))
    return Projection(directions, gain), rows


@pytest.mark.attack
def test_rows_on_a_knife_edge_are_projected_by_their_exact_products() -> None:
    project, rows = on_a_knife_edge()
    exact = as_python_ints(rows) @ as_python_ints(project.directions).T
    expected = clip_to_ball(exact.astype(np.float64) * (project.gain / GRID**2), GRID)
    assert np.array_equal(project(rows), expected)
    assert np.array_equal(np.vstack([project(row[None]) for row in rows]), expected)


@pytest.mark.attack
@pytest.mark.parametrize(("n_columns", "n_components"), [(1, 1), (16, 4), (65, 9), (700, 30)])
def test_products_are_exact(n_columns: int, n_components: int) -> None:
    project = gaussian_projection(n_columns, n_components, np.random.default_rng(2))
    rows = rows_of(n_columns, 20)
    exact = as_python_ints(rows) @ as_python_ints(project.directions).T
    assert (rows @ project.directions.T).astype(int).tolist() == exact.tolist()
    scaled = exact.astype(np.float64) * (project.gain / GRID**2)
    assert np.array_equal(project(rows), clip_to_ball(scaled, GRID))


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [16, 65, 700])
def test_a_projected_row_does_not_depend_on_its_neighbours(n_columns: int) -> None:
    project = gaussian_projection(n_columns, 8, np.random.default_rng(3))
    rows = rows_of(n_columns)
    alone = np.vstack([project(row[None]) for row in rows])
    for arranged in (rows, np.asfortranarray(rows), rows[::-1].copy()[::-1]):
        assert np.array_equal(project(arranged), alone)


def test_directions_and_projected_rows_lie_on_the_grid_of_the_ball() -> None:
    project = gaussian_projection(65, 9, np.random.default_rng(4))
    for points in (project.directions, project(rows_of(65))):
        assert np.array_equal(points, np.trunc(points))
        assert ((as_python_ints(points) ** 2).sum(axis=1) <= GRID**2).all()


def test_squared_lengths_are_preserved_on_average() -> None:
    rows = to_grid(rows_of(30, 20) / GRID / 4)
    rng = np.random.default_rng(5)
    projected = [gaussian_projection(30, 10, rng)(rows) for _ in range(500)]
    ratio = np.mean([(p**2).sum() for p in projected]) / (rows**2).sum()
    # Relative spread of one projected square is sqrt(2/10) at most, so 7 sigma of the mean of 500.
    assert abs(ratio - 1) < 7 * np.sqrt(0.2 / 500)


def test_the_same_seed_gives_the_same_projection() -> None:
    first, second = (gaussian_projection(8, 3, np.random.default_rng(6)) for _ in range(2))
    assert np.array_equal(first.directions, second.directions)
    assert first.gain == second.gain


@pytest.mark.attack
def test_directions_off_the_grid_are_snapped_to_it() -> None:
    directions = Projection(np.full((2, 3), 0.3), 1.0).directions
    assert (directions == np.trunc(directions)).all()
    assert not directions.flags.writeable


@pytest.mark.attack
def test_points_of_another_width_are_refused() -> None:
    project = gaussian_projection(4, 2, np.random.default_rng(0))
    wide, flat, three = np.zeros((2, 4)), np.zeros((2, 2)), np.zeros((2, 3))
    refused: list[Callable[[], object]] = [
        lambda: NearestVotes(wide, project),
        lambda: ClusterSums(wide, wide, 0.5, 1.0, project),
        lambda: ClusterSums(flat, three, 0.5, 1.0, project),
        lambda: ClusterSums(wide, flat, 0.5, 1.0),
        lambda: ClusterMoments(wide, np.ones(2), 0.5, 1.0, project),
        lambda: ShellMoments(wide, np.ones(2), 0.5, 1.0, 1, project),
        lambda: DistanceHistogram(wide, np.ones(1), projection=project),
        lambda: SubcubeCounts(np.zeros((1, 3), np.int64), 1, np.zeros(3, np.int64), project),
        lambda: SwapSavings(wide, flat, np.array([0, 0])),
        lambda: SwapSavings(flat, wide, np.array([0, 0]), project),
        lambda: SetSavings(wide[None], project),
    ]
    for make in refused:
        with pytest.raises(ValueError, match="as many coordinates as rows"):
            make()
    for gain in (0.0, -1.0, np.inf, np.nan, 2.0**41):
        with pytest.raises(ValueError, match="gain must lie above 0"):
            Projection(flat, gain)
    for directions in (np.zeros(2), np.zeros((0, 2)), np.full((1, 2), np.nan)):
        with pytest.raises(ValueError, match="finite direction"):
            Projection(directions, 1.0)
