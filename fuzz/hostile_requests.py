"""Requests that a hostile coordinator may put, and what must hold of a node's replies to them.

Either a node refuses a request before it reads, whatever rows it has, or one row moves its reply
within the bounds that its noise is sized by, by as much as it would alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from helpers.cohort_parts import LABEL, agreed, ledger_of, membership_of, request_of, terms_of

from fuzz.hostile import requests, table_for
from privclust.cohorts.fit_store import OwnOffer
from privclust.cohorts.member import Responder
from privclust.cohorts.membership import Membership
from privclust.cohorts.sum_request import Reply, SumRequest
from privclust.cohorts.terms import Agreement
from privclust.engines.federated._request import QueryRequest
from privclust.engines.federated.wire import decode, encode
from privclust.errors import EngineError, NodeRefusedError
from privclust.testing import NoNoise, noise_from

NAMES = ("north", "south")


@cache
def sum_requests() -> tuple[tuple[Agreement, bytes], ...]:
    """Return a request of every kind, as a coordinator would put it, and what it belongs to."""
    found = []
    for message in requests():
        known = decode(message, QueryRequest)
        if known.unit.whole:
            continue  # is refused in terms
        agreement = _agreement(known.domain, known.columns, known.unit)
        exponent = known.sampling_exponent
        request = request_of(agreement, known.query, sampling_exponent=exponent)
        found.append((agreement, encode(request)))
    return tuple(found)


_NODES: dict[bytes, tuple[Membership, OwnOffer]] = {}


def _agreement(domain: object, columns: object, unit: object) -> Agreement:
    declared: dict[str, Any] = {"domain": domain, "columns": columns, "unit": unit}
    terms = terms_of(NAMES, **declared)
    ledgers = [ledger_of(terms.unit.ledger_name) for _ in NAMES]
    nodes = [
        membership_of(name, NAMES, ledger=ledger, **declared)
        for name, ledger in zip(NAMES, ledgers, strict=True)
    ]
    agreement = agreed(terms, nodes)
    own = nodes[0].store.offer(terms.digest)
    assert own is not None
    _NODES[agreement.digest] = nodes[0], own
    return agreement


def check(agreement: Agreement, message: bytes) -> bool:
    """Send a request to nodes with and without a row; tell whether it was understood."""
    membership, own = _NODES[agreement.digest]
    try:
        request, _ = membership.request(message)
    except NodeRefusedError:
        return False
    terms = agreement.terms
    every = table_for(terms.columns, terms.domain, 9)
    tables = (every, every[1:], every[:1], every[:0])
    replies = [_reply(agreement, own, request, table) for table in tables]
    assert len({type(reply) for reply in replies}) == 1, "a refusal follows from rows"
    found = [reply.integers().view(np.uint64) for reply in replies if reply is not None]
    if not found:
        return False
    assert {len(one) for one in found} == {request.query.size}, "a length follows from rows"
    if request.sampling_exponent == 0:
        _check_bounds(request, agreement, *found)
    return True


def _reply(agreement: Agreement, own: OwnOffer, request: SumRequest, table: object) -> Reply | None:
    """Return the exact reply under the node's mask, which is the same for all tables."""
    terms, ledger = agreement.terms, ledger_of(agreement.terms.unit.ledger_name)
    ledger.reserve(LABEL, terms.reserve, {}, run=agreement.run)
    try:
        with noise_from(NoNoise()):
            node = Responder(NAMES[0], agreement, own, table, ledger)
            return decode(node.reply(request), Reply)
    except (NodeRefusedError, EngineError):
        return None


def _check_bounds(
    request: SumRequest,
    agreement: Agreement,
    everybody: np.ndarray[tuple[int], np.dtype[np.uint64]],
    rest: np.ndarray[tuple[int], np.dtype[np.uint64]],
    one: np.ndarray[tuple[int], np.dtype[np.uint64]],
    nobody: np.ndarray[tuple[int], np.dtype[np.uint64]],
) -> None:
    alone = (one - nobody).view(np.int64).astype(object)
    moved = (everybody - rest).view(np.int64).astype(object)
    assert (moved == alone).all(), "a row counts by other rows"
    bounds, sizes = agreement.terms.unit.sensitivity(request.query), np.abs(alone)
    assert (sizes * sizes).sum() <= bounds.l2_squared
    assert (sizes > 0).sum() <= bounds.l0 <= request.l0
