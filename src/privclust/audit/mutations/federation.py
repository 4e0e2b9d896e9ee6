"""Bugs of federations: keys, answers, clients and patients of several silos."""

from __future__ import annotations

from privclust.audit.mutations.base import Mutation

FEDERATION = (
    Mutation(
        "late answers count",
        "engines/federated.py",
        "if not secrets.compare_digest(answer[:NONCE_BYTES], nonces[name]):",
        "if False:",
        "tests/engines/test_federated.py::test_repeated_late_and_foreign_answers_count_for_nothing",
    ),
    Mutation(
        "noise for one silo of a patient's",
        "engines/base.py",
        "one, times = query.bounds, self.rows * max(1, self.silos)",
        "one, times = query.bounds, self.rows",
        "tests/engines/test_federated.py::test_a_patient_in_several_silos_moves_an_answer_within_the_bounds_for_them",
    ),
    Mutation(
        "a client that failed taken for absent",
        "engines/federated.py",
        "failed = failed or answer[NONCE_BYTES:] == FAILED",
        "failed = False",
        "tests/engines/test_federated.py::test_that_a_client_failed_is_believed_of_this_question_only",
    ),
    Mutation(
        "a client's answer taken as it is",
        "engines/federated.py",
        "    if not unit.whole:\n        return True\n",
        "    if unit.whole or not unit.whole:\n        return True\n",
        "tests/engines/test_federated.py::test_the_server_checks_what_a_whole_client_may_add",
    ),
)
