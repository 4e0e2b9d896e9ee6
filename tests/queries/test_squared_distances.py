"""Votes for squared distances, attacked as the queries of test_clusters.py are."""

from __future__ import annotations

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
    totals,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.kernels.grid import GRID, UNIT, FloatArray
from privclust.kernels.nearest import nearest
from privclust.queries.base import Sensitivity
from privclust.queries.squared_distances import SquaredDistanceVotes

NODES = {
    "few": np.array([0.0, 4.0]),
    "octaves": np.array([0.0, *2.0 ** np.arange(-8, 1), 2.25]),
    "short": np.array([0.0, 0.01, 0.02]),
    "close": np.array([0.0, 2.0**-50, 2.0**-49, 1.0, 1.0 + 2.0**-50, 4.0]),
}
EXAMPLES = [
    Example(f"{name} nodes d={d}", d, SquaredDistanceVotes(mirrored_points(d, 3, seed=2), nodes))
    for d in COLUMNS
    for name, nodes in NODES.items()
]
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


def rows_at_a_node(n_columns: int, node: float) -> FloatArray:
    """Rows about a squared distance from the origin: some a few grid units nearer, some farther."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, n_columns))
    lengths = np.sqrt(node) + rng.integers(-2, 3, (200, 1)) * n_columns / GRID
    at_the_node: FloatArray = rows * lengths / np.linalg.norm(rows, axis=1, keepdims=True)
    return at_the_node


@pytest.mark.attack
@every_example
def test_a_row_contributes_alone_what_it_does_among_others(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    alone = each_row_alone(example, rows)
    for arrange in ARRANGEMENTS:
        assert contributions(example, arrange(rows)) == alone
    order = np.random.default_rng(7).permutation(len(rows))
    assert contributions(example, rows[order]) == [alone[i] for i in order]


@pytest.mark.parametrize("n_columns", COLUMNS)
def test_a_row_at_a_node_takes_its_side_whoever_stands_beside_it(n_columns: int) -> None:
    query = SquaredDistanceVotes(np.zeros((1, n_columns)), NODES["octaves"])
    example = Example("node", n_columns, query)
    rows = rows_at_a_node(n_columns, 0.25)
    alone = each_row_alone(example, rows)
    assert len({one[:8] for one in alone}) == 2  # some lie below the node, some above
    assert contributions(example, rows) == alone
    assert contributions(example, np.asfortranarray(rows)[::-1]) == alone[::-1]


@pytest.mark.attack
@every_example
def test_one_row_more_moves_the_result_no_more_than_declared(example: Example) -> None:
    rows = edge_case_rows(example.n_columns)
    for table in (rows[:0], rows[:1], rows):
        assert_no_row_added_moves_too_much(example, table, rows[::41])


@pytest.mark.attack
@every_example
def test_every_row_gives_exactly_one_vote_to_two_neighbouring_nodes(example: Example) -> None:
    with np.errstate(all="ignore"):
        rows = example.domain.to_grid(edge_case_rows(example.n_columns))
    found = example.query.contribute(rows)
    lower, upper = found.blocks.T
    assert (upper == lower + 1).all()
    assert lower.min() >= 0
    assert upper.max() < example.query.size
    assert found.values.min() >= 0
    assert (found.values.sum(axis=(1, 2)) == UNIT).all()


@pytest.mark.attack
def test_declared_bounds_are_the_proved_ones_and_are_reached() -> None:
    query = SquaredDistanceVotes(np.zeros((2, 5)), NODES["octaves"])
    assert query.sensitivity == Sensitivity(UNIT, UNIT**2, UNIT, 2, monotone=True)
    assert query.size == len(NODES["octaves"])
    at_its_centre = totals(Example("centre", 5, query), np.zeros((1, 5)))
    assert at_its_centre == [UNIT, *[0] * (query.size - 1)]
    between = np.zeros((1, 5))
    between[0, 0] = np.sqrt((NODES["octaves"][3] + NODES["octaves"][4]) / 2)
    moved = totals(Example("between", 5, query), between)
    assert sum(move != 0 for move in moved) == query.sensitivity.l0


cells = st.one_of(st.sampled_from(STRANGE), st.floats(-1.5, 1.5), st.floats())
rows_of_three = st.lists(cells, min_size=3, max_size=3)


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.lists(rows_of_three, max_size=6), rows_of_three)
def test_no_row_that_hypothesis_finds_moves_more_than_declared(
    table: list[list[float]], row: list[float]
) -> None:
    rows = np.array(table, dtype=np.float64).reshape(-1, 3)
    for example in EXAMPLES:
        if example.n_columns == 3:
            before, after = totals(example, rows), totals(example, np.vstack([rows, row]))
            assert_one_row_moves_no_more_than_declared(example.query, before, after)


@every_example
def test_votes_times_nodes_are_squared_distances_as_far_as_nodes_go(example: Example) -> None:
    query = example.query
    assert isinstance(query, SquaredDistanceVotes)
    rows = np.random.default_rng(4).normal(0.0, 0.3, (2000, example.n_columns))
    placed = example.domain.to_grid(rows)
    gaps = placed - query.centers[nearest(placed, query.centers)]
    squares = np.minimum(((gaps / GRID) ** 2).sum(axis=1), query.nodes[-1])
    votes = np.array(totals(example, rows)) / UNIT
    assert votes.sum() == len(rows)
    truncated = squares.sum() - votes @ query.nodes
    assert -1e-9 <= truncated <= len(rows) * np.diff(query.nodes).max() / UNIT + 1e-9


def test_any_kink_at_a_node_is_added_up_exactly() -> None:
    """So a loss capped at a node follows from the votes as well."""
    query = SquaredDistanceVotes(np.zeros((1, 2)), np.array([0.0, 0.09, 1.0]))
    rows = np.random.default_rng(5).normal(0.0, 0.3, (2000, 2))
    votes = np.array(totals(Example("cap", 2, query), rows)) / UNIT
    capped = np.minimum((rows**2).sum(axis=1), 0.09)
    assert votes @ np.minimum(query.nodes, 0.09) == pytest.approx(capped.sum(), rel=1e-5)


@pytest.mark.attack
@pytest.mark.parametrize(
    "nodes",
    [
        [],
        [0.0],
        [[0.0, 1.0]],
        [0.1, 1.0],
        [-1.0, 0.0],
        [0.0, 0.0],
        [0.0, 1.0, 0.5],
        [0.0, 1.0, 1.0],
        [0.0, 2.0**-51],
        [0.0, 4.1],
        [0.0, np.inf],
        [0.0, np.nan],
        [np.nan, 1.0],
        [0.0, np.nan, 1.0],
    ],
    ids=str,
)
def test_nodes_that_do_not_increase_from_0_are_refused(nodes: list[float]) -> None:
    """Among others a search would depend on the row searched for before, or votes on no number."""
    with pytest.raises(ValueError, match="increasing squared distances from 0 to 4"):
        SquaredDistanceVotes(np.zeros((1, 2)), np.array(nodes))


def test_centres_and_nodes_cannot_be_changed_afterwards() -> None:
    nodes = np.array([0.0, 1.0])
    query = SquaredDistanceVotes(np.zeros((1, 2)), nodes)
    nodes[1] = 2.0
    assert query.nodes.tolist() == [0.0, 1.0]
    for array in (query.centers, query.nodes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
