"""Every query, attacked: a row speaks for itself alone, and never louder than declared.

One list of example queries runs through both attacks; a new kind of query joins the list.
What the results mean is tested in test_results.py.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers.query_attacks import (
    ARRANGEMENTS,
    COLUMNS,
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
from hypothesis import example as with_example
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT, FloatArray
from privclust.kernels.projection import gaussian_projection
from privclust.queries.base import Count, Query
from privclust.queries.cells import CellCounts, CellSums, SignCells
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.columns import ColumnHistograms
from privclust.queries.covariance import SecondMoment


def examples_with(n_columns: int) -> list[Example]:
    many, few = mirrored_points(n_columns, 180, seed=1), mirrored_points(n_columns, 3, seed=2)
    project = gaussian_projection(n_columns, (n_columns + 3) // 4, np.random.default_rng(3))
    projected = mirrored_points((n_columns + 3) // 4, 3, seed=4)
    # Clusters of one query differ in radius: a long row of one may be a short one of another.
    radii = np.geomspace(0.03, 0.5, len(few))
    edges = np.array([0.0, 0.1, 0.3, 0.55, 0.9])
    # Rows with a zero first, and rows that read the same backwards, are on these planes.
    planes = np.vstack([np.eye(1, n_columns), few - few[:, ::-1]])
    cells = SignCells(planes, ("00", "0100", "0101", "10", "1101"))
    queries: dict[str, Query] = {
        "count": Count(),
        "votes": NearestVotes(many),
        "votes projected": NearestVotes(projected, project),
        "residuals": ClusterSums(few, few, radius=0.3, weight=0.37),
        "sums": ClusterSums(few, np.zeros(few.shape), radius=1.0, weight=1.0),
        "sums projected": ClusterSums(projected, few, radius=0.8, weight=3.7, projection=project),
        "moments": ClusterMoments(few, radii, weight=0.6, square_weight=0.4),
        "moments projected": ClusterMoments(projected, radii, 3.7, 0.15, project),
        "distances": DistanceHistogram(few, edges),
        "distances in radii": DistanceHistogram(few, 4 * edges, radii),
        "cells": CellCounts(cells),
        "cell sums": CellSums(cells, n_columns, weight=0.37),
        "second moment": SecondMoment(n_columns),
        "column histograms": ColumnHistograms(np.linspace(0.1, 1.0, n_columns), 4),
        "distances projected": DistanceHistogram(projected, 4 * edges, radii, project),
    }
    return [Example(f"{name} d={n_columns}", n_columns, query) for name, query in queries.items()]


EXAMPLES = [example for n_columns in COLUMNS for example in examples_with(n_columns)]
SMALL = examples_with(3)
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


# A row alone -------------------------------------------------------------------------------------


@pytest.mark.attack
@every_example
def test_a_row_contributes_alone_what_it_does_among_others(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    alone = each_row_alone(example, rows)
    for arrange in (np.ascontiguousarray, np.asfortranarray):
        assert contributions(example, arrange(rows)) == alone


@every_example
@pytest.mark.parametrize("arrange", ARRANGEMENTS)
def test_memory_order_and_row_order_change_no_contribution(
    example: Example, arrange: Callable[[FloatArray], FloatArray]
) -> None:
    rows = edge_case_rows(example.n_columns)
    expected = contributions(example, rows)
    order = np.random.default_rng(7).permutation(len(rows))
    assert contributions(example, arrange(rows)) == expected
    assert contributions(example, arrange(rows[order])) == [expected[i] for i in order]


@every_example
@pytest.mark.parametrize("size", [2, 7, 256])
def test_chunks_change_no_contribution(example: Example, size: int) -> None:
    rows = edge_case_rows(example.n_columns)
    chunks = [rows[start : start + size] for start in range(0, len(rows), size)]
    found = [one for chunk in chunks for one in contributions(example, chunk)]
    assert found == contributions(example, rows)


@every_example
def test_other_rows_change_no_contribution(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    expected = contributions(example, rows)
    rng = np.random.default_rng(8)
    for _ in range(5):
        kept = rng.random(len(rows)) < 0.5
        others = rng.standard_cauchy((rng.integers(1, 600), example.n_columns))
        found = contributions(example, np.vstack([others, rows[kept], others]))
        middle = found[len(others) : len(others) + kept.sum()]
        assert middle == [one for one, keep in zip(expected, kept, strict=True) if keep]


@every_example
def test_a_row_on_a_bisector_always_takes_the_same_side(example: Example) -> None:
    row = np.zeros((1, example.n_columns))
    row[:, example.n_columns // 2] = 0.25 if example.n_columns > 1 else 0.0
    expected = contributions(example, row)
    for copies in (2, 255, 257, 513):
        assert set(contributions(example, np.repeat(row, copies, axis=0))) == set(expected)


@every_example
@pytest.mark.parametrize(("threads", "chunk"), [(1, 8192), (2, 50), (2, 1)])
def test_the_engine_adds_what_each_row_contributes_alone(
    example: Example, threads: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_batch_rows(chunk, monkeypatch)
    rows = edge_case_rows(example.n_columns)
    expected = [0] * example.query.size
    for row in rows:
        with np.errstate(all="ignore"):
            one = example.query.contribute(example.domain.to_grid(row[None]))
        for block, values in zip(one.blocks[0].tolist(), one.values[0].tolist(), strict=True):
            for coordinate, value in enumerate(values, block * len(values)):
                expected[coordinate] += value
    assert totals(example, np.asfortranarray(rows), threads) == expected


# Sensitivity -------------------------------------------------------------------------------------


@pytest.mark.attack
@every_example
def test_one_row_more_moves_the_result_no_more_than_declared(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    for table in (rows[:0], strange_rows(example.n_columns)):
        assert_no_row_added_moves_too_much(example, table, rows[::61])


@every_example
@pytest.mark.parametrize("n_rows", [1, 2, 300])
@pytest.mark.parametrize("copies", [1, 4])
def test_a_row_added_to_few_many_or_equal_rows_moves_no_more_than_declared(
    example: Example, n_rows: int, copies: int
) -> None:
    rows = edge_case_rows(example.n_columns)
    table = np.repeat(rows[:n_rows], copies, axis=0)
    assert_no_row_added_moves_too_much(example, table, rows[5::67])


@every_example
def test_any_row_can_leave_and_moves_no_more_than_declared(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small batches, so that a row that leaves shifts all later rows into other batches.
    set_batch_rows(50, monkeypatch)
    rows = edge_case_rows(example.n_columns)
    with_row = totals(example, rows)
    for leaving in range(0, len(rows), 13):
        without = totals(example, np.delete(rows, leaving, axis=0))
        assert_one_row_moves_no_more_than_declared(example.query, without, with_row)


@every_example
def test_largest_contribution_nearly_attains_the_declared_bound(example: Example) -> None:
    with np.errstate(all="ignore"):
        rows = example.domain.to_grid(edge_case_rows(example.n_columns))
    values = example.query.contribute(rows).values
    squares = [sum(cell * cell for cell in row) for row in values.reshape(len(rows), -1).tolist()]
    bound = example.query.sensitivity.l2_squared
    assert (1 - 1e-6) * bound <= max(squares) <= bound


def test_no_row_at_all_adds_up_to_zero() -> None:
    for example in EXAMPLES:
        assert totals(example, np.empty((0, example.n_columns))) == [0] * example.query.size


cells = st.one_of(st.sampled_from(STRANGE), st.floats(-1.5, 1.5), st.floats())
rows_of_three = st.lists(cells, min_size=3, max_size=3)
domains = st.sampled_from(
    [Ball([0.0, 0.0, 0.0], 1.0), Ball([3.0, -1e9, 1e-9], 7.0), Box([-1, 0, -1e150], [1, 1e-9, 3])]
)


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.lists(rows_of_three, max_size=6), rows_of_three, st.integers(0, 6), domains)
@with_example([], [np.nan] * 3, 0, Ball([0.0] * 3, 1.0))
def test_no_row_that_hypothesis_finds_moves_more_than_declared(
    table: list[list[float]], row: list[float], place: int, domain: Domain
) -> None:
    rows = np.array(table, dtype=np.float64).reshape(-1, 3)
    longer = np.insert(rows, min(place, len(rows)), row, axis=0)
    before, after = NumpyEngine(rows, domain, 1), NumpyEngine(longer, domain, 1)
    for example in SMALL:
        assert_one_row_moves_no_more_than_declared(
            example.query, before.aggregate(example.query), after.aggregate(example.query)
        )


@pytest.mark.parametrize("weight", [2**-10, 0.37, 1.0, 16.0])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 65, 1000])
def test_declared_bounds_of_sums_are_the_proved_ones(n_columns: int, weight: float) -> None:
    point = np.zeros((1, n_columns))
    bounds = ClusterSums(point, point, radius=1.0, weight=weight).sensitivity
    count = int(weight * UNIT)
    assert bounds.l2_squared == UNIT**2 + count**2
    # The smallest integer not below sqrt(d) units, up to one; squares avoid the root.
    assert n_columns * UNIT**2 <= (bounds.l1 - count) ** 2
    assert (bounds.l1 - count - 2) ** 2 < n_columns * UNIT**2
    assert (bounds.linf, bounds.l0, bounds.monotone) == (
        max(UNIT, count),
        n_columns + 1,
        False,
    )


@pytest.mark.parametrize(
    ("weight", "square_weight"), [(2**-10, 16.0), (0.37, 0.15), (1.0, 1.0), (16, 3)]
)
@pytest.mark.parametrize("n_columns", [1, 2, 3, 65, 1000])
def test_declared_bounds_of_moments_are_the_proved_ones(
    n_columns: int, weight: float, square_weight: float
) -> None:
    bounds = ClusterMoments(np.zeros((1, n_columns)), np.ones(1), weight, square_weight).sensitivity
    count, square = int(weight * UNIT), int(square_weight * UNIT)
    assert bounds.l2_squared == UNIT**2 + count**2 + square**2
    residual_l1 = bounds.l1 - count - square
    assert (residual_l1 - 2) ** 2 < n_columns * UNIT**2 <= residual_l1**2
    assert (bounds.linf, bounds.l0, bounds.monotone) == (
        max(UNIT, count, square),
        n_columns + 2,
        False,
    )


def test_projected_moments_are_as_wide_as_the_projection() -> None:
    project = gaussian_projection(40, 16, np.random.default_rng(9))
    query = ClusterMoments(np.zeros((3, 16)), np.ones(3), 0.6, 0.4, project)
    assert (query.size, query.sensitivity.l0) == (3 * 18, 18)
    assert query.contribute(np.zeros((2, 40))).values.shape == (2, 1, 18)


@pytest.mark.attack
def test_histogram_of_many_centres_and_edges_is_refused_before_it_takes_memory() -> None:
    centers, edges = np.zeros((2**12, 1)), np.linspace(0.0, 1.0, 2**10 + 1)
    with pytest.raises(ValueError, match="centres times edges"):
        DistanceHistogram(centers, edges)
