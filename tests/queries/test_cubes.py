"""The queries of cube partitions and local search, attacked as those of test_clusters.py are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.query_attacks import (
    STRANGE,
    Example,
    assert_no_row_added_moves_too_much,
    assert_one_row_moves_no_more_than_declared,
    contributions,
    each_row_alone,
    edge_case_rows,
    mirrored_points,
    set_batch_rows,
    strange_rows,
    totals,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import GRID, UNIT, FloatArray, IntArray, to_grid
from privclust.kernels.projection import gaussian_projection
from privclust.queries.base import Query
from privclust.queries.cubes import CUBE_BITS, SubcubeCounts
from privclust.queries.swaps import CHOICES_MAX, SetSavings, SwapSavings
from privclust.queries.unit import ROW, Unit

MIDDLE = -(2 ** (CUBE_BITS - 1))


def orthants(axes: int) -> IntArray:
    return (np.arange(2**axes)[:, None] >> np.arange(axes)) & 1


def crowd(axes: int) -> IntArray:
    """Every second cube of the third level around the middle."""
    places = np.stack(np.meshgrid(*[np.arange(2, 6)] * axes), axis=-1).reshape(-1, axes)
    return places[::2]


def examples_with(n_columns: int) -> list[Example]:
    axes = min(n_columns, 3)
    points = mirrored_points(n_columns, 4, seed=1)
    project = gaussian_projection(n_columns, axes, np.random.default_rng(3))
    projected = mirrored_points(axes, 4, seed=4)
    points[3] = projected[3] = 0.0  # where some rows are, and save most
    corner = np.full(axes, MIDDLE)
    shifted = corner + np.arange(axes) * 7_000_001
    leaving = np.arange(6) % 3
    queries: dict[str, Query] = {
        "all cubes projected": SubcubeCounts(orthants(axes), 1, shifted, project),
        "some cubes projected": SubcubeCounts(crowd(axes), 3, corner, project),
        "swaps": SwapSavings(points[:3], points[3:9], leaving),
        "swaps projected": SwapSavings(projected[:3], projected[3:9], leaving, project),
        "sets": SetSavings(points[:12].reshape(3, 4, -1)),
        "sets projected": SetSavings(projected[:12].reshape(3, 4, -1), project),
    }
    if n_columns <= 3:
        queries["cubes"] = SubcubeCounts(crowd(n_columns), 3, corner)
    return [Example(f"{name} d={n_columns}", n_columns, query) for name, query in queries.items()]


EXAMPLES = [example for n_columns in (3, 16) for example in examples_with(n_columns)]
SMALL = examples_with(3)
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


@pytest.mark.attack
@every_example
def test_a_row_contributes_alone_what_it_does_among_others(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    alone = each_row_alone(example, rows)
    order = np.random.default_rng(7).permutation(len(rows))
    for arrange in (np.ascontiguousarray, np.asfortranarray):
        assert contributions(example, arrange(rows)) == alone
        assert contributions(example, arrange(rows[order])) == [alone[i] for i in order]


@pytest.mark.attack
@every_example
def test_one_row_more_moves_the_result_no_more_than_declared(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    for table in (rows[:0], strange_rows(example.n_columns)):
        assert_no_row_added_moves_too_much(example, table, rows[::61])


@every_example
def test_any_row_can_leave_and_moves_no_more_than_declared(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_batch_rows(50, monkeypatch)
    rows = edge_case_rows(example.n_columns)
    with_row = totals(example, rows)
    for leaving in range(0, len(rows), 13):
        without = totals(example, np.delete(rows, leaving, axis=0))
        assert_one_row_moves_no_more_than_declared(example.query, without, with_row)


cells = st.one_of(st.sampled_from(STRANGE), st.floats(-1.5, 1.5), st.floats())
rows_of_three = st.lists(cells, min_size=3, max_size=3)


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.lists(rows_of_three, max_size=6), rows_of_three, st.integers(0, 6))
def test_no_row_that_hypothesis_finds_moves_more_than_declared(
    table: list[list[float]], row: list[float], place: int
) -> None:
    rows = np.array(table, dtype=np.float64).reshape(-1, 3)
    longer = np.insert(rows, min(place, len(rows)), row, axis=0)
    domain = Ball([0.0] * 3, 1.0)
    before, after = NumpyEngine(rows, domain, 1), NumpyEngine(longer, domain, 1)
    for example in SMALL:
        assert_one_row_moves_no_more_than_declared(
            example.query, before.aggregate(example.query), after.aggregate(example.query)
        )


@every_example
def test_largest_contribution_attains_the_declared_bound(example: Example) -> None:
    with np.errstate(all="ignore"):
        rows = example.domain.to_grid(edge_case_rows(example.n_columns))
    assert example.query.contribute(rows).values.max() == example.query.sensitivity.linf == UNIT


@pytest.mark.parametrize("size", [1, 3, CHOICES_MAX])
def test_declared_bounds_of_savings_are_the_proved_ones(size: int) -> None:
    swaps = SwapSavings(np.zeros((2, 3)), np.zeros((size, 3)), np.zeros(size, dtype=int))
    for bounds in (swaps.sensitivity, SetSavings(np.zeros((size, 2, 3))).sensitivity):
        assert (bounds.l1, bounds.l2_squared) == (size * UNIT, size * UNIT**2)
        assert (bounds.linf, bounds.l0, bounds.monotone) == (UNIT, size, True)


def test_as_many_choices_as_allowed_are_all_added_up() -> None:
    """A row that saves one squared radius by every choice is kept by the engine."""
    query = SwapSavings(np.zeros((1, 2)), np.zeros((CHOICES_MAX, 2)), np.zeros(CHOICES_MAX, int))
    engine = NumpyEngine(np.zeros((3, 2)), Ball([0.0, 0.0], 1.0))
    assert engine.aggregate(query) == [3 * UNIT] * CHOICES_MAX


# What the results mean ---------------------------------------------------------------------------


def ordinary_rows(n_rows: int, n_columns: int) -> FloatArray:
    return to_grid(np.random.default_rng(9).normal(0.0, 0.4, (n_rows, n_columns)))


@pytest.mark.attack
def test_each_row_is_in_one_subcube_of_a_level_and_it_holds_the_row() -> None:
    """Level after level, whichever cubes are counted."""
    rows, corner = ordinary_rows(500, 3), np.array([MIDDLE, MIDDLE + 5, MIDDLE - 9_999_999])
    cubes = orthants(3)
    for level in range(1, 8):
        query = SubcubeCounts(cubes, level, corner)
        found = query.contribute(rows)
        assert found.blocks.shape == found.values.shape[:2] == (500, 1)
        voted = found.values[:, 0, 0] == UNIT
        side = 2 ** (CUBE_BITS - level - 1)
        lowest = corner + query.subcubes[found.blocks[:, 0]] * side
        holds = ((rows >= lowest) & (rows < lowest + side)).all(axis=1)
        assert holds[voted].all()
        parent = (rows - corner) // (2 * side)
        counted = (parent[:, None, :] == cubes).all(axis=2).any(axis=1)
        assert (voted == counted).all()
        cubes = np.unique(query.subcubes[found.blocks[voted, 0]], axis=0)[::2]


def test_the_shifted_first_cube_holds_the_whole_ball() -> None:
    ends = to_grid(np.vstack([np.eye(2), -np.eye(2)]) * 2)
    for shift in (-GRID, 0, GRID - 1):
        query = SubcubeCounts(orthants(2), 1, np.full(2, MIDDLE + shift))
        assert (query.contribute(ends).values == UNIT).all()


def test_savings_equal_brute_force() -> None:
    rows, points = ordinary_rows(200, 3), mirrored_points(3, 5, seed=2)
    centers, joining, leaving = points[:4], points[4:14], np.arange(10) % 4
    swaps = SwapSavings(centers, joining, leaving)
    sets = np.repeat(centers[None], 10, axis=0)
    sets[np.arange(10), leaving] = joining
    grid = to_grid(sets.reshape(-1, 3)).reshape(sets.shape)
    squares = ((rows[:, None, None, :] - grid) ** 2).sum(axis=3).min(axis=2)
    expected = np.maximum(GRID**2 - squares, 0) // 2**24
    assert (swaps.contribute(rows).values[:, 0] == expected).all()
    assert (SetSavings(sets).contribute(rows).values[:, 0] == expected).all()


def test_the_only_centre_can_leave() -> None:
    query = SwapSavings(np.full((1, 1), 0.25), np.array([[-0.5]]), np.array([0]))
    values = query.contribute(to_grid(np.array([[0.25]]))).values
    assert values.item() == UNIT * (1 - 0.75**2)


@pytest.mark.parametrize("unit", [ROW, Unit("who", 3)])
def test_a_selection_is_priced_by_the_largest_saving_of_a_unit(unit: Unit) -> None:
    query = SetSavings(np.zeros((5, 2, 3)))
    assert unit.sensitivity(query).linf == unit.rows * UNIT


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (SubcubeCounts, (np.zeros((0, 2)), 1, np.zeros(2)), "at least one position"),
        (SubcubeCounts, (np.zeros((1, 2)), 1, np.zeros(3)), "as many axes as the corner"),
        (SubcubeCounts, (np.zeros((1, 2)), 0, np.zeros(2)), "level between 1 and 26"),
        (SubcubeCounts, (np.full((1, 2), 2), 1, np.zeros(2)), "must differ and lie between"),
        (SubcubeCounts, (np.zeros((2, 2)), 1, np.zeros(2)), "must differ and lie between"),
        (SubcubeCounts, (np.zeros((1, 9)), 7, np.zeros(9)), "axes times level"),
        (SwapSavings, (np.zeros((1, 2)), np.zeros((2, 2)), np.zeros(1)), "each swap needs"),
        (SwapSavings, (np.zeros((1, 2)), np.zeros((1, 2)), np.ones(1)), "each swap needs"),
        (SetSavings, (np.zeros((129, 1, 2)),), "at most 128 choices, got 129"),
        (SetSavings, (np.zeros((2, 2)),), "array of 3 axes, got the shape"),
        (SetSavings, (np.full((1, 1, 1), np.nan),), "finite point of the unit ball"),
    ],
)
def test_what_no_proof_covers_is_refused(kind: Any, given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(*given)
