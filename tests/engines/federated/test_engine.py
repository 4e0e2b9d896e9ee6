"""Responses of clients, one by one: which the server counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.engines.exact_sums import LARGEST
from privclust.engines.federated._request import NONCE_BYTES
from privclust.engines.federated.client import response_size
from privclust.engines.federated.engine import accepted
from privclust.kernels.grid import UNIT
from privclust.queries.clusters import NearestVotes
from privclust.queries.unit import ROW, Unit

CLIENT = Unit("client", 3, clients=1, whole=True)


def as_bytes(*values: int) -> bytes:
    return np.array(values, dtype="<i8").tobytes()


@pytest.mark.attack
def test_the_server_checks_what_a_whole_client_may_add() -> None:
    query = NearestVotes(np.eye(2))
    nonces = {"a": bytes(NONCE_BYTES)}
    for values, fits in (([3 * UNIT, 0], True), ([3 * UNIT, 1], False), ([0, 4 * UNIT], False)):
        response = [("a", nonces["a"] + as_bytes(*values))]
        assert bool(accepted(query, CLIENT, nonces, response)) == fits
        assert accepted(query, ROW, nonces, response)


@pytest.mark.attack
def test_squares_of_a_response_do_not_wrap() -> None:
    """The square of 1024 votes is 2^72, of which 64 bits are 0."""
    query, whole = NearestVotes(np.eye(2)), Unit("client", 1024, clients=1, whole=True)
    nonces = {"a": bytes(NONCE_BYTES)}
    for values, fits in (([1024 * UNIT, 0], True), ([1024 * UNIT, 1], False)):
        response = [("a", nonces["a"] + as_bytes(*values))]
        assert bool(accepted(query, whole, nonces, response)) == fits


@settings(deadline=None, derandomize=True, database=None, max_examples=200)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", ""]), st.binary(max_size=60))))
def test_no_bytes_make_the_server_fail_or_count_twice(given: list[tuple[str, bytes]]) -> None:
    query = NearestVotes(np.eye(3))
    nonces = {name: name.encode() * NONCE_BYTES for name in "ab"}
    honest = nonces["a"] + as_bytes(UNIT, 0, 2 * UNIT)
    assert len(honest) == response_size(query)
    lengthened = [(name, nonces.get(name, b"") + (one * 24)[:24]) for name, one in given]
    for mixed in ([*given, ("a", honest)], [("a", honest), *given, *lengthened], lengthened):
        found = accepted(query, ROW, nonces, mixed)
        assert set(found) <= {"a", "b"}
        for values in found.values():
            assert values.dtype == np.int64
            assert len(values) == 3
            assert all(0 <= value <= LARGEST for value in values.tolist())
