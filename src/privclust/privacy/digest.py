"""How a question is recognised when it is asked again."""

from __future__ import annotations

import hashlib
from dataclasses import fields

import numpy as np

from privclust.queries import Query


def digest(query: Query) -> str:
    """Return a hash of all that defines a query, so that a resumed run can tell it is the same.

    Examples
    --------
    >>> from privclust.queries import Count
    >>> digest(Count()) == digest(Count())
    True
    """
    content = hashlib.sha256()
    _feed(content, query)
    return content.hexdigest()


def _feed(content: hashlib._Hash, value: object) -> None:
    if isinstance(value, np.ndarray):
        content.update(f"{value.dtype.str}{value.shape}".encode())
        content.update(np.ascontiguousarray(value).tobytes())
    elif hasattr(value, "__dataclass_fields__"):
        content.update(type(value).__name__.encode())
        for item in fields(value):  # type: ignore[arg-type]
            content.update(f"/{item.name}=".encode())
            _feed(content, getattr(value, item.name))
    elif isinstance(value, tuple | list):
        for number, item in enumerate(value):
            content.update(f"[{number}]".encode())
            _feed(content, item)
    else:
        plain = value.item() if isinstance(value, np.generic) else value
        content.update(repr(plain).encode())
