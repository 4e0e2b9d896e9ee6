"""The federations that a node takes part in, as its processes see them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from privclust.cohorts.fit_store import FitStore
from privclust.cohorts.identity import Identity, read_identity
from privclust.cohorts.membership import MemberPolicy, Membership
from privclust.errors import PolicyError
from privclust.node.policy.federation_policy import FederationPolicy
from privclust.node.policy.policy import AnalystPolicy, Policy, TablePolicy
from privclust.privacy.ledger.ledger import Ledger
from privclust.queries.unit import Unit

SIZE_MAX = 2**20
"""Numbers of one reply, which then has 8 MiB: moments of 1000 columns."""
OFFER_SECONDS = 3600
"""So long an offer without an agreement is kept."""


@dataclass(frozen=True, eq=False)
class Hosted:
    """A federation at this node.

    Attributes
    ----------
    policy : FederationPolicy
        What the owner allows.
    table : TablePolicy
        Whose rows are summed.
    member : MemberPolicy
        What terms are compared with.
    store : FitStore
        Where the secrets of fits are.
    ledger : str
        Where the ledger is.
    """

    policy: FederationPolicy
    table: TablePolicy
    member: MemberPolicy
    store: FitStore
    ledger: str


@dataclass(frozen=True, eq=False)
class Joined:
    """A federation at the web process, which has the node's identity and no rows."""

    hosted: Hosted
    identity: Identity

    def membership(self, analyst: AnalystPolicy) -> Membership:
        """Return what the node does for one coordinator; each request has a ledger of its own."""
        hosted = self.hosted
        ledger = Ledger.open(hosted.ledger)
        return Membership(
            hosted.member, self.identity, ledger, hosted.table.dataset, hosted.store, analyst.id
        )

    def forget_offers(self, now: float) -> None:
        """Delete secrets of fits whose runs are closed, and old ones that led to no fit."""
        runs = Ledger.open(self.hosted.ledger).runs(self.hosted.table.dataset)
        closed = {run.name for run in runs if not run.open}
        self.hosted.store.forget_offers(
            now - OFFER_SECONDS, lambda agreement: agreement.run in closed
        )


def hosted(policy: Policy, name: str) -> Hosted:
    """Return a federation of a policy, without the node's identity."""
    found = policy.federations[name]
    table = policy.tables[found.table]
    unit = Unit(table.unit or None, table.max_rows_per_unit)
    try:
        store = FitStore(found.secrets)
    except OSError as error:
        raise PolicyError(f"in [{found.place}] of the policy: secrets: {error}") from None
    member = found.member_policy(table.columns, unit)
    return Hosted(found, table, member, store, policy.node.ledger)


def joined(policy: Policy) -> dict[str, Joined]:
    """Return all federations of a policy, as the web process needs them."""
    return {
        name: Joined(hosted(policy, name), read_identity(one.identity))
        for name, one in policy.federations.items()
    }


def request_of(name: str, agreement: bytes) -> str:
    """Return what the job of a fit holds."""
    return json.dumps({"federation": name, "agreement": agreement.hex()})


def read_request(request: str) -> tuple[str, bytes]:
    """Return the federation and the hash of the agreement that a job is about."""
    found = json.loads(request)
    return found["federation"], bytes.fromhex(found["agreement"])
