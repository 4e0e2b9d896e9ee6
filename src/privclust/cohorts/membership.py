"""A node's part in fits of a federation, as far as no row is read: offers, agreements, requests.

Everything that arrives is hostile. It is rebuilt by constructors that check it, and compared with
what the node's owner allows; what is refused is refused by that and by the ledger alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

from privclust._version import __version__
from privclust.cohorts.differences import difference
from privclust.cohorts.fit_store import FitStore, OwnOffer
from privclust.cohorts.identity import Identity
from privclust.cohorts.masks import new_secret, public_key
from privclust.cohorts.sum_request import SumRequest
from privclust.cohorts.terms import DIGEST_BYTES, Agreement, Offer, Terms
from privclust.domains.base import Domain
from privclust.engines.federated._rehearsal import rehearse
from privclust.engines.federated._request import SIZE_MAX, Columns
from privclust.engines.federated.wire import WireError, decode, encode
from privclust.errors import EngineError, NodeRefusedError, safe_repr
from privclust.privacy.accounting import epsilon_of_spend
from privclust.privacy.ledger._admission import Cap, RunConflictError
from privclust.privacy.ledger.journal import LedgerError
from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
from privclust.privacy.ledger.records import period_of
from privclust.privacy.noise_shares import spend_against_all_others
from privclust.queries.unit import Unit
from privclust.sources.guard import guarded

Kind = TypeVar("Kind")
_SENT = {"Terms": "terms of a fit", "Agreement": "an agreement", "SumRequest": "a request"}


@dataclass(frozen=True, eq=False)
class MemberPolicy:
    """What the owner of a node lets it take part in.

    Attributes
    ----------
    name : str
        What the others call this node.
    partners : mapping of str to bytes
        The nodes that it clusters with, and the public keys of their identities.
    coordinators : tuple of str
        Who may send requests.
    columns : tuple of str, or int
        The columns that may be clustered, in the order of the domain.
    domain : Domain
        What is declared about them.
    unit : Unit
        Whose rows count as one.
    minimum : int
        The smallest cohort in which this node responds, itself included.
    colluding : int
        Against at least so many members together a fit must guarantee what it states.
    epsilon : float
        The most that one fit may guarantee.
    epsilon_alone : float
        The most that one fit may have against all other members together; no limit on all fits.
    """

    name: str
    partners: Mapping[str, bytes]
    coordinators: tuple[str, ...]
    columns: Columns
    domain: Domain
    unit: Unit
    minimum: int
    colluding: int
    epsilon: float
    epsilon_alone: float

    def fault(self, terms: Terms, identity: bytes) -> str | None:
        """Return why the node does not take part under these terms; None if it does."""
        known = {**self.partners, self.name: identity}
        members = {member.name: member.identity for member in terms.members}
        if members.get(self.name) != identity:
            return "the terms do not name it with its own key"
        strangers = sorted(name for name, key in members.items() if known.get(name) != key)
        if strangers:
            return f"its policy does not have {safe_repr(strangers[0])} with the key in the terms"
        if terms.coordinator not in self.coordinators:
            return f"its policy names no coordinator {safe_repr(terms.coordinator)}"
        if terms.minimum < self.minimum or terms.colluding < self.colluding:
            return (
                f"its policy wants cohorts of at least {self.minimum} and a guarantee against "
                f"{self.colluding} together, the terms have {terms.minimum} and {terms.colluding}"
            )
        differs = difference(self, terms)
        if differs is not None:
            return differs
        if terms.epsilon > self.epsilon:
            return (
                f"its policy allows an epsilon of {self.epsilon:g} a fit, and the terms have "
                f"{terms.epsilon:g}"
            )
        alone = epsilon_alone(terms)
        if alone > self.epsilon_alone:
            return (
                f"against all other members together the fit would guarantee an epsilon of "
                f"{alone:.3g}, and its policy allows {self.epsilon_alone:g}"
            )
        return None


def epsilon_alone(terms: Terms) -> float:
    """Return what a fit guarantees against all other members together, by one node's own noise."""
    share = terms.share(len(terms.members))
    return epsilon_of_spend(spend_against_all_others(terms.reserve, share), terms.delta)


class Membership:
    """What a node does of a federation's fits without its rows.

    Parameters
    ----------
    policy : MemberPolicy
        What its owner allows.
    identity : Identity
        Its key.
    ledger : Ledger
        Its own, which every reply is charged to.
    label : str
        The data set's name there.
    store : FitStore
        Where secrets and agreements are kept.
    coordinator : str, optional
        Who sends all that arrives, if that is known: fits of others do not exist for them.
    """

    def __init__(
        self,
        policy: MemberPolicy,
        identity: Identity,
        ledger: Ledger,
        label: str,
        store: FitStore,
        coordinator: str | None = None,
    ) -> None:
        self.policy = policy
        self.store = store
        self.ledger = ledger
        self.identity = identity
        self._label = label
        self._coordinator = coordinator

    def offer(self, message: bytes) -> bytes:
        """Return a signed key for a fit of these terms, the same each time."""
        terms = self._read(message, Terms)
        self._check(terms)
        digest = terms.digest
        made = self.store.offer(digest)
        if made is None:
            secret = new_secret()
            unsigned = Offer(digest, self.policy.name, public_key(secret), b"")
            offer = replace(unsigned, signature=self.identity.sign(unsigned.signed))
            made = self.store.keep_offer(OwnOffer(offer, secret))
        return encode(made.offer)

    def agreement(self, message: bytes) -> Agreement:
        """Check an agreement in full; nothing is set aside yet."""
        agreement = self._read(message, Agreement)
        terms = agreement.terms
        self._check(terms)
        made = self.store.offer(terms.digest)
        if made is None or made.offer not in agreement.offers:
            self._refuse("it made another offer for these terms, or none")
        account = self.ledger.dataset(self._label)
        if account.unit != terms.unit.ledger_name:
            self._refuse(
                f"its ledger counts one {safe_repr(account.unit)}, and the terms one "
                f"{safe_repr(terms.unit.ledger_name)}"
            )
        try:
            period_of(account, _facts(terms))
        except LedgerError:
            self._refuse("its ledger has other periods than the one that the fit names, or none")
        return agreement

    def join(self, message: bytes, cap: Cap | None = None) -> Agreement:
        """Check an agreement in full and set its price aside in the ledger, once.

        `cap` is what all fits of its coordinator may cost together.
        """
        agreement = self.agreement(message)
        facts = _facts(agreement.terms)
        if cap is not None:
            facts[cap.fact] = cap.value  # whatever the terms say of it
        reserve, run = agreement.terms.reserve, agreement.run
        try:
            self.ledger.reserve(self._label, reserve, facts, run=run, cap=cap)
        except BudgetExceededError:
            self._refuse("its ledger has too little left for this fit")
        except RunConflictError:
            self._refuse("its ledger has another fit of this name")
        self.store.keep_agreement(agreement)
        return agreement

    def agreed(self, digest: bytes) -> Agreement:
        """Return the agreement of a hash, or refuse; that of another coordinator is none."""
        agreement = self.store.agreement(digest) if len(digest) == DIGEST_BYTES else None
        if agreement is None or self._coordinator not in (None, agreement.terms.coordinator):
            self._refuse("it has no such agreement, or the fit has ended")
        return agreement

    def request(self, message: bytes, size_max: int = SIZE_MAX) -> tuple[SumRequest, Agreement]:
        """Return a request and what it belongs to, or refuse it; no row is read for that.

        The reply to it has at most `size_max` numbers.
        """
        request = self._read(message, SumRequest)
        agreement = self.agreed(request.agreement)
        # Its owner may have changed the policy since it was agreed on.
        self._check(agreement.terms)
        wrong = fault_of_request(request, agreement, self.policy.name, size_max)
        if wrong is not None:
            self._refuse(wrong)
        return request, agreement

    def end(self, digest: bytes) -> None:
        """End a fit: nothing more is charged to it, and its secret is deleted."""
        agreement = self.store.agreement(digest)
        if agreement is not None:
            self.ledger.close(agreement.run, finished=True)
            self.store.forget(agreement)

    def _check(self, terms: Terms) -> None:
        if self._coordinator not in (None, terms.coordinator):
            self._refuse("the terms name another coordinator than the one who sends them")
        wrong = self.policy.fault(terms, self.identity.public)
        if wrong is not None:
            self._refuse(wrong)
        delta = self.ledger.dataset(self._label).budget.delta
        if terms.delta > delta:
            self._refuse(
                f"its ledger allows a delta of {delta:g}, and the terms have {terms.delta:g}"
            )

    def _read(self, message: bytes, kind: type[Kind]) -> Kind:
        try:
            found = decode(message, kind)
        except WireError:
            found = None
        # Another spelling of the same would have another hash.
        if found is None or encode(found) != message:
            self._refuse(
                f"what arrived is not {_SENT[kind.__name__]}. All nodes and the coordinator need "
                f"the same version of privclust, which is {__version__} here"
            )
        return found

    def _refuse(self, why: str) -> NoReturn:
        raise NodeRefusedError(f"{self.policy.name} refuses: {why}. Nothing was read there.")


def fault_of_request(
    request: SumRequest, agreement: Agreement, name: str, size_max: int = SIZE_MAX
) -> str | None:
    """Return why the node of a `name` gives no reply to a request; None if it does."""
    if request.agreement != agreement.digest:
        return "the request is of another agreement"
    if name not in request.cohort:
        return "it is not in the cohort of the request"
    if request.size > size_max:
        return f"a reply has at most {size_max:,} numbers"
    try:
        _rehearsed(request, agreement.terms)
    except EngineError:
        return "the request does not keep to the agreement"
    return None


@guarded
def _rehearsed(request: SumRequest, terms: Terms) -> None:
    rehearse(request.query_request(terms))


def _facts(terms: Terms) -> dict[str, str]:
    """Return what a node's ledger says of a fit."""
    return {
        # By the name that is left out, caps on the node's own analysts are counted.
        **{name: text for name, text in terms.facts if name != "analyst"},
        "coordinator": terms.coordinator,
        "members": " ".join(member.name for member in terms.members),
        "colluding": str(terms.colluding),
        "epsilon alone": f"{epsilon_alone(terms):.6g}",
    }
