"""Requests to a client as bytes: names, numbers and arrays, and nothing that could run.

A value is written field by field under the name of its class. Only registered queries and classes
listed here are made again: each field must have its declared type, and then the class is called,
which checks the rest. Arrays travel as they are, so a client's query equals the server's bit for
bit.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields
from datetime import date
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from privclust.domains.base import DOMAINS, Domain
from privclust.domains.columns import COLUMNS
from privclust.engines.federated._request import INTEGER_MAX, SQUARE_MAX, QueryRequest
from privclust.kernels.grid import is_on_grid
from privclust.kernels.projection import Projection
from privclust.queries.base import Query, Sensitivity, frozen_points
from privclust.queries.cells import Partition
from privclust.queries.registry import registered_kind, registered_name
from privclust.queries.unit import Unit

Kind = TypeVar("Kind")

_HEAD_BYTES = 8
HEAD_MAX, MESSAGE_MAX = 2**22, 2**28
"""Bytes of the part that says what is in a message, and of the whole message."""
_DTYPES = ("<f8", "<i8")

KNOWN: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(QueryRequest, Sensitivity, Unit, Projection),
        *(*DOMAINS.values(), *COLUMNS),
    )
}
"""Every class that may travel beside the registered ones."""
_DOMAINS = tuple(DOMAINS.values())
_REGISTERED = {Query: "contribute", Partition: "cell_of"}
"""Protocols that a registered class follows, and the method by which it is known."""


def let_travel(kind: type[Kind]) -> type[Kind]:
    """Add a class to those that may travel: a frozen dataclass that checks what it is given."""
    KNOWN[kind.__name__] = kind
    return kind


class WireError(ValueError):
    """Bytes that are not a value of the expected kind, or a value that may not travel."""


def encode(value: object) -> bytes:
    """Write a value as bytes.

    Examples
    --------
    >>> from privclust.queries import NearestVotes
    >>> decode(encode(NearestVotes(np.array([[0.5, 0.0]]))), NearestVotes).size
    1
    """
    blobs: list[bytes] = []
    head = json.dumps(_described(value, blobs), separators=(",", ":")).encode()
    return b"".join([len(head).to_bytes(_HEAD_BYTES, "little"), head, *blobs])


def head_size(data: bytes) -> int:
    """Return how many bytes of an encoded value say what is in it."""
    return int.from_bytes(data[:_HEAD_BYTES], "little")


def decode(data: bytes, expected: type[Kind]) -> Kind:
    """Make the value again that `encode` wrote, if it is one of the expected class.

    Raises
    ------
    WireError
        For anything else; the text says nothing about the bytes.
    """
    try:
        start = _HEAD_BYTES + head_size(data)
        if len(data) > MESSAGE_MAX or start > _HEAD_BYTES + HEAD_MAX:
            raise WireError
        blobs = _Blobs(data, start)
        value = _made(json.loads(data[_HEAD_BYTES:start]), blobs)
        blobs.check_end()
    except Exception:  # of any kind, since it follows from the bytes alone
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
    name = registered_name(type(value)) or type(value).__name__
    if _known(name) is not type(value):
        raise WireError(
            f"a {name} cannot be sent to clients. Register its class with privclust.queries."
            "register, at the server and at every client, if it holds nothing but numbers, texts "
            "and arrays."
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
    kind, given = _known(described["name"]), described["fields"]
    if kind is None or [item.name for item in fields(kind)] != list(given):
        raise WireError
    return _built(kind, {name: _made(item, blobs) for name, item in given.items()})


def _built(kind: type, sent: dict[str, Any]) -> Any:
    """Call a class, which checks what it is given, with fields of the types that it declares."""
    declared = _types(kind)
    if not all(_is_a(value, declared[name]) for name, value in sent.items()):
        raise WireError
    made = kind(**sent)
    for name, value in sent.items():
        if isinstance(value, np.ndarray) and getattr(made, name).tobytes() != value.tobytes():
            # The class takes points of the unit ball and puts them on the grid, where these are.
            if not is_on_grid(value):
                raise WireError
            if getattr(made, name).tobytes() != frozen_points(value, value.ndim).tobytes():
                raise WireError  # it makes something else of them, sorted ones for instance
            object.__setattr__(made, name, value)
    return made


def _known(name: str) -> type | None:
    return KNOWN[name] if name in KNOWN else registered_kind(name)


class _Square(int):
    """The declared type of a sum of squares, which may take more than 64 bits."""


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind) | ({"l2_squared": _Square} if kind is Sensitivity else {})


def _is_a(value: object, declared: Any) -> bool:
    """Tell whether a value has a declared type, and nothing that only converts to it.

    Examples
    --------
    >>> _is_a(True, int), _is_a(3, float), _is_a(("a", 1), tuple[str, ...])
    (False, True, False)
    """
    if declared is Domain:
        return type(value) in _DOMAINS
    if declared in _REGISTERED:
        kind = type(value)
        return registered_name(kind) is not None and hasattr(kind, _REGISTERED[declared])
    origin, parts = get_origin(declared), get_args(declared)
    if origin in (Union, UnionType):
        return any(_is_a(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str) and value in parts
    if origin is tuple:
        return isinstance(value, tuple) and all(_is_a(item, parts[0]) for item in value)
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype.type in get_args(parts[1])
    if declared is float and type(value) is float:
        return True
    if declared in (int, float):
        return type(value) is int and abs(value) <= INTEGER_MAX
    if declared is _Square:
        return type(value) is int and abs(value) <= SQUARE_MAX
    if declared is str and isinstance(value, str):
        return value == value.encode("utf-8", "ignore").decode()  # no half of a character
    return type(value) is declared


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
