"""What a coordinator puts to the nodes of a cohort, and what each of them gives back."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from privclust.cohorts.terms import DIGEST_BYTES, Terms
from privclust.engines.federated._request import NONCE_BYTES, SIZE_MAX, QueryRequest
from privclust.engines.federated.wire import encode, let_travel
from privclust.kernels.grid import IntArray
from privclust.privacy.plan import attempt_name
from privclust.queries.base import Query, Sensitivity

ATTEMPTS_MAX = 64
SLOT_MAX = 200
"""Characters of a slot's name."""


@let_travel
@dataclass(frozen=True, eq=False)
class SumRequest:
    """One query to the nodes of a cohort: the same bytes for each of them.

    Attributes
    ----------
    agreement : bytes
        The hash of what they agreed on.
    slot : str
        The plan's name for the query.
    attempt : int
        1, or more if an earlier cohort did not reply in full.
    cohort : tuple of str
        Whom it is sent to, sorted; the masks of all of them vanish together.
    quanta : int
        mu² of the query, in quanta.
    l0 : int
        Coordinates of the result that one unit changes at most.
    sampling_exponent : int
        0 for all rows; otherwise of a sample that each node draws itself.
    query : Query
        What to sum.
    sensitivity, size : Sensitivity, int
        What the coordinator takes the query to declare; a node whose own code declares something
        else refuses.
    """

    agreement: bytes
    slot: str
    attempt: int
    cohort: tuple[str, ...]
    quanta: int
    l0: int
    sampling_exponent: int
    query: Query
    sensitivity: Sensitivity
    size: int

    def __post_init__(self) -> None:
        if len(self.agreement) != DIGEST_BYTES or not 1 <= self.attempt <= ATTEMPTS_MAX:
            raise ValueError(f"a request is of one agreement, put 1 to {ATTEMPTS_MAX} times.")
        if not 1 <= len(self.slot) <= SLOT_MAX or not self.slot.isprintable():
            raise ValueError(f"a slot has a name of 1 to {SLOT_MAX} characters.")
        if self.quanta < 1 or not 1 <= self.l0 <= SIZE_MAX:
            raise ValueError("a request costs something, and a unit changes something.")
        if list(self.cohort) != sorted(set(self.cohort)):
            raise ValueError("a cohort is sorted, and each member is in it once.")

    @property
    def ledger_slot(self) -> str:
        """Its name in a node's ledger: each attempt is charged by itself."""
        return attempt_name(self.slot, self.attempt)

    @property
    def digest(self) -> bytes:
        """A hash of all that it says."""
        return sha256(encode(self)).digest()

    def query_request(self, terms: Terms) -> QueryRequest:
        """Return what is measured, with the domain and unit that were agreed on, or refuse.

        Raises
        ------
        ValueError
            If its parts do not belong together, or to the terms.
        """
        members = {member.name for member in terms.members}
        if not terms.minimum <= len(self.cohort) or not members.issuperset(self.cohort):
            raise ValueError("a cohort has members of the agreement only, and not too few.")
        declared = self.query.sensitivity, self.query.size
        if declared != (self.sensitivity, self.size):
            raise ValueError("the coordinator has other code for this query.")
        return QueryRequest(
            self.digest[:NONCE_BYTES],
            self.agreement[:NONCE_BYTES],
            terms.columns,
            terms.domain,
            terms.unit,
            self.sampling_exponent,
            self.query,
            self.sensitivity,
            self.size,
        )


@let_travel
@dataclass(frozen=True)
class Reply:
    """A node's sums of one request, with its share of the noise and under its masks.

    Attributes
    ----------
    request : bytes
        The hash of the request.
    name : str
        The node's.
    noise : str
        Where its noise came from.
    values : bytes
        Integers of 64 bits, one for each coordinate of the query.
    """

    request: bytes
    name: str
    noise: str
    values: bytes

    def integers(self) -> IntArray:
        """Return the values as an array."""
        return np.frombuffer(self.values, dtype="<i8").astype(np.int64)
