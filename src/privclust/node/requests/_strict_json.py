"""JSON that is not trusted: objects of plain values, read without what JSON leaves undefined."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from privclust.node.requests.problems import RequestError, refused

BYTES_MAX = 2**16
"""What the body of a request may have."""
DIGITS_MAX = 20
"""Digits of an integer: more than 2^64 has. Python takes long to read thousands."""


def read_object(body: bytes) -> dict[str, Any]:
    """Return the object that a body holds, or refuse it.

    Numbers are finite, integers have few digits, and no key stands twice in an object.

    Examples
    --------
    >>> read_object(b'{"columns": ["age"], "epsilon": 0.5}')
    {'columns': ['age'], 'epsilon': 0.5}
    >>> read_object(b'{"epsilon": 1e999}')
    Traceback (most recent call last):
    privclust.node.requests.problems.RequestError: The body is not an object of JSON (RFC 8259)...
    """
    if len(body) > BYTES_MAX:
        raise too_long()
    try:
        content = json.loads(
            body.decode(),
            object_pairs_hook=_once,
            parse_float=_finite,
            parse_int=_short,
            parse_constant=_refuse,
        )
        json.dumps(content, ensure_ascii=False).encode()  # half a character has no bytes
    except RequestError:
        raise
    except RecursionError:
        raise _wrong("it is nested too deeply") from None
    except ValueError:
        raise _wrong("it is not JSON in UTF-8") from None
    if not isinstance(content, dict):
        raise _wrong("it is something else")
    return content


def too_long(bytes_max: int = BYTES_MAX) -> RequestError:
    """Return the error of a body that has too many bytes."""
    return refused("invalid-request", f"The body has more than {bytes_max:,} bytes.", status=413)


def _wrong(cause: str) -> RequestError:
    return refused("invalid-request", f"The body is not an object of JSON (RFC 8259): {cause}.")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _wrong("a key stands twice in one object")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _wrong("a number is too large")
    return value


def _short(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise _wrong(f"an integer has more than {DIGITS_MAX} digits")
    return int(text)


def _refuse(constant: str) -> NoReturn:
    raise _wrong("NaN and Infinity are not numbers of JSON")
