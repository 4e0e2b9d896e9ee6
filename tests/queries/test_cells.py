"""Cells: what counts and sums of cells mean, their bounds, and what is refused.

That a row speaks for itself alone and never louder than declared is attacked in test_queries.py,
whose list of examples cells have joined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import GRID, UNIT, FloatArray, to_grid
from privclust.privacy.fingerprint import digest
from privclust.queries.base import ONE_HOT, Query
from privclust.queries.cells import NOWHERE, CellCounts, CellSums, SignCells

NAMES = ("000", "0010", "0011", "10", "110", "01")


def points(n_points: int, n_columns: int, seed: int) -> FloatArray:
    rng = np.random.default_rng(seed)
    drawn: FloatArray = 0.6 * rng.normal(size=(n_points, n_columns)) / np.sqrt(n_columns)
    return drawn


def ball(rows: FloatArray) -> Ball:
    return Ball(np.zeros(rows.shape[1]), 1.0)


def result(query: Query, rows: FloatArray) -> FloatArray:
    """The exact result in votes."""
    engine = NumpyEngine(rows, ball(rows), threads=1)
    return np.array(engine.aggregate(query)) / UNIT


def exact_cells(rows: FloatArray, normals: FloatArray, names: tuple[str, ...]) -> list[int]:
    """Index of each row's cell by integers of any size, one letter of its name at a time."""
    whole = normals.astype(np.int64).astype(object)
    products = [(whole @ row).tolist() for row in rows.astype(int).astype(object)]
    addresses = ["".join("1" if product < 0 else "0" for product in row) for row in products]
    return [
        next((n for n, name in enumerate(names) if address.startswith(name)), NOWHERE)
        for address in addresses
    ]


# Meaning -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_columns", [1, 3, 65])
@pytest.mark.parametrize("names", [NAMES, ("",), ("1",), ("0" * 20, "1" * 20, "01")])
def test_counts_equal_brute_force(n_columns: int, names: tuple[str, ...]) -> None:
    rows, normals = points(500, n_columns, seed=1), points(20, n_columns, seed=2)
    cells = exact_cells(ball(rows).to_grid(rows), to_grid(normals), names)
    expected = [cells.count(index) for index in range(len(names))]
    assert result(CellCounts(SignCells(normals, names)), rows).tolist() == expected


@pytest.mark.parametrize("weight", [2**-10, 0.25, 3.7])
def test_sums_are_those_of_the_rows_of_a_cell(weight: float) -> None:
    rows, normals = points(400, 4, seed=3), points(4, 4, seed=4)
    query = CellSums(SignCells(normals, NAMES), 4, weight)
    grid_rows = ball(rows).to_grid(rows)
    cells = np.array(exact_cells(grid_rows, to_grid(normals), NAMES))
    assert NOWHERE in cells
    sums, counts = query.split(result(query, rows))
    for index in range(len(NAMES)):
        members = grid_rows[cells == index] / GRID
        assert counts[index] == pytest.approx(len(members), rel=1e-12)
        # A row loses 2^-40 of its length to the margin, if it is long.
        assert sums[index] == pytest.approx(members.sum(axis=0), abs=400 * 2.0**-25)


def test_a_row_on_a_plane_is_on_its_first_side() -> None:
    cells = SignCells(np.array([[0.6, -0.6], [-0.6, 0.6]]), ("00", "01", "10", "11"))
    rows = to_grid(np.array([[0.3, 0.3], [0.0, 0.0], [0.3, 0.2], [0.2, 0.3]]))
    assert cells.cell_of(rows).tolist() == [0, 0, 1, 2]


def test_a_row_in_no_cell_adds_nothing() -> None:
    cells = SignCells(np.eye(2), ("11",))
    rows = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5]])
    for query in (CellCounts(cells), CellSums(cells, 2, 0.5)):
        assert result(query, rows).tolist() == [0.0] * query.size


@settings(deadline=None, derandomize=True, database=None)
@given(st.sets(st.text("01", max_size=6), min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_any_names_that_are_not_nested_are_found(drawn: set[str], seed: int) -> None:
    names = tuple(n for n in drawn if not any(n != m and n.startswith(m) for m in drawn))
    rows, normals = to_grid(points(50, 3, seed)), points(6, 3, seed + 1)
    cells = SignCells(normals, names)
    assert cells.cell_of(rows).tolist() == exact_cells(rows, cells.normals, names)


# Bounds ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [2**-10, 0.37, 1.0, 16.0])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 65, 1000])
def test_declared_bounds_of_cell_sums_are_the_proved_ones(n_columns: int, weight: float) -> None:
    bounds = CellSums(SignCells(np.eye(1, n_columns), ("",)), n_columns, weight).sensitivity
    count = int(weight * UNIT)
    assert bounds.l2_squared == UNIT**2 + count**2
    assert (bounds.l1 - count - 2) ** 2 < n_columns * UNIT**2 <= (bounds.l1 - count) ** 2
    assert (bounds.linf, bounds.l0, bounds.monotone) == (
        max(UNIT, count),
        n_columns + 1,
        False,
    )


def test_a_count_of_cells_is_one_vote_in_one_place() -> None:
    assert CellCounts(SignCells(np.eye(2), ("0", "1"))).sensitivity == ONE_HOT


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.lists(st.floats(-3, 3), min_size=3, max_size=3), st.integers(1, 40))
def test_a_row_adds_to_one_cell_and_within_bounds(row: list[float], depth: int) -> None:
    rng = np.random.default_rng(depth)
    normals = rng.normal(size=(depth, 3))
    names = tuple({"".join(rng.choice(["0", "1"], depth)) for _ in range(30)})
    cells = SignCells(normals, (*names,))
    grid_row = to_grid(np.array([row]))
    for query in (CellCounts(cells), CellSums(cells, 3, 0.25)):
        found = query.contribute(grid_row)
        values = found.values.ravel().tolist()
        assert found.blocks.shape == (1, 1)
        assert sum(abs(value) for value in values) <= query.sensitivity.l1
        assert sum(value * value for value in values) <= query.sensitivity.l2_squared
        assert max(abs(value) for value in values) <= query.sensitivity.linf
        assert sum(value != 0 for value in values) <= query.sensitivity.l0


# Refused, and distinguished ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("normals", "names"),
    [
        (np.eye(2), ()),
        (np.eye(2), ("0", "01")),
        (np.eye(2), ("1", "1")),
        (np.eye(2), ("", "1")),
        (np.eye(2), ("000",)),
        (np.eye(2), ("02",)),
        (np.ones(2), ("0",)),
        (np.full((1, 2), np.nan), ("0",)),
        (np.ones((63, 2)), ("0",)),
    ],
)
def test_cells_that_overlap_or_have_no_planes_are_refused(normals: Any, names: Any) -> None:
    with pytest.raises(ValueError, match="no longer than there are directions, of which none"):
        SignCells(normals, names)


@pytest.mark.parametrize("weight", [0.0, 2**-11, 17.0, np.nan])
def test_a_bad_weight_is_refused_with_what_is_allowed(weight: float) -> None:
    with pytest.raises(ValueError, match=r"weight must lie between 2\^-10 and 16, got"):
        CellSums(SignCells(np.eye(2), ("0",)), 2, weight)


def test_queries_about_other_cells_have_other_digests() -> None:
    cells = [
        SignCells(np.eye(2), ("0", "1")),
        SignCells(np.eye(2), ("1", "0")),
        SignCells(np.eye(2), ("0", "10")),
        SignCells(-np.eye(2), ("0", "1")),
    ]
    queries = [query for one in cells for query in (CellCounts(one), CellSums(one, 2, 0.25))]
    queries.append(CellSums(cells[0], 2, 0.5))
    assert len({digest(query) for query in queries}) == len(queries)
    queries[0].contribute(to_grid(np.eye(2)))  # what is worked out on the way is not part of it
    assert digest(queries[0]) == digest(CellCounts(SignCells(np.eye(2), ("0", "1"))))
