"""Bugs in what is refused: types, frames, texts of SQL, files; and in how lines are read."""

from __future__ import annotations

from mutations.base import Mutation

_TRACEBACKS = "tests/estimators/test_tracebacks.py::test_refusal_of_missing_bounds_holds_no_rows"

REFUSALS = (
    Mutation(
        "types found out after the charge",
        "engines/local.py",
        "        check_types(chosen, domain, unit)\n",
        "",
        "tests/engines/test_types.py::test_refusal_names_column_type_and_a_remedy_that_works",
    ),
    Mutation(
        "frames that keep what they held",
        "_frames.py",
        "            _clear(error, before)\n",
        "",
        _TRACEBACKS,
    ),
    Mutation(
        "a last frame that keeps the table",
        "_frames.py",
        "            del args, kwargs\n",
        "",
        _TRACEBACKS,
    ),
    Mutation(
        "an estimator whose frames stay",
        "estimators/base.py",
        "    @clears_frames\n    @refusing_weights\n    def fit(",
        "    @refusing_weights\n    def fit(",
        _TRACEBACKS,
    ),
    Mutation(
        "a literal that a setting rereads",
        "models/_sql_cells.py",
        'if dialect == "postgres" and "\\\\" in text:',
        "if False:",
        "tests/models/test_sql_cells.py::test_postgres_literal_with_a_backslash_says_that_it_escapes",
    ),
    Mutation(
        "a table pasted as it came",
        "models/sql_export.py",
        'return ".".join(quoted(part, dialect) for part in parts)',
        'return ".".join(parts)',
        "tests/models/test_sql_export.py::test_name_of_the_table_is_nowhere_but_in_quotes",
    ),
    Mutation(
        "a pipe read as a file",
        "_files.py",
        "if not stat.S_ISREG(os.fstat(handle).st_mode):",
        "if False:",
        "tests/test_files.py::test_path_that_is_not_a_regular_file_is_refused_at_once",
    ),
    Mutation(
        "labels that all may read",
        "_files.py",
        "if target.exists() and rights != FOR_THE_OWNER:",
        "if target.exists():",
        "tests/cli/test_atomic_write.py::test_labels_are_for_the_owner_whoever_might_read_what_was_there",
    ),
    Mutation(
        "a paid model written over by a command",
        "cli/atomic_write.py",
        "if not may_replace and holds_something(target):",
        "if False:",
        "tests/cli/test_fit_refusals.py"
        "::test_model_that_is_there_is_kept_and_nothing_is_spent_unless_forced",
    ),
    Mutation(
        "a paid model written over in Python",
        "_files.py",
        "if not overwrite and holds_something(file):",
        "if False:",
        "tests/models/test_model_file.py::test_paid_model_is_not_overwritten_unless_requested",
    ),
    Mutation(
        "all lines of a block looked into for one cell",
        "sources/csv_lines.py",
        "for begin, end in _odd_lines(lines, begun):",
        "found = re.finditer(rb'[^\\r\\n]*[\\r\\n]', lines)\n"
        "        every = ((one.start(), one.end() - 1) for one in found)\n"
        "        for begin, end in every if b'\"' in lines else _odd_lines(lines, begun):",
        "tests/sources/test_csv_lines.py::test_odd_cell_costs_no_more_than_its_line",
    ),
    Mutation(
        "a paid model written into a pipe",
        "cli/atomic_write.py",
        "if not may_stream and streams:",
        "if False:",
        "tests/test_files.py::test_paid_result_is_not_written_into_a_pipe_or_device",
    ),
    Mutation(
        "a model saved in a device",
        "_files.py",
        "    if is_irregular(file):\n",
        "    if False:\n",
        "tests/test_files.py::test_paid_result_is_saved_in_regular_files_only",
    ),
    Mutation(
        "a client whose frames stay",
        "engines/federated/client.py",
        "    @clears_frames\n    def check(",
        "    def check(",
        "tests/estimators/test_tracebacks.py::test_refusal_beside_estimators_holds_no_rows",
    ),
)
"""What refusals and readers must not do."""
