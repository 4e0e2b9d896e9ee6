"""How a query is recognised when it is measured again."""

from __future__ import annotations

from dataclasses import fields
from hashlib import sha256

import numpy as np

from privclust.domains.base import Domain
from privclust.queries.base import Query
from privclust.queries.registry import query_name


def serialize(value: Query | Domain) -> bytes:
    """Return all that defines a query, candidates included, or a domain, as bytes.

    Examples
    --------
    >>> from privclust.queries.base import Count
    >>> serialize(Count())
    b'Count'
    """
    return b"".join(_parts(value))


def digest(query: Query) -> str:
    """Return a hash of all that defines a query."""
    return sha256(serialize(query)).hexdigest()


def _parts(value: object) -> list[bytes]:
    if isinstance(value, np.ndarray):
        return [f"{value.dtype.str}{value.shape}".encode(), np.ascontiguousarray(value).tobytes()]
    if hasattr(value, "__dataclass_fields__"):
        kind = type(value)
        name = query_name(kind) if hasattr(kind, "contribute") else kind.__name__
        parts = [name.encode()]
        for item in fields(value):  # type: ignore[arg-type]
            part = getattr(value, item.name)
            # Ledgers hold hashes from before these fields, and of columns that declare none.
            if part is not None or not item.metadata.get("newer"):
                parts += [f"/{item.name}=".encode(), *_parts(part)]
        return parts
    if isinstance(value, tuple | list):
        return [
            part
            for number, item in enumerate(value)
            for part in (f"[{number}]".encode(), *_parts(item))
        ]
    return [repr(value.item() if isinstance(value, np.generic) else value).encode()]
