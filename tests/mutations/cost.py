"""Fits that are not refused by cost before the charge, and rows that norms leave out."""

from __future__ import annotations

from mutations.base import Mutation

_REFUSED = (
    "tests/estimators/test_cost_check.py::test_too_many_clusters_to_compute_are_refused_before_the_charge"
    "[1000000-PrivateKMeans]"
)
_ESTIMATED = "tests/algorithms/test_cost.py::test_no_more_numbers_are_released_than_were_estimated"
_WIDE = "tests/estimators/test_wide_rows.py::test_extreme_rows_count_whatever_the_number_of_columns"

COST = (
    Mutation(
        "cost checked after the reserve",
        "estimators/_fit.py",
        "check_cost(cost_of(planned), unit=table.engine.unit)",
        "begun = run\n"
        "    run = lambda *given: (check_cost(cost_of(planned)), begun(*given))[1]  # noqa: E731",
        _REFUSED,
    ),
    Mutation(
        "cost of k-means left out",
        "algorithms/_cost.py",
        "seconds=NOISE_SECONDS * numbers + free,",
        "seconds=NOISE_SECONDS * numbers,",
        "tests/estimators/test_cost_check.py::test_forty_thousand_clusters_are_refused_for_the_time_that_merging_takes",
    ),
    Mutation(
        "cost of lifted cells left out",
        "algorithms/_private_kmeans_plan.py",
        "measured.append(Measured(cells * (d + 2), cells, d, passes=0, largest=most))",
        "pass",
        "tests/algorithms/test_cost.py::test_means_of_cells_in_all_columns_are_part_of_the_estimate",
    ),
    Mutation(
        "cost of second moments left out",
        "algorithms/feddp_kmeans.py",
        "measured.append(Measured(pairs, 1, pairs / 4))",
        "pass",
        f"{_ESTIMATED}[20-40-2000-FedDPKMeans]",
    ),
    Mutation(
        "wide results of units not refused",
        "estimators/_cost_check.py",
        "0 < unit.l0 < cost.largest",
        "0 > unit.l0 > cost.largest",
        "tests/estimators/test_cost_check.py::test_wide_results_of_units_are_refused_before_the_charge",
    ),
    Mutation(
        "norms end at 2^62",
        "engines/base.py",
        "if most <= _LARGEST_EXACT_SQUARE / 2:",
        "if most >= 0:",
        f"{_WIDE}[column histograms-1024]",
    ),
    Mutation(
        "carry of wide norms left out",
        "engines/base.py",
        " + (crossed >> (_HALF - 1)) + (rest >> 2 * _HALF)",
        " + (crossed >> (_HALF - 1))",
        "tests/estimators/test_wide_rows.py::test_long_rows_are_compared_with_their_bound_exactly",
    ),
    Mutation(
        "lowest integer passes a wide norm",
        "engines/base.py",
        "    within &= sizes.min(axis=(1, 2), initial=0) >= 0\n",
        "",
        "tests/estimators/test_wide_rows.py::test_values_beyond_32_bits_do_not_pass_a_wide_bound",
    ),
)
