"""Questions that a hostile server may ask, and what must hold of a client's answers to them.

Either a client refuses a question whatever rows it has, or one row moves its answer within the
declared bounds, by as much as it would alone. It never fails with rows where it does not without.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.box import Box
from privclust.domains.columns import CategoryColumn, DateColumn, NumberColumn
from privclust.domains.mixed import Mixed
from privclust.domains.profiled import ProfileDomain
from privclust.domains.sphere import Sphere
from privclust.engines.federated._request import NONCE_BYTES, Question
from privclust.engines.federated.client import FAILED, Client, understood
from privclust.engines.federated.wire import encode
from privclust.kernels.projection import gaussian_projection
from privclust.queries.base import (
    ClusterMoments,
    ClusterSums,
    Count,
    DistanceHistogram,
    NearestVotes,
    Query,
)
from privclust.queries.cells import CellCounts, CellSums, SignCells
from privclust.queries.columns import ColumnHistograms
from privclust.queries.covariance import SecondMoment
from privclust.queries.cubes import SetSavings, SubcubeCounts, SwapSavings
from privclust.queries.nearby import NearbySums
from privclust.queries.profiles import ProfileSums, ProfileTallies
from privclust.queries.unit import ROW, Unit

Choose = Callable[[int], int]
"""From a number of choices to one of them."""
Parts = tuple[Any, bytes]
"""What a message says it holds, and the bytes of its arrays."""

COLUMNS = ("a", "b", "c")
PERSON = "who"
_RNG = np.random.default_rng(7)
_POINTS, _FLAT = _RNG.uniform(-0.5, 0.5, (3, 3)), _RNG.uniform(-0.5, 0.5, (3, 2))
_PROJECTION = gaussian_projection(3, 2, _RNG)
_CELLS = SignCells(_POINTS, ("00", "010", "1"))
_MIXED = Mixed(
    (
        NumberColumn("a", 1.0, 9.0, transform="log"),
        CategoryColumn("b", ("x", "other")),
        DateColumn("c", date(2020, 1, 1), date(2021, 1, 1)),
    )
)
_PROFILED = ProfileDomain(
    _MIXED, COLUMNS, (NumberColumn("d", 0.0, 1.0), CategoryColumn("e", ("x", "y")))
)
QUERIES: tuple[Query, ...] = (
    Count(),
    NearestVotes(_POINTS),
    NearestVotes(_FLAT, _PROJECTION),
    ClusterSums(_POINTS, np.zeros((3, 3)), 0.5, 0.7),
    ClusterSums(_FLAT, _POINTS, 0.5, 0.7, _PROJECTION),
    ClusterMoments(_FLAT, np.array([0.1, 0.2, 0.4]), 0.6, 0.4, _PROJECTION),
    DistanceHistogram(_POINTS, np.array([0.1, 0.3])),
    NearbySums(ClusterSums(_POINTS, _POINTS, 0.5, 0.7)),
    CellCounts(_CELLS),
    CellSums(_CELLS, 3, 0.25),
    SecondMoment(3),
    ColumnHistograms(np.array([0.2, 0.5, 0.9]), 8),
    SubcubeCounts(np.array([[0, 0], [1, 1]]), 1, np.full(2, -(2**26)), _PROJECTION),
    SwapSavings(_POINTS, _POINTS[:2], np.array([0, 1])),
    SetSavings(_POINTS.reshape(1, 3, 3)),
)
_NOTED: tuple[Query, ...] = (
    ProfileSums(_RNG.uniform(-0.4, 0.4, (2, 4)), 2, 1),
    ProfileTallies(_RNG.uniform(-0.4, 0.4, (2, 4)), _PROFILED.n_places),
)
STRANGE: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 2, 3, 7, 31, 61, 2**20, 2**31, 2**62, 10**9, 10**400, 0.5, "", "a"),
    *("\ud800", "zz", "0", "x" * 300, "log", "2020-06-01", [], {}, [0], {"tuple": []}),
    *({"float": "0x1p-9"}, {"float": "-0x1p+0"}, {"float": "0x1p+1000"}, {"float": "nan"}),
    *({"bytes": 0}, {"bytes": 16}, {"array": "<f8", "shape": [0]}, {"date": "0001-01-01"}),
)
WORDS = (0.0, -0.0, 0.5, 1.0, -3.0, 2.0**24, 2.0**25, 2.0**25 + 1, -(2.0**26), 1e9, 1e300, np.nan)


@cache
def questions() -> tuple[bytes, ...]:
    """Return a question of every kind, as a server would send it."""
    box, ball = Box([0.0] * 3, [1.0, 2.0, 3.0]), Ball([0.0, 1.0, 2.0], 4.0)
    asked = [_question(query, box) for query in QUERIES]
    asked += [_question(query, _PROFILED) for query in (Count(), *_NOTED)]
    asked.append(_question(NearestVotes(_RNG.uniform(-0.4, 0.4, (2, 4))), _MIXED))
    asked += [_question(QUERIES[1], domain) for domain in (ball, Sphere(3))]
    asked.append(_question(QUERIES[1], Sphere(3, "v"), columns=("v",)))
    asked.append(_question(QUERIES[3], box, columns=3))
    asked += [
        _question(QUERIES[3], box, unit=Unit(PERSON, 3)),
        _question(QUERIES[1], box, halvings=1),
    ]
    asked.append(_question(QUERIES[3], ball, unit=Unit("client", 2, whole=True)))
    return tuple(encode(question) for question in asked)


def _question(query: Query, domain: Domain, **changed: Any) -> Question:
    columns = domain.names if isinstance(domain, ProfileDomain) else COLUMNS
    given = {"columns": columns, "unit": ROW, "halvings": 0, **changed}
    return Question(nonce=bytes(NONCE_BYTES), fit=bytes(16), domain=domain, query=query, **given)


def parts_of(message: bytes) -> Parts:
    """Take a message apart."""
    start = 8 + int.from_bytes(message[:8], "little")
    return json.loads(message[8:start]), message[start:]


def joined(parts: Parts) -> bytes:
    """Put a message together."""
    head = json.dumps(parts[0]).encode()
    return len(head).to_bytes(8, "little") + head + parts[1]


def altered(message: bytes, choose: Choose) -> bytes:
    """Return a question with something else at up to three places."""
    content, blobs = parts_of(message)
    for _ in range(1 + choose(3)):
        match choose(6):
            case 0 | 1:
                blobs = _with_word(blobs, choose)
            case 2:
                holder, key = _place(content, choose)
                other, _ = parts_of(questions()[choose(len(questions()))])
                holder[key] = deepcopy(_get(*_place(other, choose)))
            case 3:
                blobs = blobs[: 8 * choose(1 + len(blobs) // 8)] + bytes(8 * choose(3))
            case _:
                holder, key = _place(content, choose)
                holder[key] = deepcopy(STRANGE[choose(len(STRANGE))])
    return joined((content, blobs))


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
    """Ask clients with and without a row; tell whether the question was understood."""
    question = understood(message)
    if question is None:
        assert Client(_table(COLUMNS, None, 5)).answer(message) == b""
        return False
    query, unit = question.query, question.unit
    every = _table(question.columns, question.domain, 9)
    some = [every, every[1:], every[:1], every[:0]]
    if not isinstance(every, np.ndarray):
        some += [lambda part=part: part for part in tuple(some)]  # read as from elsewhere
    answers = [Client(table).answer(message) for table in some]
    assert len({len(answer) for answer in answers}) == 1, "an answer's length follows from rows"
    if answers[0][NONCE_BYTES:] == FAILED or question.halvings:
        return True
    sums = [np.frombuffer(answer[NONCE_BYTES:], "<i8").astype(object) for answer in answers]
    for everybody, rest, alone, nobody in (sums[:4], sums[4:]) if sums[4:] else (sums,):
        assert len(everybody) == query.size
        assert not nobody.any()
        assert unit.whole or (everybody - rest == alone).all(), "a row counts by other rows"
        bounds = unit.bounds(query)
        sizes = np.abs(alone)
        assert sizes.sum() <= bounds.l1
        assert (sizes * sizes).sum() <= bounds.l2_squared
        assert sizes.max() <= bounds.linf
        assert not bounds.monotone or alone.min() >= 0
    return True


def _table(columns: tuple[str, ...] | int, domain: Domain | None, n_rows: int) -> Any:
    """Return rows for the columns of a question, the first of them of somebody alone."""
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
