"""Bugs of queries: a row's contribution that follows from others, or exceeds its bounds."""

from __future__ import annotations

from mutations.base import Mutation

QUERIES = (
    Mutation(
        "NaN past the clip",
        "domains/base.py",
        "values = np.where(np.isnan(values), center, values)",
        "pass",
        "tests/domains/test_base.py::test_missing_becomes_the_centre_of_its_column",
    ),
    Mutation(
        "position-dependent votes",
        "kernels/nearest.py",
        "extended_rows = np.column_stack([rows, np.ones(len(rows))])",
        "extended_rows = np.column_stack([rows / 3, np.full(len(rows), 1 / 3)])",
        "tests/queries/test_clusters.py::test_a_row_contributes_alone_what_it_does_among_others",
    ),
    Mutation(
        "position-dependent cells",
        "queries/cells.py",
        "sides = (rows @ self.normals[:depth].T < 0)",
        "sides = (rows / 3 @ self.normals[:depth].T < 0)",
        "tests/queries/test_clusters.py::test_a_row_contributes_alone_what_it_does_among_others",
    ),
    Mutation(
        "radius from the rows",
        "queries/clusters.py",
        "radius = (self.radii * GRID)[cluster]",
        "longest = np.sqrt(norms_squared(residuals).max(initial=1.0))\n"
        "        radius = np.full(len(rows), longest)",
        "tests/queries/test_clusters.py::test_a_row_contributes_alone_what_it_does_among_others",
    ),
    Mutation(
        "noise for the sum, not for sum and count",
        "queries/nearby.py",
        "return self.sums.sensitivity",
        'return __import__("dataclasses").replace(self.sums.sensitivity, l2_squared=2**52)',
        "tests/queries/test_nearby.py::test_row_just_within_the_radius_is_counted_and_nearly_attains_the_bound",
    ),
    Mutation(
        "a vote split by the farthest row",
        "queries/squared_distances.py",
        "part = (squares - nodes[lower]) / (nodes[lower + 1] - nodes[lower])",
        "part = (squares - nodes[lower]) / squares.max(initial=1.0)",
        "tests/queries/test_squared_distances.py::test_a_row_contributes_alone_what_it_does_among_others",
    ),
    Mutation(
        "a whole vote for each of two nodes",
        "queries/squared_distances.py",
        "votes = np.stack([UNIT - upper_vote, upper_vote], axis=1)",
        "votes = np.full((len(rows), 2), UNIT)",
        "tests/queries/test_squared_distances.py::test_every_row_gives_exactly_one_vote_to_two_neighbouring_nodes",
    ),
    Mutation(
        "half the noise for a vote that is split",
        "queries/squared_distances.py",
        "l2_squared=UNIT**2",
        "l2_squared=UNIT**2 // 4",
        "tests/queries/test_squared_distances.py::test_declared_bounds_are_the_proved_ones_and_are_reached",
    ),
    Mutation(
        "nodes in any order",
        "queries/squared_distances.py",
        "if not (usable and (np.diff(nodes) >= _NARROWEST).all()):",
        "if not usable:",
        "tests/queries/test_squared_distances.py::test_nodes_that_do_not_increase_from_0_are_refused",
    ),
    Mutation(
        "rows counted in other cubes",
        "queries/cubes.py",
        "counted = inside & (keys[order][found] == wanted)",
        "counted = inside",
        "tests/queries/test_cubes.py::test_each_row_is_in_one_subcube_of_a_level_and_it_holds_the_row",
    ),
    Mutation(
        "gaps filled by neighbours",
        "domains/_number_column.py",
        "return np.where(np.isnan(values), 0.0, whole)",
        "return np.where(np.isnan(values), np.trunc(np.nansum(whole) / len(whole)), whole)",
        "tests/domains/test_columns.py::test_what_is_noted_of_a_cell_follows_from_it_alone",
    ),
    Mutation(
        "one vote for all columns",
        "queries/profiles.py",
        "l2_squared=columns * UNIT**2,",
        "l2_squared=UNIT**2,",
        "tests/queries/test_profiles.py::test_declared_bounds_are_the_proved_ones_and_are_reached",
    ),
    Mutation(
        "all rows divided by the longest",
        "domains/sphere.py",
        "unit: FloatArray = values / np.where(length > 0, length, 1.0)[:, None]",
        "unit: FloatArray = values / (length.max(initial=0.0) or 1.0)",
        "tests/domains/test_sphere.py::test_a_direction_follows_from_its_row_alone",
    ),
    Mutation(
        "one vote for the histograms of all columns",
        "queries/columns.py",
        "l2_squared=columns * UNIT**2,",
        "l2_squared=UNIT**2,",
        "tests/queries/test_columns.py::test_a_row_votes_in_every_column_and_its_bounds_say_so",
    ),
    Mutation(
        "floored, not truncated",
        "kernels/grid.py",
        "np.trunc(points * (shrink * units)[:, None])",
        "np.floor(points * (shrink * units)[:, None])",
        "tests/kernels/test_grid.py::test_negative_coordinates_are_truncated_and_not_floored",
    ),
)
