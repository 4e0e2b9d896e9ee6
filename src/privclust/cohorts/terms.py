"""What nodes agree on before a fit: the terms, a key from each of them, and one hash over all."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from privclust._version import __version__
from privclust.cohorts.identity import KEY_BYTES, is_signed
from privclust.cohorts.masks import MaskKey, length_prefixed, shares_secrets
from privclust.domains.base import Domain
from privclust.engines.federated._request import Columns
from privclust.engines.federated.wire import encode, let_travel
from privclust.privacy.accounting import Budget, Spend, gaussian_spend
from privclust.privacy.ledger._admission import RUN_NAME
from privclust.privacy.noise_shares import MEMBERS_MAX, NoiseShare
from privclust.privacy.plan import SLOTS_MAX
from privclust.queries.unit import COORDINATES_MAX, Unit

PROTOCOL = 1
DIGEST_BYTES = 32
_RUN_BYTES = 16
FACTS_MAX, FACT_TEXT_MAX = 100, 2**12
"""Facts of a fit, and characters of one: ledgers of nodes keep them."""
_PURPOSE = b"privclust: a node's key for one fit, version 1"


@let_travel
@dataclass(frozen=True)
class Member:
    """A node that takes part: its name, and the public key that the others know it by."""

    name: str
    identity: bytes

    def __post_init__(self) -> None:
        if not self.name or not self.name.isprintable() or len(self.identity) != KEY_BYTES:
            raise ValueError("a member has a name that can be printed, and a key of 32 bytes.")


@let_travel
@dataclass(frozen=True, eq=False)
class Terms:
    """All that nodes have to know of a fit before they take part in it.

    Attributes
    ----------
    fit : str
        Its name at the coordinator.
    coordinator : str
        Who sends the requests and adds up.
    members : tuple of Member
        Who takes part, sorted by name.
    colluding : int
        Against so many members together the guarantee holds, the coordinator among them.
    minimum : int
        The smallest cohort that a request may be sent to.
    columns : tuple of str, or int
        The columns to cluster, in the order of the domain, or how many there are.
    domain : Domain
        What is declared about the values.
    unit : Unit
        Whose rows count as one, among those of one node.
    facts : tuple of pairs of str
        Public parameters of the fit, for those who read ledgers.
    epsilon, delta : float
        The guarantee.
    quanta, slack, tail : int, float, float
        The parts of the `Spend` that each node sets aside.
    protocol, version : int, str
        Of this protocol, and of privclust.
    """

    fit: str
    coordinator: str
    members: tuple[Member, ...]
    colluding: int
    minimum: int
    columns: Columns
    domain: Domain
    unit: Unit
    facts: tuple[tuple[str, str], ...]
    epsilon: float
    delta: float
    quanta: int
    slack: float
    tail: float
    protocol: int = PROTOCOL
    version: str = __version__

    def __post_init__(self) -> None:
        names = [member.name for member in self.members]
        if not 2 <= len(names) <= MEMBERS_MAX or names != sorted(set(names)):
            raise ValueError(f"2 to {MEMBERS_MAX} members, sorted by names that differ.")
        if len({member.identity for member in self.members}) < len(names):
            raise ValueError("each member has an identity of its own.")
        if not 1 <= self.colluding < self.minimum <= len(names):
            raise ValueError("1 <= colluding < minimum <= number of members.")
        if (self.protocol, self.version) != (PROTOCOL, __version__):
            raise ValueError("all nodes and the coordinator need the same version of privclust.")
        if not self.domain.fits(self.columns) or self.unit.clients or self.unit.whole:
            raise ValueError("columns are those of the domain, and units are those of one node.")
        if not _are_facts(self.facts):
            raise ValueError(f"facts are up to {FACTS_MAX} names that differ, each with a text.")
        if self.quanta == 0:
            raise ValueError("nothing is set aside for the fit.")
        if self.delta <= 0 or not Budget(self.epsilon, self.delta).admits(self.reserve):
            raise ValueError("more is set aside than epsilon and delta guarantee.")
        most = gaussian_spend(self.quanta, COORDINATES_MAX)
        if self.slack > most.slack or self.tail > SLOTS_MAX * most.tail:
            # All of a ledger's slack or tail would keep every other fit from it.
            raise ValueError("more slack or tail is set aside than this mu² can need.")
        if not RUN_NAME.fullmatch(self.fit):
            raise ValueError("a fit has a name of 16 or 32 hexadecimal digits.")

    @property
    def reserve(self) -> Spend:
        """What each node sets aside."""
        return Spend(self.quanta, self.slack, self.tail, None)

    @property
    def digest(self) -> bytes:
        """A hash of all terms."""
        return sha256(encode(self)).digest()

    def share(self, cohort: int) -> NoiseShare:
        """Return the part of the noise that each member of a cohort of this size adds."""
        return NoiseShare(cohort, self.colluding)


@let_travel
@dataclass(frozen=True)
class Offer:
    """A member's key for one fit, signed together with the terms.

    Attributes
    ----------
    terms : bytes
        The hash of the terms.
    name : str
        The member's.
    key : bytes
        The public key from which masks with others follow.
    signature : bytes
        By the member's identity.
    """

    terms: bytes
    name: str
    key: bytes
    signature: bytes

    @property
    def signed(self) -> bytes:
        """What the signature is of."""
        return length_prefixed(_PURPOSE, self.terms, self.name.encode(), self.key)


@let_travel
@dataclass(frozen=True, eq=False)
class Agreement:
    """Terms, and the offer of each member in the same order: what every node checks in full.

    Raises
    ------
    ValueError
        If an offer is of other terms, not signed by its member's identity, or has the key of
        another or a useless one.
    """

    terms: Terms
    offers: tuple[Offer, ...]

    def __post_init__(self) -> None:
        digest, members = self.terms.digest, self.terms.members
        if [offer.name for offer in self.offers] != [member.name for member in members]:
            raise ValueError("each member makes one offer.")
        if len({offer.key for offer in self.offers}) < len(members):
            raise ValueError("each member has a key of its own.")
        for member, offer in zip(members, self.offers, strict=True):
            valid = offer.terms == digest and len(offer.key) == KEY_BYTES
            if not valid or not is_signed(member.identity, offer.signature, offer.signed):
                raise ValueError("an offer is not signed by its member's identity.")
            # Otherwise the other members would find out when they have charged and read.
            if not shares_secrets(offer.key):
                raise ValueError("a member's key is one from which no secret follows.")

    @property
    def digest(self) -> bytes:
        """A hash of all that was agreed on."""
        return sha256(encode(self)).digest()

    @property
    def run(self) -> str:
        """The fit's name in the ledger of each node."""
        return self.digest[:_RUN_BYTES].hex()

    def keys(self, cohort: tuple[str, ...]) -> dict[str, MaskKey]:
        """Return the keys of a cohort's members, by name."""
        return {
            member.name: MaskKey(member.name, member.identity, offer.key)
            for member, offer in zip(self.terms.members, self.offers, strict=True)
            if member.name in cohort
        }


def _are_facts(facts: tuple[tuple[str, ...], ...]) -> bool:
    texts = [text for fact in facts for text in fact]
    return (
        len({fact[0] for fact in facts if len(fact) == 2}) == len(facts) <= FACTS_MAX
        # A line break could pass for an entry of its own where ledgers are printed.
        and all(len(text) <= FACT_TEXT_MAX and text.isprintable() for text in texts)
    )
