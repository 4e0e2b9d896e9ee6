"""Bugs of the compiled kernels: other integers than those of their NumPy twins."""

from __future__ import annotations

from mutations.base import Mutation

_TESTS = "tests/kernels/test_compiled.py"

KERNELS = (
    Mutation(
        "compiled: floored, not truncated",
        "kernels/compiled.py",
        "math.trunc(point[t] * factor)",
        "math.floor(point[t] * factor)",
        f"{_TESTS}::test_rows_are_clipped_the_same",
    ),
    Mutation(
        "compiled: sums of floats in any order",
        "kernels/compiled.py",
        "ordered = njit(nogil=True, cache=True)",
        "ordered = njit(nogil=True, cache=True, fastmath=True)",
        f"{_TESTS}::test_rows_within_an_ulp_of_the_grid_are_clipped_the_same",
    ),
    Mutation(
        "compiled: rows longer than the ball",
        "kernels/compiled.py",
        "if not square <= units * units:",
        "if False:",
        "tests/kernels/test_grid.py::test_a_row_longer_than_its_rounded_norm_becomes_zero",
    ),
    Mutation(
        "compiled: NaN past the clip",
        "kernels/compiled.py",
        "if math.isnan(value):",
        "if False:",
        f"{_TESTS}::test_cells_are_mapped_to_the_grid_the_same",
    ),
    Mutation(
        "compiled: ties for the highest index",
        "kernels/compiled.py",
        "if score[lane] > best[lane]:",
        "if score[lane] >= best[lane]:",
        f"{_TESTS}::test_ties_go_to_the_lowest_index",
    ),
    Mutation(
        "compiled: ties of products for the highest index",
        "kernels/compiled.py",
        "if score > best[i]:",
        "if score >= best[i]:",
        f"{_TESTS}::test_ties_go_to_the_lowest_index",
    ),
    Mutation(
        "compiled: edges that are not reached",
        "kernels/compiled.py",
        "found[i] += squares[i] >= edges[own, e]",
        "found[i] += squares[i] > edges[own, e]",
        f"{_TESTS}::test_as_many_edges_are_reached",
    ),
    Mutation(
        "compiled: no last word on length",
        "kernels/compiled.py",
        " and square <= l2_squared",
        "",
        f"{_TESTS}::test_the_same_rows_are_left_out",
    ),
    Mutation(
        "compiled: squares that wrap around",
        "kernels/compiled.py",
        "max(1, 2**61 // max(1, linf * linf))",
        "2**40",
        f"{_TESTS}::test_squares_that_would_wrap_around_are_left_out",
    ),
    Mutation(
        "compiled: a row that takes votes away",
        "kernels/compiled.py",
        "lowest = 0 if monotone else -linf",
        "lowest = -linf",
        f"{_TESTS}::test_the_same_rows_are_left_out",
    ),
    Mutation(
        "compiled: a row that counts twice in one block",
        "kernels/compiled.py",
        "within and (increasing or _differ(blocks[i]))",
        "within",
        f"{_TESTS}::test_the_same_rows_are_left_out",
    ),
    Mutation(
        "compiled: blocks that do not exist",
        "kernels/compiled.py",
        "within &= 0 <= blocks[i, j] < n_blocks",
        "within &= blocks[i, j] < n_blocks",
        f"{_TESTS}::test_the_same_rows_are_left_out",
    ),
    Mutation(
        "compiled: points of another width",
        "kernels/compiled.py",
        "    if points.shape[1] != rows.shape[1]:\n",
        "    if False:\n",
        f"{_TESTS}::test_no_index_leads_out_of_an_array",
    ),
    Mutation(
        "compiled: an index beyond the points",
        "kernels/compiled.py",
        "if not 0 <= index[i] < n_lines:",
        "if False:",
        f"{_TESTS}::test_no_index_leads_out_of_an_array",
    ),
)
