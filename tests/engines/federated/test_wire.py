"""Requests as bytes: the same query at the other end, bit for bit, and nothing else."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import DOMAIN, MOMENTS, QUERIES
from helpers.query_examples import PROFILE_QUERIES, PROFILED, names_of, package_queries
from helpers.query_examples import QUERIES as EXAMPLES
from helpers.requests import request_for
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.hostile import altered, check, joined, parts_of, requests
from privclust.domains.ball import Ball
from privclust.engines.federated._request import QueryRequest
from privclust.engines.federated.client import Client
from privclust.engines.federated.wire import WireError, decode, encode
from privclust.kernels.grid import FloatArray
from privclust.privacy.fingerprint import serialize
from privclust.queries.base import Contribution, Query
from privclust.queries.cells import CellCounts, SignCells
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.columns import ColumnHistograms
from privclust.queries.covariance import SecondMoment
from privclust.queries.cubes import SubcubeCounts
from privclust.queries.nearby import NearbySums
from privclust.queries.shells import ShellMoments
from privclust.queries.unit import Unit

POINTS = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 3))
EVERY = [*QUERIES, *EXAMPLES, *PROFILE_QUERIES]


def spaces(query: Query) -> dict[str, Any]:
    """Return a domain that a query fits, and its columns."""
    if query in PROFILE_QUERIES:
        return {"domain": PROFILED, "columns": PROFILED.names}
    return {"domain": Ball([0.1, 0.2, 0.3], 7.0)}


def request(query: Query, **changed: Any) -> QueryRequest:
    return request_for(query, nonce=b"n" * 16, fit=b"f" * 16, **changed)


@pytest.mark.parametrize("query", EVERY, ids=lambda query: type(query).__name__)
def test_a_query_arrives_as_it_left(query: Query) -> None:
    sent = request(query, unit=Unit("id", 3), **spaces(query))
    arrived = decode(encode(sent), QueryRequest)
    assert serialize(arrived.query) == serialize(query)
    assert serialize(arrived.domain) == serialize(sent.domain)
    assert (arrived.unit, arrived.columns) == (sent.unit, sent.columns)
    assert arrived.query.sensitivity == query.sensitivity


def test_points_at_the_rim_arrive_as_they_left() -> None:
    """A class that is called with such points once more would shrink them."""
    rim = NearestVotes(np.eye(3))
    for row in (2.0**25, 2.0**25 - 1):
        object.__setattr__(rim, "candidates", np.array([[row, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        arrived = decode(encode(rim), NearestVotes)
        assert arrived.candidates.tobytes() == rim.candidates.tobytes()
    assert not arrived.candidates.flags.writeable


def test_every_query_there_is_may_travel() -> None:
    assert names_of(EVERY) == package_queries()


class Unknown:
    """A query that clients do not know."""


class Count:
    """A class that has the name of a query."""

    size = 1

    def contribute(self, rows: FloatArray) -> Contribution:
        raise AssertionError


@pytest.mark.parametrize("value", [Unknown(), Count(), [1], np.zeros(2, dtype=object), {1: 2}])
def test_what_is_not_known_does_not_leave(value: object) -> None:
    with pytest.raises(WireError, match="cannot be sent to clients"):
        encode((value,))


def framed(described: object, blobs: bytes = b"") -> bytes:
    head = json.dumps(described).encode()
    return len(head).to_bytes(8, "little") + head + blobs


@pytest.mark.attack
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 40,
        pickle.dumps(MOMENTS[0]),
        framed({"name": "Unknown", "fields": {}}),
        framed({"name": "os.system", "fields": {}}),
        framed({"name": "Unit", "fields": {}}),
        framed({"name": "Count", "fields": {"size": 3}}),
        framed({"array": "|O", "shape": [1]}, bytes(8)),
        framed({"array": "<f8", "shape": [-1]}, bytes(8)),
        framed({"array": "<f8", "shape": [1]}, np.array([np.nan]).tobytes()),
        framed({"float": "inf"}),
        framed({"float": "0x1p99999999"}),
        framed({"array": "<f8", "shape": [0, 10**30]}),
        framed({"array": "<f8", "shape": [0] * 100}),
        framed([1.5]),
        encode(request(MOMENTS[0])) + b"\0",
        encode(request(MOMENTS[0]))[:-1],
        encode(MOMENTS[0]),
    ],
)
def test_other_bytes_are_refused_with_a_fixed_text(data: bytes) -> None:
    with pytest.raises(WireError, match="not a QueryRequest of this version") as failed:
        decode(data, QueryRequest)
    assert failed.value.__cause__ is failed.value.__context__ is None


# A hostile server -------------------------------------------------------------------------------

ROWS = pa.table({name: [0.0, 0.9] for name in "zxy"})


def changed(query: Query, field: str, value: Any, blobs: bytes | None = None) -> bytes:
    """Return a request with something else in one field of its query."""
    content, before = parts_of(encode(request(query)))
    content["fields"]["query"]["fields"][field] = value
    return joined((content, before if blobs is None else blobs))


@pytest.mark.attack
@pytest.mark.parametrize(
    "honest",
    [
        ClusterMoments(np.zeros((2, 3)), np.ones(2), 1.0, 1.0),
        ShellMoments(np.zeros((2, 3)), np.ones(2), 1.0, 1.0, 1),
        DistanceHistogram(np.zeros((2, 3)), np.array([0.5]), np.ones(2)),
    ],
    ids=lambda query: type(query).__name__,
)
def test_request_that_fails_with_one_row_only_is_refused(honest: Query) -> None:
    """The second centre, which has no radius, is nearest to the row in question and to no other."""
    target = DOMAIN.to_grid(np.array([[0.9, 0.9, 0.9]]))
    centers = np.vstack([np.zeros((1, 3)), target])
    edges = getattr(honest, "edges", np.empty(0)).tobytes()
    sent = centers.tobytes() + edges + np.ones(1).tobytes()
    blobs = parts_of(encode(request(honest)))[1]
    before = np.zeros((2, 3)).tobytes() + edges + np.ones(2).tobytes()
    assert blobs.endswith(before)
    message = changed(
        honest, "radii", {"array": "<f8", "shape": [1]}, blobs.removesuffix(before) + sent
    )
    assert message.endswith(sent)
    with pytest.raises(WireError):
        decode(message, QueryRequest)
    assert {Client(ROWS[:n]).respond(message) for n in (0, 1, 2)} == {b""}


@pytest.mark.attack
def test_points_off_the_grid_are_refused() -> None:
    honest = NearestVotes(np.eye(3) / 2)
    content, blobs = parts_of(encode(request(honest)))
    for wrong in (0.5, 2.0**25 + 1, -(2.0**25)):  # the last is not a point of the ball with others
        points = np.full((3, 3), wrong)
        with pytest.raises(WireError):
            decode(joined((content, blobs[:-72] + points.tobytes())), QueryRequest)
    assert isinstance(decode(joined((content, blobs)), QueryRequest), QueryRequest)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("query", "field", "value"),
    [
        (ClusterSums(POINTS, POINTS, 0.5, 0.7), "weight", True),
        (ClusterSums(POINTS, POINTS, 0.5, 0.7), "radius", "0.5"),
        (ClusterSums(POINTS, POINTS, 0.5, 0.7), "projection", {"tuple": []}),
        (ColumnHistograms(np.ones(3), 8), "bins", {"float": "0x1p+3"}),
        (ColumnHistograms(np.ones(3), 8), "bins", 10**9),
        (SecondMoment(3), "n_columns", 10**9),
        (SecondMoment(3), "n_columns", True),
        (SecondMoment(3), "n_columns", 10**400),
        (
            SubcubeCounts(np.array([[0, 0, 0]]), 1, np.array([0, 0, 0])),
            "level",
            {"float": "0x1p+0"},
        ),
        (PROFILE_QUERIES[1], "n_places", {"tuple": [3, 10**12]}),
        (CellCounts(SignCells(POINTS, ("0", "1"))), "cells", None),
        (NearbySums(ClusterSums(POINTS, POINTS, 0.5, 0.7)), "sums", None),
        (DistanceHistogram(POINTS, np.array([0.1])), "edges", {"array": "<i8", "shape": [1]}),
        (DistanceHistogram(POINTS, np.array([0.1])), "radii", 0.5),
        (ShellMoments(POINTS, np.full(4, 0.1), 1.0, 1.0, 2), "n_shells", {"float": "0x1p+1"}),
        (ShellMoments(POINTS, np.full(4, 0.1), 1.0, 1.0, 2), "n_shells", True),
        (ShellMoments(POINTS, np.full(4, 0.1), 1.0, 1.0, 2), "n_shells", 10**9),
        (ShellMoments(POINTS, np.full(4, 0.1), 1.0, 1.0, 2), "radii", None),
    ],
)
def test_field_of_another_type_or_size_is_refused(query: Query, field: str, value: Any) -> None:
    content, blobs = parts_of(encode(request(query, **spaces(query))))
    fields = content["fields"]["query"]["fields"]
    assert field in fields
    fields[field] = value
    with pytest.raises(WireError):
        decode(joined((content, blobs)), QueryRequest)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sensitivity", None),
        ("sensitivity", {"tuple": [1, 1, 1, 1, True]}),
        ("size", True),
        ("size", {"float": "0x1p+0"}),
        ("l1", True),
        ("l1", 2**63),
        ("linf", {"float": "0x1p+26"}),
        ("l0", None),
        ("l2_squared", 2**127),
        ("l2_squared", {"float": "0x1p+52"}),
        ("monotone", 0),
    ],
)
def test_what_a_server_assumes_is_integers(field: str, value: Any) -> None:
    content, blobs = parts_of(encode(request(MOMENTS[0])))
    whole = content["fields"]
    holder = whole if field in whole else whole["sensitivity"]["fields"]
    assert field in holder
    holder[field] = value
    with pytest.raises(WireError):
        decode(joined((content, blobs)), QueryRequest)


@pytest.mark.attack
def test_long_messages_are_refused_before_they_are_read() -> None:
    assert decode(encode((b"x" * 2**20,)), tuple)
    for data in (bytes(2**28 + 1), framed([[0]] * 2**22)):
        with pytest.raises(WireError):
            decode(data, QueryRequest)


@settings(deadline=None, derandomize=True, database=None, max_examples=300)
@given(st.integers(0, len(requests()) - 1), st.lists(st.integers(0, 2**16), max_size=24))
def test_hostile_request_is_refused_or_counts_each_row_alone(
    number: int, choices: list[int]
) -> None:
    remaining = iter(choices)
    check(altered(requests()[number], lambda most: next(remaining, 0) % most))


@pytest.mark.parametrize("message", requests())
def test_honest_request_gets_a_response(message: bytes) -> None:
    assert check(message)


@settings(deadline=None, derandomize=True, database=None, max_examples=150)
@given(st.integers(0), st.integers(0, 255), st.integers(0))
def test_no_changed_byte_does_anything_but_arrive_or_be_refused(
    place: int, byte: int, cut: int
) -> None:
    data = bytearray(encode(request(QUERIES[-3])))
    data[place % len(data)] = byte
    for tried in (bytes(data), bytes(data[: cut % len(data)])):
        with suppress(WireError):
            assert isinstance(decode(tried, QueryRequest), QueryRequest)
