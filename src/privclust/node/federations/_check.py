"""What is wrong with the federations of a policy before a node starts."""

from __future__ import annotations

import os
from collections.abc import Iterator

from privclust.cohorts.identity import read_identity
from privclust.errors import PolicyError
from privclust.node.policy.federation_policy import FederationPolicy
from privclust.node.policy.policy import Policy
from privclust.privacy.accounting import epsilon_of_spend
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.noise_shares import NoiseShare, spend_against_all_others


def faults_of_federations(policy: Policy) -> Iterator[str]:
    """Give what is wrong, each with what to do."""
    for one in policy.federations.values():
        for fault in (*_faults_of_files(one), *_faults_of_members(one)):
            yield f"[{one.place}] {fault}"


def public_keys(policy: Policy) -> Iterator[tuple[FederationPolicy, str]]:
    """Give what other owners put into their policies, as far as this user may read it."""
    for one in policy.federations.values():
        if os.access(one.identity, os.R_OK):
            yield one, read_identity(one.identity).public.hex()


def epsilon_of_all_fits(policy: Policy, one: FederationPolicy, ledger: Ledger) -> float:
    """Return what all that a ledger can pay for guarantees against all other members together."""
    budget = ledger.dataset(policy.tables[one.table].dataset).budget
    share = NoiseShare(len(one.partners) + 1, one.colluding)
    return epsilon_of_spend(spend_against_all_others(budget.capacity, share), budget.delta)


def _faults_of_files(one: FederationPolicy) -> Iterator[str]:
    # The worker's user, who checks, may be kept from the key.
    if os.access(one.identity, os.R_OK) or not one.identity.exists():
        try:
            own = read_identity(one.identity).public
        except PolicyError as error:
            yield f"identity: {error}"
        else:
            if own in one.partners.values():
                yield "partners: one of them has this node's own public key. Put theirs there."
    try:
        mode = one.secrets.stat().st_mode
    except OSError:
        yield f"secrets: there is no folder {one.secrets.name!r}. 'privclust node init' makes it."
        return
    if not one.secrets.is_dir() or mode & 0o027:
        yield (
            f"secrets: others may enter {one.secrets.name!r}. Keep it to the node: chmod 700, or "
            "2750 with the group of the worker."
        )
    elif not os.access(one.secrets, os.R_OK | os.X_OK):
        yield f"secrets: this user may not read {one.secrets.name!r}, and the worker must."


def _faults_of_members(one: FederationPolicy) -> Iterator[str]:
    members = len(one.partners) + 1
    if one.minimum > members:
        yield (
            f"partners: there are {members} members with this node, and minimum is {one.minimum}. "
            "Add the other nodes with their public keys, or lower it."
        )
    if not one.coordinators:
        yield "coordinators: there are none. Name an analyst of the policy."
    if one.epsilon_alone < one.epsilon:
        yield (
            "epsilon_alone: it is less than epsilon, so that no fit of that epsilon is taken part "
            "in. Against all others together a node is protected by its own noise alone."
        )
