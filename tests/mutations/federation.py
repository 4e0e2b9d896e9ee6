"""Bugs of federations: keys, responses, and units at several clients."""

from __future__ import annotations

from mutations.base import Mutation

FEDERATION = (
    Mutation(
        "late responses count",
        "engines/federated/engine.py",
        "if not secrets.compare_digest(response[:NONCE_BYTES], nonces[name]):",
        "if False:",
        "tests/engines/federated/test_federation.py::test_repeated_late_and_foreign_responses_are_discarded",
    ),
    Mutation(
        "noise for one client of a patient's",
        "queries/unit.py",
        "return self.rows * max(1, self.clients)",
        "return self.rows",
        "tests/engines/federated/test_federation.py::test_unit_at_several_clients_moves_a_result_within_its_bounds",
    ),
    Mutation(
        "a client that failed taken for absent",
        "engines/federated/engine.py",
        "failed = failed or response[NONCE_BYTES:] == FAILED",
        "failed = False",
        "tests/engines/federated/test_federation.py::test_failure_of_a_client_counts_for_this_request_only",
    ),
    Mutation(
        "a client's response taken as it is",
        "engines/federated/engine.py",
        "    if not unit.whole:\n        return True\n",
        "    if unit.whole or not unit.whole:\n        return True\n",
        "tests/engines/federated/test_engine.py::test_the_server_checks_what_a_whole_client_may_add",
    ),
    Mutation(
        "requests that clients refuse, charged first",
        "engines/federated/federation.py",
        "        engine.check_request()\n",
        "",
        "tests/engines/federated/test_fits.py::test_names_too_long_for_a_request_are_refused_before_the_charge",
    ),
    Mutation(
        "results that clients refuse, charged first",
        "estimators/_cost_check.py",
        "    if cost.largest > SIZE_MAX:",
        "    if False:",
        "tests/engines/federated/test_fits.py"
        "::test_result_larger_than_clients_respond_with_is_refused_before_the_charge",
    ),
    Mutation(
        "a client's types found out by the server",
        "engines/local.py",
        "        check_types(chosen, domain, unit)\n",
        "",
        "tests/engines/federated/test_client.py::test_type_that_cannot_be_read_is_named",
    ),
    Mutation(
        "squares of a response that wrap",
        "engines/federated/engine.py",
        "    l1, l2_squared = lengths(np.abs(values))\n",
        "    l1, l2_squared = np.abs(values).sum(), (values * values).sum()\n",
        "tests/engines/federated/test_engine.py::test_squares_of_a_response_do_not_wrap",
    ),
)
