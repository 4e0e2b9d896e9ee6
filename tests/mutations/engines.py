"""Bugs of engines and of what listens to them: sums, rows that count twice, rows that show."""

from __future__ import annotations

from mutations.base import Mutation

ENGINES = (
    Mutation(
        "int overflow",
        "engines/base.py",
        "total[:, column] = sums.astype(np.int64)",
        "total[:, column] = sums.astype(np.int64).astype(np.int32)",
        "tests/engines/test_memory.py::test_a_total_above_2_to_the_53_is_exact",
    ),
    Mutation(
        "carry lost between the halves of a sum",
        "engines/exact_sums.py",
        "        upper += lower >> _LOWER_BITS\n        lower &= _LOWER\n",
        "        lower &= _LOWER\n",
        "tests/engines/test_exact_sums.py::test_sums_are_those_of_python_integers",
    ),
    Mutation(
        "clamped sum that falls again",
        "engines/exact_sums.py",
        "np.clip(upper, -most - 1, most)",
        "np.clip(upper, -most, most)",
        "tests/engines/test_exact_sums.py::test_clamping_moves_no_sum_farther_than_it_moved",
    ),
    Mutation(
        "sums beyond 64 bits wrap",
        "engines/exact_sums.py",
        "np.clip(upper, -most - 1, most)",
        "upper",
        "tests/engines/test_exact_sums.py::test_sums_of_sums_are_exact_up_to_2_to_the_92",
    ),
    Mutation(
        "one sum for all coordinates",
        "engines/exact_sums.py",
        "if added.dtype != np.int64 or added.shape != sums.shape:",
        "if added.dtype != np.int64:",
        "tests/engines/test_exact_sums.py::test_what_would_be_converted_or_repeated_is_refused",
    ),
    Mutation(
        "row groups counted twice",
        "sources/files.py",
        "row_group_ids=range(begin, end)",
        "row_group_ids=range(begin, min(end + 1, len(groups)))",
        "tests/engines/spark/test_tasks.py::test_the_sums_of_parts_add_up_to_that_of_the_table",
    ),
    Mutation(
        "task that tells why it failed",
        "engines/spark/_tasks.py",
        "steps, step = work(*args, **kwargs), guarded(next)",
        "steps, step = work(*args, **kwargs), next",
        "tests/engines/spark/test_tasks.py::test_a_task_that_fails_says_nothing",
    ),
    Mutation(
        "unit clipped in pieces",
        "engines/units.py",
        "    blocks, values, of_unit = _sums_of_units(query, batch)\n",
        "    if len(batch.rows) > GRID_BATCH_ROWS:\n"
        "        pieces = [Batch(p.rows, batch.starts) for p in split_batches(batch.rows, None)]\n"
        "        return np.sum([batch_sum(query, unit, piece) for piece in pieces], axis=0)\n"
        "    blocks, values, of_unit = _sums_of_units(query, batch)\n",
        "tests/engines/test_units.py::test_a_hundred_thousand_rows_in_one_unit_are_clipped_once",
    ),
    Mutation(
        "a first row taken for names",
        "estimators/_input.py",
        "if named is None and unit.column is None and whole.looks_like_a_row:",
        "if False:",
        "tests/sources/test_files.py::test_a_first_row_is_not_published_as_names",
    ),
    Mutation(
        "no last word on length",
        "engines/base.py",
        "kept &= _squares_within(sizes, bounds.l2_squared)\n",
        "kept &= True\n",
        "tests/engines/test_base.py::test_a_row_that_breaks_a_bound_is_left_out",
    ),
    Mutation(
        "a row that takes votes away",
        "engines/base.py",
        "if bounds.monotone:\n",
        "if False:\n",
        "tests/engines/test_base.py::test_a_negative_value_is_left_out_of_a_monotone_query_only",
    ),
    Mutation(
        "a row that contributes several times",
        "engines/base.py",
        "if not len(found.blocks) == len(found.values) == len(rows):",
        "if False:",
        "tests/engines/test_base.py::test_contributions_of_more_rows_than_there_are_are_refused",
    ),
    Mutation(
        "a guard that lets warnings through",
        "sources/guard.py",
        'warnings.simplefilter("ignore")',
        "pass",
        "tests/sources/test_guard.py::test_warnings_are_silenced_and_filters_restored",
    ),
    Mutation(
        "replay blind to signs",
        "audit/replay.py",
        "if a.sensitivity.monotone",
        "if False",
        "tests/audit/test_replay.py::test_monotone_result_that_falls_where_others_rise_is_found",
    ),
    Mutation(
        "a unit clipped at twice its rows",
        "engines/units.py",
        "clipped = _clipped(values, of_unit, unit.sensitivity(query))",
        "twice = Unit(unit.column, 2 * unit.rows, unit.clients, unit.whole)\n"
        "    clipped = _clipped(values, of_unit, twice.sensitivity(query))",
        "tests/engines/test_units.py::test_a_unit_at_a_bound_counts_in_full_and_one_row_more_does_not",
    ),
)
