"""Questions as bytes: the same query at the other end, bit for bit, and nothing else."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from conformance import DOMAIN, QUERIES, TELLING
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.cube_queries import SetSavings, SubcubeCounts, SwapSavings
from privclust.domain import Ball
from privclust.engines.base import ROW, Unit
from privclust.engines.wire import KNOWN, Question, WireError, decode, encode
from privclust.geometry.grid import FloatArray
from privclust.privacy.digest import written_out
from privclust.profile_queries import ProfileSums, ProfileTallies
from privclust.queries import ClusterSums, Contribution, Query
from privclust.relative_queries import NearbySums

POINTS = np.random.default_rng(0).uniform(-0.5, 0.5, (4, 3))
OTHERS: list[Query] = [
    NearbySums(ClusterSums(POINTS, POINTS, 0.5, 0.7)),
    SubcubeCounts(np.array([[0, 0, 0], [1, 1, 1]]), 1, np.full(3, -(2**26))),
    SwapSavings(POINTS, POINTS[:2], np.array([0, 1])),
    SetSavings(POINTS.reshape(2, 2, 3)),
    ProfileSums(POINTS, 2, 3),
    ProfileTallies(POINTS, (3, 11)),
]


def question(query: Query, **changed: Any) -> Question:
    given = {"domain": DOMAIN, "unit": ROW, "halvings": 0, "key": b"", "columns": ("z", "x", "y")}
    return Question(nonce=b"n" * 16, fit=b"f" * 16, query=query, **{**given, **changed})


@pytest.mark.parametrize("query", [*QUERIES, *OTHERS], ids=lambda query: type(query).__name__)
def test_a_query_arrives_as_it_left(query: Query) -> None:
    sent = question(query, unit=Unit("id", 3), domain=Ball([0.1, 0.2, 0.3], 7.0), key=b"secret")
    arrived = decode(encode(sent), Question)
    assert written_out(arrived.query) == written_out(query)
    assert written_out(arrived.domain) == written_out(sent.domain)
    assert (arrived.unit, arrived.key, arrived.columns) == (sent.unit, b"secret", ("z", "x", "y"))
    assert arrived.query.bounds == query.bounds
    assert "secret" not in repr(arrived)


def test_every_query_there_is_may_travel() -> None:
    sent = {type(query).__name__ for query in [*QUERIES, *OTHERS]}
    queries = {name for name, kind in KNOWN.items() if hasattr(kind, "contribute")}
    assert sent == queries


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
        pickle.dumps(TELLING[0]),
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
        encode(question(TELLING[0])) + b"\0",
        encode(question(TELLING[0]))[:-1],
        encode(TELLING[0]),
    ],
)
def test_other_bytes_are_refused_with_a_fixed_text(data: bytes) -> None:
    with pytest.raises(WireError, match="not a Question of this version") as failed:
        decode(data, Question)
    assert failed.value.__cause__ is failed.value.__context__ is None


@settings(deadline=None, derandomize=True, database=None, max_examples=150)
@given(st.integers(0), st.integers(0, 255), st.integers(0))
def test_no_changed_byte_does_anything_but_arrive_or_be_refused(
    place: int, byte: int, cut: int
) -> None:
    data = bytearray(encode(question(QUERIES[-3])))
    data[place % len(data)] = byte
    for tried in (bytes(data), bytes(data[: cut % len(data)])):
        with suppress(WireError):
            assert isinstance(decode(tried, Question), Question)
