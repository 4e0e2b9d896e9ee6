"""Nodes of a federation in this process, with the policies and ledgers that real ones have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from helpers.query_examples import COLUMNS, VOTES

from privclust.cohorts.fit_store import FitStore
from privclust.cohorts.identity import Identity
from privclust.cohorts.member import LocalMember, Responder
from privclust.cohorts.membership import MemberPolicy, Membership
from privclust.cohorts.sum_request import Reply, SumRequest
from privclust.cohorts.terms import Agreement, Member, Offer, Terms
from privclust.domains.box import Box
from privclust.engines.federated.wire import decode, encode
from privclust.kernels.grid import IntArray
from privclust.privacy.accounting import QUANTA, Budget
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import ROW, Query

NAMES = ("east", "north", "south")
LABEL = "patients"
BUDGET = Budget(1.0, 1e-6)
DOMAIN = Box([0.0] * 3, [1.0, 2.0, 3.0])
QUERY_QUANTA = QUANTA // 1000
"""mu² of the requests that tests put: some fifty of them fit into a budget."""
RESERVE = make_plan(BUDGET, [Slot("all", 1.0, 2**20)]).reserve


def identity(name: str) -> Identity:
    """Return the key of a node, the same each time."""
    return Identity(sha256(name.encode()).digest())


def terms_of(names: Iterable[str] = NAMES, **changed: Any) -> Terms:
    """Return terms that nodes of these names take part under."""
    members = tuple(Member(name, identity(name).public) for name in sorted(names))
    given: dict[str, Any] = {
        "fit": "0123456789abcdef",
        "coordinator": "ada",
        "members": members,
        "colluding": 1,
        "minimum": 2,
        "columns": COLUMNS,
        "domain": DOMAIN,
        "unit": ROW,
        "facts": (("estimator", "PrivateKMeans"),),
        "epsilon": BUDGET.epsilon,
        "delta": BUDGET.delta,
        "quanta": RESERVE.quanta,
        "slack": RESERVE.slack,
        "tail": RESERVE.tail,
    }
    return Terms(**{**given, **changed})


def policy_of(name: str, names: Iterable[str] = NAMES, **changed: Any) -> MemberPolicy:
    """Return the policy of a node that clusters with these others."""
    given: dict[str, Any] = {
        "name": name,
        "partners": {other: identity(other).public for other in names if other != name},
        "coordinators": ("ada",),
        "columns": COLUMNS,
        "domain": DOMAIN,
        "unit": ROW,
        "minimum": 2,
        "colluding": 1,
        "epsilon": 1.0,
        "epsilon_alone": 10.0,
    }
    return MemberPolicy(**{**given, **changed})


def ledger_of(unit: str = "row", epsilon: float = BUDGET.epsilon) -> Ledger:
    """Return a node's ledger."""
    ledger = Ledger.in_memory()
    ledger.add(LABEL, epsilon, BUDGET.delta, unit)
    return ledger


def membership_of(
    name: str,
    names: Iterable[str] = NAMES,
    *,
    ledger: Ledger | None = None,
    folder: Path | None = None,
    **changed: Any,
) -> Membership:
    """Return what a node does without its rows."""
    policy = policy_of(name, names, **changed)
    return Membership(policy, identity(name), ledger or ledger_of(), LABEL, FitStore(folder))


def members_of(tables: Mapping[str, Any], **changed: Any) -> dict[str, LocalMember]:
    """Return nodes that have these tables, by name."""
    return {
        name: LocalMember(membership_of(name, tables, **changed), table)
        for name, table in tables.items()
    }


def offers_for(terms: Terms, nodes: Iterable[Any]) -> tuple[Offer, ...]:
    """Let nodes make their offers."""
    message = encode(terms)
    return tuple(decode(node.offer(message), Offer) for node in nodes)


def agreed(terms: Terms, nodes: Iterable[Any]) -> Agreement:
    """Let nodes, which are sorted by name, agree."""
    nodes = tuple(nodes)
    agreement = Agreement(terms, offers_for(terms, nodes))
    for node in nodes:
        node.join(encode(agreement))
    return agreement


def request_of(of: Agreement, query: Query = VOTES, **changed: Any) -> SumRequest:
    """Return a request that all members of an agreement reply."""
    given: dict[str, Any] = {
        "agreement": of.digest,
        "slot": "votes",
        "attempt": 1,
        "cohort": tuple(member.name for member in of.terms.members),
        "quanta": QUERY_QUANTA,
        "l0": of.terms.unit.sensitivity(query).l0,
        "sampling_exponent": 0,
        "sensitivity": query.sensitivity,
        "size": query.size,
    }
    return SumRequest(query=query, **{**given, **changed})


def replied(node: LocalMember, request: SumRequest) -> Reply:
    """Send a request to a node and take its reply."""
    node.submit(encode(request))
    given = node.reply(request.agreement, request.digest)
    assert given is not None
    return decode(given, Reply)


def added_up(replies: Iterable[Reply]) -> IntArray:
    """Return what a coordinator makes of replies."""
    parts = [reply.integers().view(np.uint64) for reply in replies]
    total: IntArray = np.array(parts).sum(axis=0, dtype=np.uint64).view(np.int64)
    return total


def process_of(
    name: str, agreement: Agreement, membership: Membership, table: Any, ledger: Ledger
) -> Responder:
    """Return the part of a node that reads rows, as another process would begin it."""
    own = membership.store.offer(agreement.terms.digest)
    assert own is not None
    return Responder(name, agreement, own, table, ledger)


def rows_of(n_rows: int, seed: int = 0) -> Any:
    """Return a table of three columns."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.0, 1.0, (n_rows, 3)) * [1.0, 2.0, 3.0]
    return pa.table({name: values[:, place] for place, name in enumerate(COLUMNS)})


def watched(table: Any, log: list[str]) -> Any:
    """Return a table that notes when rows of it are read."""

    def batches() -> Iterator[Any]:
        log.append("read")
        yield from table.to_batches()

    return lambda: pa.RecordBatchReader.from_batches(table.schema, batches())


def tables_of(names: Iterable[str] = NAMES, n_rows: int = 40) -> dict[str, Any]:
    """Return a table of other rows for each node."""
    return {name: rows_of(n_rows + 7 * place, place) for place, name in enumerate(names)}


def with_offer(agreement: Agreement, place: int, **changed: Any) -> tuple[Offer, ...]:
    """Return an agreement's offers with something else in one of them."""
    offers = list(agreement.offers)
    offers[place] = replace(offers[place], **changed)
    return tuple(offers)
