"""Bugs of algorithms: shares of the budget and what is made of releases."""

from __future__ import annotations

from mutations.base import Mutation

ALGORITHMS = (
    Mutation(
        "fewer centres than clusters",
        "algorithms/lsh_coreset.py",
        "found = weighted_kmeans(points, weights, plan.n_clusters, rng, STARTS)",
        "enough = min(plan.n_clusters, len(means))\n"
        "    found = weighted_kmeans(points, weights, enough, rng, STARTS)",
        "tests/algorithms/test_lsh_coreset.py::test_k_centres_come_back_from_fewer_leaves",
    ),
    Mutation(
        "sums get the count's part",
        "algorithms/dp_lloyd.py",
        "return _pure_split(n_columns) / root",
        "return 1 / (_pure_split(n_columns) * root)",
        "tests/algorithms/test_dp_lloyd.py::test_each_column_gets_s_and_the_count_r_times_s",
    ),
    Mutation(
        "a move against a negative count",
        "algorithms/fast_lloyd.py",
        "means = sums / np.maximum(counts, 1.0)[:, None]",
        "means = sums / (counts + 1e-9)[:, None]",
        "tests/algorithms/test_fast_lloyd.py::test_no_noisy_count_turns_a_move_round_or_makes_it_longer_than_the_radius",
    ),
    Mutation(
        "errors that take the noisy number of rows for exact",
        "algorithms/_far_rows.py",
        "np.linalg.norm(above - found * below)",
        "np.linalg.norm(above)",
        "tests/algorithms/test_quality.py::test_two_standard_errors_hold_the_truth_in_95_of_100_cases",
    ),
    Mutation(
        "the best of several chances taken for one",
        "algorithms/_far_rows.py",
        "ndtri(false_alarms / len(beyond))",
        "ndtri(false_alarms * len(beyond))",
        "tests/algorithms/test_quality.py::test_without_far_rows_at_most_one_fit_in_a_hundred_sees_some",
    ),
    Mutation(
        "three partitions at half the share each",
        "algorithms/balcan_kmeans.py",
        "chosen.candidates / len(levels)",
        "chosen.candidates / (2 * depth)",
        "tests/algorithms/test_balcan_kmeans.py::test_shares_are_the_published_ones_and_sum_to_one",
    ),
    Mutation(
        "lone cells judged by their own rows alone",
        "algorithms/_lone_cells.py",
        "own + _farther(distances, away) > CONFIRMED",
        "own > CONFIRMED",
        "tests/algorithms/test_lone_cells.py::test_a_cell_of_noise_goes_and_one_with_rows_stays",
    ),
    Mutation(
        "lone cells that always stay",
        "algorithms/_lone_cells.py",
        "own + _farther(distances, away) > CONFIRMED",
        "True",
        "tests/algorithms/test_lone_cells.py::test_a_cell_of_noise_goes_and_one_with_rows_stays",
    ),
    Mutation(
        "lone cells that go although too few are left",
        "algorithms/_lone_cells.py",
        "return cells[kept] if kept.sum() > n_clusters else cells",
        "return cells[kept]",
        "tests/algorithms/test_lone_cells.py::test_no_cell_goes_if_too_few_would_be_left",
    ),
)
