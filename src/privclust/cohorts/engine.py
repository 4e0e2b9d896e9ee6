"""The coordinator's side of a fit: sends requests to nodes and adds up what they give back.

It sees sums that each node masked, and their total, which has the noise of all of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from privclust.cohorts.sum_request import Reply, SumRequest
from privclust.cohorts.terms import Agreement, Member, Offer, Terms
from privclust.domains.base import Domain
from privclust.engines.federated._request import Columns
from privclust.engines.federated.wire import WireError, decode, encode
from privclust.engines.noisy import FitTerms, NoisyEngine, NoisySums
from privclust.errors import AbsentNodeError, NodeRefusedError
from privclust.kernels.grid import IntArray
from privclust.models.private_run import REAL_NOISE
from privclust.privacy.measurement import sigma_of
from privclust.queries.base import Query
from privclust.queries.participation import Cohort, QueryParticipation
from privclust.queries.unit import Unit

if TYPE_CHECKING:
    from privclust.cohorts.federation import NodeFederation

NOISE_NAME_MAX = 100
"""Characters by which a node says where its noise came from: ledgers and models keep them."""
_PAUSE, _LONGEST_PAUSE = 0.05, 1.0


class Node(Protocol):
    """A node as its coordinator sees it; messages are bytes that `wire` wrote.

    Each method raises `NodeRefusedError` if the node does not take part, and `AbsentNodeError` if
    it does not respond.
    """

    @property
    def name(self) -> str:
        """What the others call it."""

    @property
    def identity(self) -> bytes:
        """The public key that the others know it by."""

    def offer(self, message: bytes) -> bytes:
        """Return a signed key for a fit of these terms."""

    def join(self, message: bytes) -> None:
        """Check an agreement in full and set its price aside."""

    def submit(self, message: bytes) -> None:
        """Take a request."""

    def reply(self, agreement: bytes, request: bytes) -> bytes | None:
        """Return the reply to the request of a hash; None if there is none yet."""

    def end(self, agreement: bytes) -> None:
        """End a fit."""


@dataclass
class _Fit:
    """What the engine of all rows and that of a sample share."""

    agreement: Agreement
    digest: bytes
    cohort: tuple[str, ...]
    repeated: int = 0


class CohortEngine(NoisyEngine):
    """Measures queries by the sums of nodes, each with a share of the noise and masked."""

    def __init__(
        self, federation: NodeFederation, columns: Columns, domain: Domain, unit: Unit
    ) -> None:
        self.n_columns = domain.center.size
        self.unit = unit
        self.participation: list[QueryParticipation] = []
        self.reserve = federation.reserve
        self.noise_ratio = federation.noise_ratio
        self._federation = federation
        self._columns = columns
        nodes = sorted(federation.nodes, key=lambda node: node.name)
        self._nodes = {node.name: node for node in nodes}
        self._domain = domain
        self._sampling_exponent = 0
        self._fit: _Fit | None = None

    @property
    def cohort(self) -> Cohort:
        """The nodes, and who of them left the fit so far."""
        federation, fit, names = self._federation, self._fit, tuple(self._nodes)
        assert fit is not None
        return Cohort(
            names,
            federation.coordinator,
            federation.colluding,
            fit.digest.hex(),
            tuple(name for name in names if name not in fit.cohort),
            fit.repeated,
        )

    def begin(self, terms: FitTerms) -> None:
        """Let all nodes agree to a fit, or go on with one they agreed to."""
        wanted = self._terms(terms)
        message = encode(wanted)
        offers = tuple(self._offer(node, message) for node in self._nodes.values())
        try:
            agreement = Agreement(wanted, offers)
        except ValueError as error:
            raise NodeRefusedError(f"the nodes do not agree: {error}") from None
        self._fit = _Fit(agreement, agreement.digest, tuple(self._nodes))
        joined = encode(agreement)
        for node in self._nodes.values():
            node.join(joined)

    def measure(
        self, slot: str, attempt: int, query: Query, quanta: int, l0: int
    ) -> NoisySums | None:
        """Return a query's noisy sums; None if nodes are missing without whom it can go on."""
        fit = self._fit
        assert fit is not None
        request = SumRequest(
            fit.digest,
            slot,
            attempt,
            fit.cohort,
            quanta,
            l0,
            self._sampling_exponent,
            query,
            query.sensitivity,
            query.size,
        )
        replies = self._replies(request)
        if len(replies) < len(fit.cohort):
            if len(replies) < self._federation.smallest:
                raise AbsentNodeError(
                    f"{_listed(set(fit.cohort) - set(replies))} gave no reply in "
                    f"{self._federation.seconds:g} seconds. Where the coordinator keeps a "
                    "ledger, the fit can be resumed when all nodes respond."
                )
            fit.cohort = tuple(sorted(replies))
            fit.repeated += 1
            return None
        self.participation.append(QueryParticipation(len(replies), len(self._nodes)))
        total = np.zeros(query.size, dtype=np.uint64)
        for reply in replies.values():
            total += reply.integers().view(np.uint64)
        sigma = sigma_of(self.unit.sensitivity(query), quanta)
        scale = fit.agreement.terms.share(len(fit.cohort)).total(sigma)
        others = sorted({reply.noise for reply in replies.values()} - {REAL_NOISE})
        values: IntArray = total.view(np.int64)
        return NoisySums(values, scale, others[0] if others else REAL_NOISE)

    def expect_sample(self, key: bytes) -> None:
        """Nothing to prepare: each node draws its own sample when a request is about it."""

    def sample(self, sampling_exponent: int, key: bytes) -> NoisyEngine:
        """Return an engine over some of the units, each in or out by a bit of its node's."""
        some = copy(self)
        some._sampling_exponent = sampling_exponent
        return some

    def close(self) -> None:
        """Let nodes know that the fit has ended: they delete their secrets."""
        if self._fit is not None:
            for node in self._nodes.values():
                with suppress(Exception):  # what is paid for must not be lost over any reply
                    node.end(self._fit.digest)

    def _terms(self, fit: FitTerms) -> Terms:
        federation = self._federation
        return Terms(
            fit.run,
            federation.coordinator,
            tuple(Member(name, node.identity) for name, node in self._nodes.items()),
            federation.colluding,
            federation.smallest,
            self._columns,
            self._domain,
            Unit(self.unit.column, self.unit.rows),
            tuple(sorted(fit.facts.items())),
            fit.epsilon,
            fit.delta,
            fit.quanta,
            fit.slack,
            fit.tail,
        )

    def _offer(self, node: Node, message: bytes) -> Offer:
        try:
            return decode(node.offer(message), Offer)
        except WireError:
            raise NodeRefusedError(f"{node.name} made no offer that can be read.") from None

    def _replies(self, request: SumRequest) -> Mapping[str, Reply]:
        """Send a request to its cohort until all have replied, or the time is over."""
        message, digest = encode(request), request.digest
        waiting, found = set(request.cohort), dict[str, Reply]()
        requested: set[str] = set()
        end, pause = time.monotonic() + self._federation.seconds, _PAUSE
        while True:
            for name in sorted(waiting):
                try:
                    if name not in requested:
                        self._nodes[name].submit(message)
                        requested.add(name)
                    given = self._nodes[name].reply(request.agreement, digest)
                except AbsentNodeError:
                    requested.discard(name)  # it may have lost the request
                    continue
                if given is not None:
                    found[name] = _checked(given, name, request, digest)
                    waiting.discard(name)
            if not waiting or time.monotonic() > end:
                return found
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def _checked(given: bytes, name: str, request: SumRequest, digest: bytes) -> Reply:
    try:
        reply = decode(given, Reply)
    except WireError:
        reply = None
    if (
        reply is None
        or (reply.request, reply.name) != (digest, name)
        or len(reply.values) != 8 * request.size
        or not reply.noise.isprintable()
        or len(reply.noise) > NOISE_NAME_MAX
    ):
        raise NodeRefusedError(f"{name} gave something else than a reply to the request.")
    return reply


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))
