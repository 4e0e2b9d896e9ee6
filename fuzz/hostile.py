"""Requests that a hostile server may send, and what must hold of a client's responses to them.

Either a client refuses a request whatever rows it has, or one row moves its response within the
declared bounds, by as much as it would alone. It never fails with rows where it does not without.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from helpers.query_examples import (
    COLUMNS,
    MIXED,
    PROFILE_QUERIES,
    PROFILED,
    QUERIES,
    SUMS,
    VOTES,
)
from helpers.requests import request_for

from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.domains.profiled import ProfileDomain
from privclust.domains.sphere import Sphere
from privclust.engines.federated._request import NONCE_BYTES, QueryRequest
from privclust.engines.federated.client import FAILED, Client, read_query_request
from privclust.engines.federated.wire import decode, encode
from privclust.queries import Count, NearestVotes, Query, Unit

Choose = Callable[[int], int]
"""From a number of choices to one of them."""
Parts = tuple[Any, bytes]
"""What a message says it holds, and the bytes of its arrays."""

PERSON = "who"
STRANGE: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2, 3, 7, 31, 61, 2**20, 2**31, 2**62, 10**9, 10**400, 0.5, "", "a"),
    *("\ud800", "zz", "0", "x" * 300, "log", "2020-06-01", [], {}, [0], {"tuple": []}),
    *({"float": "0x1p-9"}, {"float": "-0x1p+0"}, {"float": "0x1p+1000"}, {"float": "nan"}),
    *({"bytes": 0}, {"bytes": 16}, {"array": "<f8", "shape": [0]}, {"date": "0001-01-01"}),
)
WORDS = (0.0, -0.0, 0.5, 1.0, -3.0, 2.0**24, 2.0**25, 2.0**25 + 1, -(2.0**26), 1e9, 1e300, np.nan)


@cache
def requests() -> tuple[bytes, ...]:
    """Return a request of every kind, as a server would send it."""
    box, ball = Box([0.0] * 3, [1.0, 2.0, 3.0]), Ball([0.0, 1.0, 2.0], 4.0)
    found = [_request(query, box) for query in QUERIES]
    found += [_request(query, PROFILED) for query in (Count(), *PROFILE_QUERIES)]
    found.append(_request(NearestVotes(np.full((2, 4), [[0.25], [-0.25]])), MIXED))
    found += [_request(VOTES, domain) for domain in (ball, Sphere(3))]
    found.append(_request(VOTES, Sphere(3, "v"), columns=("v",)))
    found.append(_request(SUMS, box, columns=3))
    found += [
        _request(SUMS, box, unit=Unit(PERSON, 3)),
        _request(VOTES, box, sampling_exponent=1),
    ]
    found.append(_request(SUMS, ball, unit=Unit("client", 2, whole=True)))
    return tuple(encode(request) for request in found)


def _request(query: Query, domain: Domain, **changed: Any) -> QueryRequest:
    columns = domain.names if isinstance(domain, ProfileDomain) else COLUMNS
    return request_for(query, **{"columns": columns, "domain": domain, **changed})


def parts_of(message: bytes) -> Parts:
    """Take a message apart."""
    start = 8 + int.from_bytes(message[:8], "little")
    return json.loads(message[8:start]), message[start:]


def joined(parts: Parts) -> bytes:
    """Put a message together, spelled as an honest one."""
    head = json.dumps(parts[0], separators=(",", ":")).encode()
    return len(head).to_bytes(8, "little") + head + parts[1]


def altered(message: bytes, choose: Choose) -> bytes:
    """Return a request with something else at up to three places."""
    content, blobs = parts_of(message)
    for _ in range(1 + choose(3)):
        match choose(6):
            case 0 | 1:
                blobs = _with_word(blobs, choose)
            case 2:
                holder, key = _place(content, choose)
                other, _ = parts_of(requests()[choose(len(requests()))])
                holder[key] = deepcopy(_get(*_place(other, choose)))
            case 3:
                blobs = blobs[: 8 * choose(1 + len(blobs) // 8)] + bytes(8 * choose(3))
            case _:
                holder, key = _place(content, choose)
                holder[key] = deepcopy(STRANGE[choose(len(STRANGE))])
    message = joined((content, blobs))
    return message if choose(4) else _agreed(message)


def _agreed(message: bytes) -> bytes:
    """Return a request or question that assumes what its altered query declares."""
    try:
        request: Any = decode(message, object)
        query = request.query
        return encode(replace(request, sensitivity=query.sensitivity, size=query.size))
    except (AttributeError, TypeError, ValueError):
        return message


def _with_word(blobs: bytes, choose: Choose) -> bytes:
    if len(blobs) < 8:
        return blobs
    place = 8 * choose(len(blobs) // 8)
    word = np.float64(WORDS[choose(len(WORDS))])
    kinds = (word.tobytes(), np.int64(word if abs(word) < 2**62 else -(2**63)).tobytes())
    return blobs[:place] + kinds[choose(2)] + blobs[place + 8 :]


def _place(content: Any, choose: Choose) -> tuple[Any, Any]:
    found = list(_places(content))
    return found[choose(len(found))]


def _places(content: Any) -> Iterator[tuple[Any, Any]]:
    for key in content if isinstance(content, dict) else range(len(content)):
        yield content, key
        if isinstance(content[key], dict | list):
            yield from _places(content[key])


def _get(holder: Any, key: Any) -> Any:
    return holder[key]


def check(message: bytes) -> bool:
    """Send a request to clients with and without a row; tell whether the request was understood."""
    request = read_query_request(message)
    if request is None:
        assert Client(table_for(COLUMNS, None, 5)).respond(message) == b""
        return False
    query, unit = request.query, request.unit
    every = table_for(request.columns, request.domain, 9)
    some = [every, every[1:], every[:1], every[:0]]
    if not isinstance(every, np.ndarray):
        some += [lambda part=part: part for part in tuple(some)]  # read as a stream
    responses = [Client(table).respond(message) for table in some]
    assert len({len(response) for response in responses}) == 1, "a length follows from rows"
    if responses[0][NONCE_BYTES:] == FAILED or request.sampling_exponent:
        return True
    sums = [np.frombuffer(response[NONCE_BYTES:], "<i8").astype(object) for response in responses]
    for everybody, rest, alone, nobody in (sums[:4], sums[4:]) if sums[4:] else (sums,):
        assert len(everybody) == query.size
        assert not nobody.any()
        assert unit.whole or (everybody - rest == alone).all(), "a row counts by other rows"
        bounds = unit.sensitivity(query)
        sizes = np.abs(alone)
        assert sizes.sum() <= bounds.l1
        assert (sizes * sizes).sum() <= bounds.l2_squared
        assert sizes.max() <= bounds.linf
        assert not bounds.monotone or alone.min() >= 0
    return True


def table_for(columns: tuple[str, ...] | int, domain: Domain | None, n_rows: int) -> Any:
    """Return rows for the columns of a request, the first of them of somebody alone."""
    rng = np.random.default_rng(3)
    if isinstance(columns, int):
        return rng.normal(1.0, 1.0, (n_rows, min(columns, 1000)))
    kinds: dict[str, Any] = {}
    base = domain.base if isinstance(domain, ProfileDomain) else domain
    for part in (base, domain):
        if isinstance(part, Mixed | ProfileDomain):
            kinds |= {column.name: column for column in part.columns}
    cells: dict[str, Any] = {PERSON: pa.array(["p", *(["q", None] * n_rows)][:n_rows])}
    for name in (*columns, *COLUMNS):
        numbers = rng.normal(1.0, 1.0, n_rows)
        numbers[rng.random(n_rows) < 0.2] = np.nan
        cells[name] = pa.array(numbers)
        if isinstance(kinds.get(name), CategoryColumn):
            cells[name] = pa.array(rng.choice(["x", "y", "other", "no level"], n_rows))
        elif isinstance(kinds.get(name), DateColumn):
            days = rng.integers(18200, 18800, n_rows)
            cells[name] = pa.array(days.astype(np.int32)).cast(pa.date32())
        elif isinstance(base, Sphere) and name == base.vector:
            width = min(base.n_columns, 1000)
            flat = pa.array(rng.normal(0.0, 1.0, n_rows * width))
            cells[name] = pa.FixedSizeListArray.from_arrays(flat, width)
    return pa.table(cells)
