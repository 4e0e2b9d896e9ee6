"""Bugs in nodes: budgets of analysts, jobs that are others', times that tell, forged requests."""

from __future__ import annotations

from mutations.base import Mutation

_NAMED_RUNS = "tests/privacy/ledger/test_named_runs.py"
_APP = "tests/node/web/test_app.py"

NODE = (
    Mutation(
        "an analyst's cap ignored",
        "privacy/ledger/_admission.py",
        "    if cap is not None:\n        budget, taken",
        "    if cap is not None and cap.epsilon < 0:\n        budget, taken",
        f"{_NAMED_RUNS}::test_cap_bounds_the_runs_of_one_analyst_alone",
    ),
    Mutation(
        "a named run charged again",
        "privacy/ledger/ledger.py",
        "if run is not None and was_reserved(pages, run, label, body):",
        "if run == label and was_reserved(pages, run, label, body):",
        f"{_NAMED_RUNS}::test_repeated_reservation_is_charged_once",
    ),
    Mutation(
        "a run's name taken for another price",
        "privacy/ledger/_admission.py",
        "if entry.label != label or before != body:",
        "if entry.label != label:",
        f"{_NAMED_RUNS}::test_name_that_stands_for_another_run_is_refused",
    ),
    Mutation(
        "an older ledger charged before it is noticed",
        "node/booking.py",
        "        head.check(self._ledger())\n",
        "",
        "tests/node/test_booking.py::test_older_ledger_that_was_put_back_is_not_spent_again",
    ),
    Mutation(
        "results of any worker stored",
        "node/jobs/_schema.py",
        "AND state = 'queued' AND lease = :token AND lease_until > :now",
        "AND state = 'queued' AND lease_until > :now",
        "tests/node/jobs/test_store.py::test_only_the_holder_of_a_lease_stores_anything[sqlite]",
    ),
    Mutation(
        "a noise source loaded before jobs are forked",
        "node/workers/_preloaded.py",
        '    "psycopg",\n',
        '    "psycopg",\n    "opendp.prelude",\n',
        "tests/node/workers/test_fork_server.py::test_two_jobs_draw_different_noise",
    ),
    Mutation(
        "a job forked beside threads",
        "node/workers/fork_server.py",
        "run if alone else _run_anew",
        "run",
        "tests/node/workers/test_fork_server.py::test_server_with_a_thread_starts_each_job_anew",
    ),
    Mutation(
        "a result shown when it is ready",
        "node/jobs/job.py",
        "if job.visible_at is None or now < job.visible_at:",
        "if job.visible_at is None:",
        f"{_APP}::test_model_is_released_at_its_time_and_not_before",
    ),
    Mutation(
        "fits of other analysts shown",
        "node/web/_endpoints.py",
        "if found is None or (found.analyst, found.kind) != (call.analyst.id, kind):",
        "if found is None or found.kind != kind:",
        f"{_APP}::test_unknown_and_foreign_fits_are_alike",
    ),
    Mutation(
        "tokens for other services accepted",
        "node/identity.py",
        '    "verify_iat": False,\n',
        '    "verify_iat": False,\n    "verify_aud": False,\n',
        "tests/node/test_identity.py::test_forged_token_identifies_nobody",
    ),
    Mutation(
        "tokens of a withdrawn key accepted",
        "node/identity.py",
        "if known is None or known.key is not self._key(known.issuer, known.header):",
        "if known is None:",
        "tests/node/test_identity.py::test_replaced_keys_hold_at_once",
    ),
    Mutation(
        "columns that the owner does not list",
        "node/requests/fit_request.py",
        "unknown = [name for name in texts if name not in known]",
        "unknown = [name for name in texts if name is None]",
        "tests/node/requests/test_fit_request.py::test_mistake_is_refused_in_words",
    ),
)
