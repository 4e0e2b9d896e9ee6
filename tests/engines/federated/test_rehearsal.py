"""What is tried on made-up rows before a client's own are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import COLUMNS
from helpers.requests import request_for

from fuzz.hostile import requests
from privclust.domains.sphere import Sphere
from privclust.engines.federated._rehearsal import made_up_rows, rehearse
from privclust.engines.federated._request import QueryRequest
from privclust.engines.federated.client import FAILED, Client
from privclust.engines.federated.wire import decode, encode
from privclust.kernels.grid import UNIT, FloatArray
from privclust.queries.base import ONE_HOT, Contribution, Count, Query
from privclust.queries.clusters import NearestVotes

REQUEST = request_for(Count())
NARROW = encode(request_for(NearestVotes(np.eye(2) / 2)))


@dataclass(frozen=True, eq=False)
class Odd:
    """A query that adds what a test says."""

    added: Callable[[FloatArray], Contribution]
    size: int = 1
    sensitivity = ONE_HOT

    def contribute(self, rows: FloatArray) -> Contribution:
        return self.added(rows)


def votes(of_row: Callable[[FloatArray], Any]) -> Query:
    def added(rows: FloatArray) -> Contribution:
        blocks = np.zeros((len(rows), 1), dtype=np.int64)
        return Contribution(blocks, np.asarray(of_row(rows)).reshape(len(rows), 1, 1))

    return Odd(added)


@pytest.mark.attack
@pytest.mark.parametrize("rows", [0, 1, 5])
def test_query_for_rows_of_another_width_is_refused_with_and_without_rows(rows: int) -> None:
    table = pa.table({name: np.zeros(rows) for name in COLUMNS})
    for given in (table, lambda: table):
        assert Client(given).respond(NARROW) == b""
        assert Client(given).respond(encode(REQUEST)) not in (b"", bytes(16) + FAILED)


@pytest.mark.attack
@pytest.mark.parametrize(
    "query",
    [
        votes(lambda rows: np.full(len(rows), UNIT + 1)),
        votes(lambda rows: np.full(len(rows), -1)),
        votes(lambda rows: np.full(len(rows), 0.5)),
        votes(lambda rows: np.full(len(rows), len(rows))),
        votes(lambda rows: rows[:, 0].argsort()),
        votes(lambda rows: np.isnan(rows[5]).astype(np.int64)),
        Odd(lambda rows: Count().contribute(rows[:-1])),
        Odd(lambda rows: Count().contribute(rows), size=0),
    ],
)
def test_query_that_does_not_do_as_it_declares_is_noticed(query: Query) -> None:
    request = replace(REQUEST)
    object.__setattr__(request, "query", query)
    with (
        np.errstate(all="raise"),
        pytest.raises((ValueError, ArithmeticError, LookupError, TypeError)),
    ):
        rehearse(request)


@pytest.mark.parametrize("message", requests())
def test_honest_query_passes_and_rows_are_extreme(message: bytes) -> None:
    request = decode(message, QueryRequest)
    rehearse(request)
    rows = made_up_rows(request.domain, request.columns)
    assert rows.shape == (9, request.domain.center.size)
    assert np.abs(rows).max() == 2**25


@pytest.mark.attack
@pytest.mark.parametrize("rows", [0, 3])
def test_vectors_of_another_length_are_not_cut_anew(rows: int) -> None:
    """Read as rows of 2 numbers, the second would be the rest of the first."""
    flat = pa.array(np.arange(4.0 * rows))
    table = pa.table({"v": pa.FixedSizeListArray.from_arrays(flat, 4)})
    request = replace(REQUEST, columns=("v",), domain=Sphere(2, "v"))
    for given in (table, lambda: table):
        assert Client(given).respond(encode(request)) == bytes(16) + FAILED
        fitting = replace(request, domain=Sphere(4, "v"))
        assert Client(given).respond(encode(fitting)) == bytes(16) + (rows * UNIT).to_bytes(
            8, "little"
        )
