"""Bugs of engines: sums that are not exact, rows that count twice or show."""

from __future__ import annotations

from privclust.audit.mutations.base import Mutation

ENGINES = (
    Mutation(
        "int overflow",
        "engines/base.py",
        "total[:, column] += sums.astype(np.int64)",
        "total[:, column] += sums.astype(np.int64).astype(np.int32)",
        "tests/engines/test_numpy.py::test_a_total_above_2_to_the_53_is_exact",
    ),
    Mutation(
        "row groups counted twice",
        "engines/files.py",
        "row_group_ids=range(begin, end)",
        "row_group_ids=range(begin, min(end + 1, len(groups)))",
        "tests/engines/test_spark_tasks.py::test_the_sums_of_parts_add_up_to_that_of_the_table",
    ),
    Mutation(
        "task that tells why it failed",
        "engines/spark_tasks.py",
        "steps, step = work(*args, **kwargs), guarded(next)",
        "steps, step = work(*args, **kwargs), next",
        "tests/engines/test_spark_tasks.py::test_a_task_that_fails_says_nothing",
    ),
    Mutation(
        "unit clipped in pieces",
        "engines/units.py",
        "    blocks, values, of_unit = _sums_of_units(query, parcel)\n",
        "    if len(parcel.rows) > PARCEL_ROWS:\n"
        "        pieces = [Parcel(p.rows, parcel.starts) for p in parcels(parcel.rows, None)]\n"
        "        return np.sum([parcel_sum(query, unit, piece) for piece in pieces], axis=0)\n"
        "    blocks, values, of_unit = _sums_of_units(query, parcel)\n",
        "tests/engines/test_units.py::test_no_unit_moves_the_sum_by_more_than_its_bounds",
    ),
    Mutation(
        "a first row taken for names",
        "tables.py",
        "and named is None and unit.column is None and whole.looks_like_a_row:",
        "and False:",
        "tests/engines/test_files.py::test_a_first_row_is_not_published_as_names",
    ),
)
