"""A node that replies to requests for sums over its own rows."""

from __future__ import annotations

import math
from typing import Any

from privclust.cohorts.fit_store import FitStore, OwnOffer
from privclust.cohorts.identity import Identity
from privclust.cohorts.masks import length_prefixed, masked
from privclust.cohorts.membership import MemberPolicy, Membership
from privclust.cohorts.sum_request import Reply, SumRequest
from privclust.cohorts.terms import Agreement, Terms
from privclust.engines.factory import local_table
from privclust.engines.federated.wire import decode, encode
from privclust.errors import NodeRefusedError
from privclust.kernels.grid import IntArray
from privclust.privacy.ledger._admission import SlotConflictError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.node_curator import NodeCurator, ShareRequest


class Responder:
    """Replies to the requests of one fit, as the process does that reads the rows.

    Parameters
    ----------
    name : str
        The node's.
    agreement : Agreement
        What was agreed on.
    own : OwnOffer
        The node's key of this fit.
    table : array, frame, path, …
        The node's rows.
    ledger : Ledger
        Its own, in which the fit is reserved.
    """

    def __init__(
        self, name: str, agreement: Agreement, own: OwnOffer, table: Any, ledger: Ledger
    ) -> None:
        if own.offer not in agreement.offers:  # an offer of the same terms after that of the fit
            raise NodeRefusedError(f"{name} refuses: its key of this fit was deleted.")
        terms = agreement.terms
        columns = None if isinstance(terms.columns, int) else terms.columns
        engine = local_table(table).open_engine(columns, terms.domain, terms.unit)
        self._name = name
        self._agreement = agreement
        self._own = own
        self._curator = NodeCurator(engine, ledger, agreement.run)

    def reply(self, request: SumRequest) -> bytes:
        """Return the masked sums of a request that was checked; those stored, if any are."""
        share = self._agreement.terms.share(len(request.cohort))
        content = encode(request)
        wanted = ShareRequest(
            request.ledger_slot,
            request.query,
            request.quanta,
            request.l0,
            request.sampling_exponent,
            share,
            content,
        )
        try:
            sigma = self._curator.sigma(wanted)
        except ValueError:
            raise NodeRefusedError(
                f"{self._name} refuses: the noise of this request does not fit what it says of "
                "its query. Nothing was read there."
            ) from None
        context = length_prefixed(content, sigma.hex().encode(), str(share.largest).encode())
        keys = self._agreement.keys(request.cohort)
        own = keys.pop(self._name)

        def mask(noisy: IntArray) -> IntArray:
            return masked(noisy, self._own.secret, own, keys.values(), context)

        try:
            result = self._curator.measure(wanted, mask)
        except (BudgetExceededError, SlotConflictError):
            raise NodeRefusedError(
                f"{self._name} refuses: its ledger has another request in this slot, or too "
                "little set aside for it. Nothing was read there."
            ) from None
        values = result.values.astype("<i8", copy=False).tobytes()
        return encode(Reply(request.digest, self._name, result.noise, values))


class LocalMember:
    """A node in this process.

    Parameters
    ----------
    membership : Membership
        What it takes part in.
    table : array, frame, path, …
        Its rows.
    """

    def __init__(self, membership: Membership, table: Any) -> None:
        self.name = membership.policy.name
        self.identity = membership.identity.public
        self._table = table
        self._membership = membership
        self._fits: dict[bytes, Responder] = {}
        self._replies: dict[bytes, bytes] = {}

    def offer(self, message: bytes) -> bytes:
        """Return a signed key for a fit of these terms."""
        return self._membership.offer(message)

    def join(self, message: bytes) -> None:
        """Check an agreement in full and set its price aside."""
        self._membership.join(message)

    def submit(self, message: bytes) -> None:
        """Take a request, which is served at once."""
        request, agreement = self._membership.request(message)
        if request.agreement not in self._fits:
            own = self._membership.store.offer(agreement.terms.digest)
            if own is None:  # another agreement on the same terms was ended
                raise NodeRefusedError(f"{self.name} refuses: the fit has ended.")
            self._fits[request.agreement] = Responder(
                self.name, agreement, own, self._table, self._membership.ledger
            )
        self._replies[request.digest] = self._fits[request.agreement].reply(request)

    def reply(self, agreement: bytes, request: bytes) -> bytes | None:
        """Return the reply to the request of a hash; None if there is none yet."""
        return self._replies.get(request)

    def end(self, agreement: bytes) -> None:
        """End a fit."""
        self._membership.end(agreement)
        self._fits.pop(agreement, None)


class RehearsedNode:
    """A node in this process that takes part in everything, for rehearsals with made-up rows.

    It does all that a real one does; its ledger ends with the process.

    Parameters
    ----------
    name : str
        What the others call it.
    table : array, frame, path, …
        Its rows.
    """

    def __init__(self, name: str, table: Any) -> None:
        self.name = name
        self._identity = Identity.generate()
        self._table = table
        self._member: LocalMember | None = None

    @property
    def identity(self) -> bytes:
        """The public key that the others know it by."""
        return self._identity.public

    def offer(self, message: bytes) -> bytes:
        """Return a signed key for a fit of these terms, which it allows."""
        terms = decode(message, Terms)
        policy = MemberPolicy(
            self.name,
            {member.name: member.identity for member in terms.members},
            (terms.coordinator,),
            terms.columns,
            terms.domain,
            terms.unit,
            terms.minimum,
            terms.colluding,
            terms.epsilon,
            math.inf,
        )
        ledger = Ledger.in_memory()
        ledger.add(self.name, terms.epsilon, terms.delta, terms.unit.ledger_name)
        membership = Membership(policy, self._identity, ledger, self.name, FitStore(None))
        self._member = LocalMember(membership, self._table)
        return self._member.offer(message)

    def join(self, message: bytes) -> None:
        """Check an agreement in full."""
        self._begun.join(message)

    def submit(self, message: bytes) -> None:
        """Take a request, which is served at once."""
        self._begun.submit(message)

    def reply(self, agreement: bytes, request: bytes) -> bytes | None:
        """Return the reply to the request of a hash."""
        return self._begun.reply(agreement, request)

    def end(self, agreement: bytes) -> None:
        """End a fit."""
        self._begun.end(agreement)

    @property
    def _begun(self) -> LocalMember:
        if self._member is None:
            raise NodeRefusedError(f"{self.name} refuses: it made no offer before.")
        return self._member
