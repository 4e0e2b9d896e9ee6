"""Questions to a client as bytes: names, numbers and arrays, and nothing that could run.

A value is written field by field under the name of its class, and only classes listed here are made
again, without calling them. Arrays travel as they are, so a client's query equals the server's bit
for bit.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from datetime import date
from typing import Any, TypeVar

import numpy as np

from privclust.cell_queries import CellCounts, CellSums, SignCells
from privclust.column_queries import ColumnHistograms
from privclust.cube_queries import SetSavings, SubcubeCounts, SwapSavings
from privclust.domain import Ball, Box, Domain
from privclust.engines.base import Unit
from privclust.geometry.projection import Projection
from privclust.mixed import CategoryColumn, DateColumn, Mixed, NumberColumn
from privclust.moment_queries import SecondMoment
from privclust.profile_queries import ProfileSums, ProfileTallies
from privclust.profiled import Profiled
from privclust.queries import (
    ClusterMoments,
    ClusterSums,
    Count,
    DistanceHistogram,
    NearestVotes,
    Query,
)
from privclust.relative_queries import NearbySums
from privclust.sphere import Sphere
from privclust.version import __version__

Kind = TypeVar("Kind")

_HEAD_BYTES = 8
_DTYPES = ("<f8", "<i8")


@dataclass(frozen=True, eq=False)
class Question:
    """What one client is asked.

    Attributes
    ----------
    nonce : bytes
        Names the question; the answer begins with it.
    fit : bytes
        Names the fit, at whose end its samples are forgotten.
    columns : tuple of str, or int
        The columns to cluster, in the order of the domain, or how many there are.
    domain : Domain
        What the user promises about the values.
    unit : Unit
        Whose rows count as one, among this client's.
    halvings : int
        0 to ask all rows; otherwise a sample.
    key : bytes
        Secret of this client and sample that decides it; empty if all rows are asked.
    query : Query
        What to sum.
    version : str
        Of privclust; a client of another gives no answer.
    """

    nonce: bytes
    fit: bytes
    columns: tuple[str, ...] | int
    domain: Domain
    unit: Unit
    halvings: int
    key: bytes = field(repr=False)
    query: Query
    version: str = __version__


KNOWN: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(Question, Unit, Box, Ball, Projection, SignCells),
        *(Mixed, Profiled, NumberColumn, DateColumn, CategoryColumn, Sphere),
        *(Count, NearestVotes, ClusterSums, ClusterMoments, DistanceHistogram, SecondMoment),
        *(CellCounts, CellSums, SubcubeCounts, SwapSavings, SetSavings, NearbySums),
        *(ColumnHistograms, ProfileSums, ProfileTallies),
    )
}
"""Every class that may travel; a new query joins this list."""


class WireError(ValueError):
    """Bytes that are not a value of the expected kind, or a value that may not travel."""


def encode(value: object) -> bytes:
    """Write a value as bytes.

    Examples
    --------
    >>> decode(encode(NearestVotes(np.array([[0.5, 0.0]]))), NearestVotes).size
    1
    """
    blobs: list[bytes] = []
    head = json.dumps(_described(value, blobs), separators=(",", ":")).encode()
    return b"".join([len(head).to_bytes(_HEAD_BYTES, "little"), head, *blobs])


def decode(data: bytes, expected: type[Kind]) -> Kind:
    """Make the value again that `encode` wrote, if it is one of the expected class.

    Raises
    ------
    WireError
        For anything else; the text says nothing about the bytes.
    """
    try:
        start = _HEAD_BYTES + int.from_bytes(data[:_HEAD_BYTES], "little")
        blobs = _Blobs(data, start)
        value = _made(json.loads(data[_HEAD_BYTES:start]), blobs)
        blobs.check_end()
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        value = None
    if not isinstance(value, expected):
        raise WireError(
            f"these bytes are not a {expected.__name__} of this version of privclust. Use the same "
            "version at the server and at every client."
        )
    return value


def _described(value: object, blobs: list[bytes]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, bytes):
        blobs.append(value)
        return {"bytes": len(value)}
    if isinstance(value, np.ndarray) and value.dtype.str in _DTYPES:
        blobs.append(np.ascontiguousarray(value).tobytes())
        return {"array": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, tuple):
        return {"tuple": [_described(item, blobs) for item in value]}
    name = type(value).__name__
    if KNOWN.get(name) is not type(value):
        raise WireError(
            f"a {name} cannot be sent to clients. Add its class to those that privclust.engines."
            "wire knows, if it holds nothing but numbers, texts and arrays."
        )
    return {
        "name": name,
        "fields": {
            item.name: _described(getattr(value, item.name), blobs)
            for item in fields(value)  # type: ignore[arg-type]
        },
    }


def _made(described: Any, blobs: _Blobs) -> Any:
    if not isinstance(described, dict):
        if isinstance(described, list | float):
            raise WireError
        return described
    if "float" in described:
        return _finite(float.fromhex(described["float"]))
    if "date" in described:
        return date.fromisoformat(described["date"])
    if "bytes" in described:
        return blobs.take(described["bytes"])
    if "array" in described:
        return _array(described["array"], described["shape"], blobs)
    if "tuple" in described:
        return tuple(_made(item, blobs) for item in described["tuple"])
    kind, given = KNOWN[described["name"]], described["fields"]
    if [item.name for item in fields(kind)] != list(given):
        raise WireError
    made: Any = object.__new__(kind)
    for name, item in given.items():
        # Not by calling the class: constructors put points on the grid, where these are already.
        object.__setattr__(made, name, _made(item, blobs))
    return made


def _array(dtype: str, shape: list[int], blobs: _Blobs) -> Any:
    if dtype not in _DTYPES or not all(type(side) is int and side >= 0 for side in shape):
        raise WireError
    array = np.frombuffer(blobs.take(8 * math.prod(shape)), dtype).reshape(shape)
    if not np.isfinite(array).all():
        raise WireError
    return array


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise WireError
    return value


class _Blobs:
    """Bytes after the head, taken one after the other."""

    def __init__(self, data: bytes, start: int) -> None:
        self._data, self._place = data, start

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        begin, self._place = self._place, self._place + length
        if length < 0 or self._place > len(self._data):
            raise WireError
        return self._data[begin : self._place]

    def check_end(self) -> None:
        """Refuse bytes that nobody took."""
        if self._place != len(self._data):
            raise WireError
