"""Bugs in ledgers: two names of one file, ends that are believed, claims that are not seen."""

from __future__ import annotations

from mutations.base import Mutation

_FILES = "tests/privacy/ledger/test_file.py"

LEDGER = (
    Mutation(
        "refund on close",
        "privacy/ledger/records.py",
        'sums.get((run, "claim"), Spend()) if (run, "close") in sums',
        'sums[run, "close"] if (run, "close") in sums',
        "tests/privacy/ledger/test_ledger.py::test_closing_returns_only_what_was_never_claimed",
    ),
    Mutation(
        "spend believed from a forged close",
        "privacy/ledger/records.py",
        'else:\n            state: State = "finished"',
        "else:\n"
        '            if "spend" in body:\n'
        '                charges[entry.run] = {"": Spend(**body["spend"])}\n'
        '            state: State = "finished"',
        "tests/privacy/ledger/test_verify.py::test_forged_close_is_found_and_frees_nothing",
    ),
    Mutation(
        "claims of other processes not seen",
        "privacy/ledger/ledger.py",
        "run = as_runs(since[1:], [run])[0]",
        "run = as_runs([], [run])[0]",
        "tests/privacy/ledger/test_ledger.py::test_claims_by_another_process_count_against_a_run",
    ),
    Mutation(
        "hard links ignored",
        "privacy/ledger/_file.py",
        "if found.st_nlink > 1:",
        "if found.st_nlink > 9:",
        f"{_FILES}::test_second_name_of_a_ledger_is_refused",
    ),
    Mutation(
        "a ledger's file checked at opening only",
        "privacy/ledger/_database.py",
        'if file_identity(self.place) != session.info["file"]:',
        'if session.info["file"] is None:',
        f"{_FILES}::test_ledger_that_was_moved_or_replaced_while_open_is_not_written",
    ),
    Mutation(
        "single-file mounts accepted",
        "privacy/ledger/_file.py",
        "if _mount_of(place) != _mount_of(os.path.realpath(Path(place).parent)):",
        "if not _mount_of(place):",
        f"{_FILES}::test_file_on_another_mount_than_its_folder_is_refused",
    ),
    Mutation(
        "a ledger that everybody may read",
        "privacy/ledger/_file.py",
        "os.chmod(descriptor, 0o600)",
        "os.chmod(descriptor, 0o644)",
        f"{_FILES}::test_new_ledger_is_its_owners_alone",
    ),
    Mutation(
        "one entry that hides what others overspend",
        "privacy/ledger/verify.py",
        "read = [line for line in lines if line.number not in odd]",
        "read = [] if odd else lines",
        "tests/privacy/ledger/test_verify.py"
        "::test_entry_that_cannot_be_read_is_named_and_others_are_checked",
    ),
    Mutation(
        "results that nobody can read again",
        "privacy/ledger/server.sql",
        " OR abs(value::numeric) >= 2::numeric ^ 63 END)",
        " END)",
        "tests/privacy/ledger/test_roles.py::test_result_needs_a_charge_and_is_stored_once",
    ),
)
