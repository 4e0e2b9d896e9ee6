"""Moments of cores and shells, attacked as the queries of test_clusters.py are; rows at edges."""

from __future__ import annotations

import math

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
    totals,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.engines.base import kept_rows
from privclust.kernels.grid import GRID, UNIT, FloatArray, IntArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.kernels.projection import Projection, gaussian_projection
from privclust.queries.shells import (
    CORE_RADII,
    SHELL_RATIO,
    SHELLS_MAX,
    ShellMoments,
    numbers_changed,
    shells_needed,
)
from privclust.queries.unit import COORDINATES_MAX, Unit

FAR = tuple(int(part * UNIT) for part in (0.75, 0.55, 0.36))
"""What a far row adds at most to its shell: a residual, a count, a squared length."""


def examples_with(n_columns: int) -> list[Example]:
    few = mirrored_points(n_columns, 3, seed=2)
    project = gaussian_projection(n_columns, (n_columns + 3) // 4, np.random.default_rng(3))
    projected = mirrored_points((n_columns + 3) // 4, 3, seed=4)
    # Clusters of one query differ in radius: a far row of one may be a near one of another.
    radii = np.geomspace(2.0**-18, 0.5, len(few))
    queries = {
        "one shell": ShellMoments(few, radii, 0.6, 0.4, 1),
        "four shells": ShellMoments(few, radii[::-1], 3.7, 0.15, 4),
        "all shells": ShellMoments(few, np.full(len(few), 2.0**-20), 2.0**-10, 16.0, SHELLS_MAX),
        "projected": ShellMoments(projected, radii[::-1] / 2, 0.6, 0.4, 3, project),
    }
    return [Example(f"{name} d={n_columns}", n_columns, query) for name, query in queries.items()]


EXAMPLES = [example for n_columns in COLUMNS for example in examples_with(n_columns)]
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


def shells_of(example: Example) -> ShellMoments:
    assert isinstance(example.query, ShellMoments)
    return example.query


def rows_at_edges(query: ShellMoments) -> FloatArray:
    """Grid rows about every edge of every cluster that lies in the ball: at it, and beside it."""
    rng = np.random.default_rng(3)
    found = []
    for center, inner in zip(query.centers, query.inner, strict=True):
        for edge in inner[inner < 1]:
            aside = rng.normal(size=(10, len(center)))
            aside /= np.linalg.norm(aside, axis=1, keepdims=True)
            aside[:3] = np.eye(1, len(center))
            lengths = edge * GRID + np.array([-1, 0, 1, -2, -1, 0, 0, 1, 2, 3])
            found.append(np.rint(center + aside * lengths[:, None]))
    rows = np.vstack(found)
    inside: FloatArray = rows[(rows**2).sum(axis=1) <= GRID**2]
    return inside


def exact_shells(query: ShellMoments, rows: FloatArray, cluster: IntArray) -> list[int]:
    """Return the shell of each row, -1 for a core, in numbers of any size."""
    edges = ((query.inner * GRID) ** 2).tolist()
    gaps = (rows - query.centers[cluster]).astype(np.int64).astype(object)
    squares = (gaps**2).sum(axis=1)
    return [
        sum(square >= edge for edge in edges[own]) - 1
        for square, own in zip(squares.tolist(), cluster.tolist(), strict=True)
    ]


def grid_rows_of(example: Example) -> FloatArray:
    """Strange rows and, as far as they can be told before a projection, those at edges."""
    query = shells_of(example)
    with np.errstate(all="ignore"):
        rows = example.domain.to_grid(edge_case_rows(example.n_columns))
    return np.vstack([rows, rows_at_edges(query)]) if query.projection is None else rows


def squared_lengths(values: IntArray) -> list[int]:
    return [sum(cell * cell for cell in row) for row in values.reshape(len(values), -1).tolist()]


# A row alone -------------------------------------------------------------------------------------


@pytest.mark.attack
@every_example
def test_a_row_contributes_alone_what_it_does_among_others(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    alone = each_row_alone(example, rows)
    for arrange in ARRANGEMENTS:
        assert contributions(example, arrange(rows)) == alone
    order = np.random.default_rng(7).permutation(len(rows))
    assert contributions(example, rows[order]) == [alone[i] for i in order]
    chunks = [contributions(example, rows[start : start + 7]) for start in range(0, len(rows), 7)]
    assert [one for chunk in chunks for one in chunk] == alone


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", COLUMNS)
def test_a_row_at_an_edge_takes_its_side_whoever_stands_beside_it(n_columns: int) -> None:
    for example in examples_with(n_columns)[:3]:
        query = shells_of(example)
        rows = rows_at_edges(query)
        found = query.contribute(rows)
        for arrange in ARRANGEMENTS:
            again = query.contribute(arrange(rows)[::-1])
            assert np.array_equal(again.blocks[::-1], found.blocks)
            assert np.array_equal(again.values[::-1], found.values)
        for number in range(0, len(rows), 5):
            one = query.contribute(rows[number : number + 1].copy())
            assert np.array_equal(one.blocks[0], found.blocks[number])
            assert np.array_equal(one.values[0], found.values[number])


@pytest.mark.attack
@every_example
def test_a_row_is_in_the_shell_of_its_own_cluster_and_in_no_other(example: Example) -> None:
    query = shells_of(example)
    rows = grid_rows_of(example)
    placed = rows if query.projection is None else query.projection(rows)
    cluster = nearest(placed, query.centers)
    shells = np.array(exact_shells(query, placed, cluster))
    found = query.contribute(rows)
    n_clusters = len(query.centers)
    assert found.blocks[:, 0].tolist() == cluster.tolist()
    far = shells >= 0
    assert far.any()
    assert query.projection is not None or not far.all()
    expected = n_clusters + cluster * query.n_shells + shells
    assert found.blocks[far, 1].tolist() == expected[far].tolist()
    assert not found.values[~far, 1].any()
    # What a far row adds to its core is its count and a square of one radius.
    assert not found.values[far, 0, :-2].any()
    assert (found.values[:, 0, -2] == int(query.weight * UNIT)).all()
    assert (found.values[far, 0, -1] == int(query.square_weight * UNIT)).all()
    assert (found.values[far, 1, -2] == FAR[1]).all()
    assert found.blocks.max() < n_clusters * (1 + query.n_shells)


@pytest.mark.attack
@every_example
def test_residuals_and_squares_are_those_of_the_row_on_its_own_scale(example: Example) -> None:
    query = shells_of(example)
    rows = grid_rows_of(example)
    placed = rows if query.projection is None else query.projection(rows)
    cluster = nearest(placed, query.centers)
    found = query.contribute(rows)
    shells = exact_shells(query, placed, cluster)
    for number, (own, shell) in enumerate(zip(cluster.tolist(), shells, strict=True)):
        residual = (placed[number] - query.centers[own]) / GRID
        length = float(np.linalg.norm(residual))
        if shell < 0:
            scale, added = query.radii[own], found.values[number, 0]
            units, square = UNIT, int(query.square_weight * UNIT)
        else:
            scale = query.outer[own, shell]
            added, units, square = found.values[number, 1], FAR[0], FAR[2]
        clipped = residual * min(1 / scale, 1 / max(length, 1e-300))
        np.testing.assert_allclose(added[:-2], clipped * units, atol=1.01, rtol=2.0**-39)
        assert added[-1] == pytest.approx(min(length / scale, 1) ** 2 * square, abs=1.01)


# Sensitivity -------------------------------------------------------------------------------------


@pytest.mark.attack
@every_example
def test_one_row_more_moves_the_result_no_more_than_declared(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    for table in (rows[:0], rows[:1], rows):
        assert_no_row_added_moves_too_much(example, table, rows[::41])


@pytest.mark.attack
@every_example
def test_every_row_keeps_the_bounds_and_none_is_left_out(example: Example) -> None:
    query, bounds = shells_of(example), example.query.sensitivity
    rows = grid_rows_of(example)
    found = query.contribute(rows)
    assert kept_rows(query, found).all()
    sizes = np.abs(found.values.reshape(len(rows), -1))
    assert sizes.sum(axis=1).max() <= bounds.l1
    assert sizes.max() <= bounds.linf
    assert (sizes > 0).sum(axis=1).max() <= bounds.l0
    assert max(squared_lengths(found.values)) <= bounds.l2_squared
    core, shell = found.values[:, 0].copy(), found.values[:, 1]
    core[:, -2:] = 0
    # The part of a far row in its shell is no longer than a near row's residual in the core.
    assert max(squared_lengths(core)) <= UNIT**2
    assert max(squared_lengths(shell)) <= sum(part**2 for part in FAR) < UNIT**2


@pytest.mark.attack
@pytest.mark.parametrize(
    ("weight", "square_weight"), [(2**-10, 16.0), (0.6, 0.4), (1.0, 1.0), (16, 3), (2**-10, 2**-10)]
)
@pytest.mark.parametrize("n_columns", [1, 2, 3, 65, 1000])
def test_declared_bounds_are_the_proved_ones(
    n_columns: int, weight: float, square_weight: float
) -> None:
    query = ShellMoments(np.zeros((2, n_columns)), np.ones(2), weight, square_weight, 3)
    bounds, count, square = query.sensitivity, int(weight * UNIT), int(square_weight * UNIT)
    assert bounds.l2_squared == count**2 + square**2 + UNIT**2
    rest = bounds.l1 - count - square
    near, far = math.sqrt(n_columns), 0.75 * math.sqrt(n_columns) + 0.55 + 0.36
    assert max(near, far) * UNIT - 4 <= rest <= max(near, far) * UNIT + 4
    assert n_columns * UNIT**2 <= rest**2
    assert n_columns * FAR[0] ** 2 <= (rest - FAR[1] - FAR[2]) ** 2
    assert bounds.linf == max(UNIT, count, square)
    assert (bounds.l0, bounds.monotone) == (n_columns + 4, False)
    assert numbers_changed(n_columns) == bounds.l0
    assert query.size == 2 * (1 + 3) * (n_columns + 2)


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [1, 2, 16])
def test_the_bounds_are_nearly_attained(n_columns: int) -> None:
    query = ShellMoments(np.zeros((1, n_columns)), np.array([0.01]), 0.6, 0.4, 2)
    rows = np.vstack([np.full((2, n_columns), 1 / math.sqrt(n_columns)), np.eye(1, n_columns)])
    values = query.contribute(to_grid(rows * [[0.0299], [1.0], [1.0]])).values
    bounds, whole = query.sensitivity, np.abs(values.reshape(3, -1))
    near, far, _ = squared_lengths(values)
    assert (1 - 1e-6) * bounds.l2_squared <= near <= bounds.l2_squared
    shell_part = sum(part**2 for part in FAR) - UNIT**2
    assert (1 - 1e-6) * (bounds.l2_squared + shell_part) <= far <= bounds.l2_squared
    assert whole.sum(axis=1).max() == pytest.approx(bounds.l1, rel=1e-6)
    assert (whole > 0).sum(axis=1).tolist()[:2] == [n_columns + 2, bounds.l0]


cells = st.one_of(st.sampled_from(STRANGE), st.floats(-1.5, 1.5), st.floats())
rows_of_three = st.lists(cells, min_size=3, max_size=3)


@settings(deadline=None, derandomize=True, database=None, max_examples=40)
@given(st.lists(rows_of_three, max_size=6), rows_of_three)
def test_no_row_that_hypothesis_finds_moves_more_than_declared(
    table: list[list[float]], row: list[float]
) -> None:
    rows = np.array(table, dtype=np.float64).reshape(-1, 3)
    for example in EXAMPLES:
        if example.n_columns == 3:
            before, after = totals(example, rows), totals(example, np.vstack([rows, row]))
            assert_one_row_moves_no_more_than_declared(example.query, before, after)


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(
    st.floats(2.0**-20, 2.0),
    st.integers(1, SHELLS_MAX),
    st.lists(st.tuples(st.integers(0, SHELLS_MAX), st.integers(-3, 3)), min_size=1, max_size=9),
)
def test_rows_next_to_any_edge_of_any_radius_keep_to_their_side(
    radius: float, n_shells: int, places: list[tuple[int, int]]
) -> None:
    query = ShellMoments(np.zeros((1, 2)), np.array([radius]), 0.6, 0.4, n_shells)
    edges = CORE_RADII * radius * SHELL_RATIO ** np.array([edge for edge, _ in places])
    beside = np.clip(np.rint(edges * GRID) + [aside for _, aside in places], 0, GRID)
    rows = np.column_stack([np.zeros(len(beside)), -beside])
    found = query.contribute(rows)
    shells = exact_shells(query, rows, np.zeros(len(rows), dtype=np.int64))
    assert found.values[:, 1].any(axis=1).tolist() == [shell >= 0 for shell in shells]
    far = np.array(shells) >= 0
    assert found.blocks[far, 1].tolist() == [1 + shell for shell in shells if shell >= 0]
    assert kept_rows(query, found).all()


@every_example
def test_chunks_and_threads_change_no_sum(
    example: Example, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = edge_case_rows(example.n_columns)
    expected = totals(example, rows)
    set_batch_rows(50, monkeypatch)
    assert totals(example, np.asfortranarray(rows), threads=2) == expected


# What results mean -------------------------------------------------------------------------------


def test_a_shell_ends_where_the_next_begins_or_where_the_ball_does() -> None:
    center = np.array([3.0, -4.0]) / 16
    radii = np.array([0.01, 0.4, 2.0**-20])
    query = ShellMoments(np.array([center] * 3), radii, 0.6, 0.4, 3)
    inner = CORE_RADII * radii[:, None] * SHELL_RATIO ** np.arange(3)
    reach = 1 + 5 / 16
    np.testing.assert_array_equal(query.inner, inner)
    np.testing.assert_array_equal(
        query.outer,
        [
            [inner[0, 1], inner[0, 2], reach],
            [reach, inner[1, 1], inner[1, 2]],  # No row is in the second and third.
            inner[2] * SHELL_RATIO,
        ],
    )
    farthest = -center / np.linalg.norm(center) * GRID
    values = query.contribute(np.array([farthest])).values[0, 1]
    assert np.linalg.norm(values[:-2]) == pytest.approx(FAR[0], rel=1e-6)


@pytest.mark.parametrize("projection", [None, gaussian_projection(4, 2, np.random.default_rng(2))])
def test_split_gives_back_counts_residuals_and_squares(projection: Projection | None) -> None:
    rng = np.random.default_rng(4)
    n_columns = 4 if projection is None else 2
    rows = rng.normal(0, 0.3, (600, 4))
    centers = rng.normal(0, 0.3, (5, n_columns))
    query = ShellMoments(centers, np.array([0.005, 0.02, 0.05, 0.1, 0.3]), 0.6, 0.4, 3, projection)
    example = Example("split", 4, query)
    placed = example.domain.to_grid(rows)
    placed = placed if projection is None else projection(placed)
    cluster = nearest(placed, query.centers)
    residuals = (placed - query.centers[cluster]) / GRID
    lengths = np.linalg.norm(residuals, axis=1)
    shells = np.array(exact_shells(query, placed, cluster))
    found = query.split(np.array(totals(example, rows)) / UNIT)
    assert found.far_sums.shape == (5, 3, n_columns)
    assert found.counts == pytest.approx(np.bincount(cluster, minlength=5))
    for own in range(5):
        radius, here = query.radii[own], cluster == own
        near, cut = here & (shells < 0), np.minimum(1, radius / lengths)
        sums = (residuals * cut[:, None])[near].sum(axis=0)
        np.testing.assert_allclose(found.sums[own], sums, atol=1e-5)
        clipped = (np.minimum(lengths, radius) ** 2)[here].sum()
        assert found.squares[own] == pytest.approx(clipped, abs=1e-5)
        for shell in range(3):
            inside = here & (shells == shell)
            outer = query.outer[own, shell]
            cut = np.minimum(1, outer / lengths)
            sums = (residuals * cut[:, None])[inside].sum(axis=0)
            assert found.far_counts[own, shell] == pytest.approx(inside.sum())
            np.testing.assert_allclose(found.far_sums[own, shell], sums, atol=1e-5)
            squares = (np.minimum(lengths, outer) ** 2)[inside].sum()
            assert found.far_squares[own, shell] == pytest.approx(squares, abs=1e-5)


def test_shells_reach_through_the_ball() -> None:
    for radius in np.geomspace(2.0**-20, 2.0, 50):
        n_shells = shells_needed(radius, 1, 1)
        query = ShellMoments(np.ones((1, 1)), np.array([radius]), 1.0, 1.0, n_shells)
        assert query.outer[0, -1] >= 2 * (1 - 1e-7)
        assert n_shells == 1 or query.outer[0, -2] < 2


@pytest.mark.attack
@pytest.mark.parametrize("n_columns", [1, 2, 48, 1000])
@pytest.mark.parametrize("radius", [2.0**-20, 0.01, 0.5])
def test_a_unit_can_change_all_numbers_of_as_many_shells_as_are_taken(
    radius: float, n_columns: int
) -> None:
    """A Curator refuses larger results of units: a fit would end in the middle."""
    most = COORDINATES_MAX // (2 * (n_columns + 2))
    for n_clusters in (1, most // 7 + 1, most // 2, most - 1, most):
        n_shells = shells_needed(radius, n_clusters, n_columns)
        assert 1 <= n_shells <= SHELLS_MAX
        assert n_clusters * (1 + n_shells) * (n_columns + 2) <= Unit("who").l0
    assert shells_needed(radius, 10**6, n_columns) == 1


@pytest.mark.attack
@pytest.mark.parametrize("n_shells", [0, -1, SHELLS_MAX + 1, 2**62, 1.5, math.nan])
def test_other_numbers_of_shells_are_refused(n_shells: int) -> None:
    with pytest.raises(ValueError, match="n_shells must be an integer between 1 and 10, got"):
        ShellMoments(np.zeros((1, 2)), np.ones(1), 1.0, 1.0, n_shells)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("radii", "weight", "square_weight"),
    [
        ([0.1, 0.0], 1.0, 1.0),
        ([0.1, 2.1], 1.0, 1.0),
        ([0.1, np.nan], 1.0, 1.0),
        ([0.1], 1.0, 1.0),
        ([[0.1], [0.2]], 1.0, 1.0),
        (0.1, 1.0, 1.0),
        ([0.1, 0.1], 0.0, 1.0),
        ([0.1, 0.1], np.nan, 1.0),
        ([0.1, 0.1], 1.0, 16.1),
    ],
    ids=str,
)
def test_bad_radii_or_weights_are_refused_with_what_is_allowed(
    radii: list[float], weight: float, square_weight: float
) -> None:
    usable = 2**-10 <= weight <= 16 and 2**-10 <= square_weight <= 16
    allowed = "must lie between 2\\^-10 and 16; got weight=.*, square_weight="
    if usable:
        allowed = "a radius between 2\\^-20 and 2"
    with pytest.raises(ValueError, match=allowed):
        ShellMoments(np.zeros((2, 2)), np.array(radii), weight, square_weight, 1)


def test_radii_cannot_be_changed_afterwards() -> None:
    radii = np.array([0.1])
    query = ShellMoments(np.zeros((1, 2)), radii, 1.0, 1.0, 1)
    radii[0] = 1.0
    assert query.radii.tolist() == [0.1]
    with pytest.raises(ValueError, match="read-only"):
        query.radii[0] = 1.0
