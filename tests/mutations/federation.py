"""Bugs of federations: keys, responses, and patients of several clients."""

from __future__ import annotations

from mutations.base import Mutation

FEDERATION = (
    Mutation(
        "late responses count",
        "engines/federated/engine.py",
        "if not secrets.compare_digest(response[:NONCE_BYTES], nonces[name]):",
        "if False:",
        "tests/engines/federated/test_federation.py::test_repeated_late_and_foreign_answers_count_for_nothing",
    ),
    Mutation(
        "noise for one client of a patient's",
        "queries/unit.py",
        "one, times = query.sensitivity, self.rows * max(1, self.clients)",
        "one, times = query.sensitivity, self.rows",
        "tests/engines/federated/test_federation.py::test_a_patient_in_several_silos_moves_an_answer_within_the_bounds_for_them",
    ),
    Mutation(
        "a client that failed taken for absent",
        "engines/federated/engine.py",
        "failed = failed or response[NONCE_BYTES:] == FAILED",
        "failed = False",
        "tests/engines/federated/test_federation.py::test_that_a_client_failed_is_believed_of_this_question_only",
    ),
    Mutation(
        "a client's response taken as it is",
        "engines/federated/engine.py",
        "    if not unit.whole:\n        return True\n",
        "    if unit.whole or not unit.whole:\n        return True\n",
        "tests/engines/federated/test_federation.py::test_the_server_checks_what_a_whole_client_may_add",
    ),
    Mutation(
        "requests that clients refuse, charged first",
        "engines/federated/federation.py",
        "        engine.check_request()\n",
        "",
        "tests/engines/federated/test_fits.py::test_names_too_long_for_a_question_are_refused_before_the_charge",
    ),
    Mutation(
        "results that clients refuse, charged first",
        "estimators/_limits.py",
        "    if cost.largest > SIZE_MAX:",
        "    if False:",
        "tests/engines/federated/test_fits.py"
        "::test_result_larger_than_clients_answer_with_is_refused_before_the_charge",
    ),
    Mutation(
        "a client's types found out by the server",
        "engines/local.py",
        "        check_types(chosen, domain, unit)\n",
        "",
        "tests/engines/federated/test_client.py::test_type_that_cannot_be_read_is_named",
    ),
)
