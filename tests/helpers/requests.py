"""Requests to clients of a federation, as an honest server makes them."""

from __future__ import annotations

from typing import Any

from helpers.conformance import COLUMNS, DOMAIN

from privclust.engines.federated._request import NONCE_BYTES, QueryRequest
from privclust.queries.base import Query
from privclust.queries.unit import ROW


def request_for(query: Query, **changed: Any) -> QueryRequest:
    """Return a request about all rows that assumes of its query what the query declares."""
    given: dict[str, Any] = {
        "nonce": bytes(NONCE_BYTES),
        "fit": bytes(NONCE_BYTES),
        "columns": tuple(COLUMNS),
        "domain": DOMAIN,
        "unit": ROW,
        "sampling_exponent": 0,
        "sensitivity": query.sensitivity,
        "size": query.size,
    }
    return QueryRequest(query=query, **{**given, **changed})
