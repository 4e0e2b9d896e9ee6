"""The same request to every client of a federation, and their responses added up.

The server sees each client's exact sums and must be trusted with them (docs/federated-trust.md);
what it releases goes through the Curator like everything else.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from privclust.domains.base import Domain
from privclust.engines.base import Engine
from privclust.engines.exact_sums import LARGEST, ExactSums, lengths
from privclust.engines.federated._request import NONCE_BYTES, WIDTH_MAX, QueryRequest
from privclust.engines.federated.client import FAILED, read_query_request, response_size
from privclust.engines.federated.wire import HEAD_MAX, encode, head_size
from privclust.errors import (
    ColumnError,
    CostError,
    FailedClientError,
    ParameterError,
    TooFewClientsError,
)
from privclust.kernels.grid import IntArray
from privclust.queries.base import Count, Query
from privclust.queries.participation import QueryParticipation
from privclust.queries.unit import Unit
from privclust.sources.guard import guarded

if TYPE_CHECKING:
    from privclust.engines.federated.federation import Federation

Exchange = Callable[[Mapping[str, bytes]], Iterable[tuple[str, bytes]]]
"""Sends each client its request and yields responses as they come, with who gave them; from nobody
in particular, more than once, or never."""
QUERY_HEAD = 2**20
"""Bytes that a query may add to the part of a message that says what is in it."""


class FederatedEngine:
    """Sums queries over the clients of a federation.

    Attributes
    ----------
    participation : list of QueryParticipation
        One for each request so far, those of samples included.
    """

    def __init__(self, federation: Federation, domain: Domain, unit: Unit) -> None:
        self.n_columns = domain.center.size
        self.unit = unit
        self.participation: list[QueryParticipation] = []
        self._federation = federation
        self._domain = domain
        self._fit = secrets.token_bytes(NONCE_BYTES)
        self._sampling_exponent = 0
        self._is_sampled = False

    def check_request(self) -> None:
        """Refuse columns and domains about which no request passes the checks of a client."""
        if self.n_columns > WIDTH_MAX:
            raise CostError(
                f"rows of this federation would have {self.n_columns:,} coordinates, and a client "
                f"responds for at most {WIDTH_MAX:,}. Name fewer columns, or declare fewer levels. "
                "Nothing was measured or spent."
            )
        message = self._request(Count(), bytes(NONCE_BYTES))
        if head_size(message) > HEAD_MAX - QUERY_HEAD:
            raise ColumnError(
                f"names and declarations of these columns take {head_size(message):,} bytes of "
                f"each request, and {HEAD_MAX - QUERY_HEAD:,} are allowed. Give columns shorter "
                "names, or name fewer. Nothing was measured or spent."
            )
        if read_query_request(message) is None:
            raise ParameterError(
                "every client would refuse requests about these columns, bounds and unit. Names "
                "must differ, be text, and not be that of the ids; bounds must be finite. Nothing "
                "was measured or spent."
            )

    @guarded
    def aggregate(self, query: Query) -> ExactSums:
        """Return the sum of what all units of those clients contribute that respond."""
        federation = self._federation
        nonces = {name: secrets.token_bytes(NONCE_BYTES) for name in federation.clients}
        requests = {name: self._request(query, nonce) for name, nonce in nonces.items()}
        responses = accepted(query, self._of_client, nonces, federation.exchange(requests))
        self.participation.append(QueryParticipation(len(responses), len(nonces)))
        if len(responses) < federation.minimum:
            raise TooFewClientsError(len(responses), len(nonces), federation.minimum)
        found = ExactSums(query.size)
        for values in responses.values():
            found += values
        return found

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare: each client draws its own sample when a request is about it."""

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        """Return an engine over some of the units, each in or out by a bit of its client's.

        Each client draws by a key of its own, which nobody else knows: `key` stays unused
        (docs/proofs/federation.md).
        """
        some = FederatedEngine(self._federation, self._domain, self.unit)
        some.participation = self.participation
        some._fit, some._sampling_exponent = self._fit, sampling_exponent
        self._is_sampled = True
        return some

    def close(self) -> None:
        """Let clients forget their samples, if any was drawn: the fit has ended."""
        if self._is_sampled:
            # A fit that is paid for must not be lost over it; samples go a day later.
            with suppress(Exception):
                self._federation.on_finish(self._fit)

    @property
    def _of_client(self) -> Unit:
        """What counts as one among the rows of one client."""
        return replace(self.unit, clients=0)

    def _request(self, query: Query, nonce: bytes) -> bytes:
        columns, unit = self._federation.columns, self._of_client
        return encode(
            QueryRequest(
                nonce,
                self._fit,
                columns,
                self._domain,
                unit,
                self._sampling_exponent,
                query,
                query.sensitivity,
                query.size,
            )
        )


def accepted(
    query: Query,
    unit: Unit,
    nonces: Mapping[str, bytes],
    responses: Iterable[tuple[str, bytes]],
) -> dict[str, IntArray]:
    """Return the first response of each client that can be one; all others are discarded.

    A response to an earlier request has another nonce; a second one finds the first in its place.
    A client that says it failed is not absent: going on without it would depend on its rows.
    """
    found: dict[str, IntArray] = {}
    failed = False
    for name, response in responses:
        if name not in nonces or name in found:
            continue
        if not secrets.compare_digest(response[:NONCE_BYTES], nonces[name]):
            continue
        failed = failed or response[NONCE_BYTES:] == FAILED
        if len(response) != response_size(query):
            continue
        values = np.frombuffer(response[NONCE_BYTES:], dtype="<i8").astype(np.int64)
        if _possible(query, unit, values):
            found[name] = values
    if failed:
        raise FailedClientError
    return found


def _possible(query: Query, unit: Unit, values: IntArray) -> bool:
    """Tell whether a client that follows the rules could have given a response."""
    lowest, largest = int(values.min(initial=0)), int(values.max(initial=0))
    if max(-lowest, largest) > LARGEST or (query.sensitivity.monotone and lowest < 0):
        return False
    if not unit.whole:
        return True
    bounds = unit.sensitivity(query)
    l1, l2_squared = lengths(np.abs(values))
    return (
        l1 <= bounds.l1 and l2_squared <= bounds.l2_squared and max(-lowest, largest) <= bounds.linf
    )
