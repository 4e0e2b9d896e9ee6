"""What a statement says of nodes that added the noise themselves: who is protected against whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from privclust.models.formatting import rounded_up
from privclust.models.private_run import PrivateRun
from privclust.privacy.accounting import Spend, epsilon_of_spend
from privclust.privacy.noise_shares import (
    NoiseShare,
    spend_against_all_others,
    spend_at_nodes,
    spend_of_outsiders,
)
from privclust.queries.participation import Cohort

if TYPE_CHECKING:
    from privclust.models.statement import Statement


@dataclass(frozen=True)
class Protection:
    """What a run guarantees against some of those who see it.

    Attributes
    ----------
    against : str
        Whom, in words.
    epsilon, delta : float
        The guarantee.
    """

    against: str
    epsilon: float
    delta: float


def protections(run: PrivateRun, cohort: Cohort) -> tuple[Protection, ...]:
    """Return what a run guarantees against whom, weakest opponent last."""
    share = NoiseShare(len(cohort.members), cohort.colluding)
    nodes = "node" if cohort.colluding == 1 else "nodes"
    reserved = run.reserved
    return (
        _protection(
            run,
            f"the coordinator and any {cohort.colluding} {nodes} together (its own, if it has one, "
            "counts)",
            reserved,
        ),
        _protection(
            run,
            "the coordinator and all other nodes together",
            spend_against_all_others(reserved, share),
        ),
        _protection(
            run,
            "everybody else, if each node added its share",
            spend_of_outsiders(reserved, share),
        ),
    )


def _protection(run: PrivateRun, against: str, spend: Spend) -> Protection:
    return Protection(against, epsilon_of_spend(spend, run.delta), run.delta)


@dataclass(frozen=True)
class CohortText:
    """Who added the noise of a run, and who is protected against whom, in words.

    Attributes
    ----------
    nodes : tuple of str
        Who took part.
    against : tuple of str
        Each opponent, and what is guaranteed against it.
    rests_on : tuple of str
        What must hold for that, and what the noise is that is listed of each result.
    """

    nodes: tuple[str, ...]
    against: tuple[str, ...]
    rests_on: tuple[str, ...]


PROTECTED = "A row at one node is protected in this run, whichever node that is, against"


def cohort_text(run: PrivateRun) -> CohortText | None:
    """Say who added the noise of a run, if nodes did."""
    cohort = run.cohort
    if cohort is None or not run.private:
        return None
    return CohortText(
        (
            f"Nodes: {', '.join(map(repr, cohort.members))}; {cohort.coordinator!r} coordinated. "
            "Each node added its share of the noise, masked what it sent, and charged its own "
            "ledger.",
            *_left(cohort),
        ),
        tuple(
            f"{one.against}: epsilon = {rounded_up(one.epsilon)}, delta = {rounded_up(one.delta)}"
            for one in protections(run, cohort)
        ),
        (
            "The first and the last of these rest on X25519, HKDF-SHA256 and ChaCha20, too. If "
            "they are broken, what nodes sent and somebody recorded is protected by the second.",
            "The noise of each result is that of all nodes together, of which those who collude "
            "know their shares.",
        ),
    )


def cohort_lines(statement: Statement) -> list[str]:
    """Return that as lines of a statement."""
    text = cohort_text(statement.run)
    if text is None:
        return []
    return [*text.nodes, PROTECTED, *(f"  {line}" for line in text.against), *text.rests_on]


def _left(cohort: Cohort) -> list[str]:
    if not cohort.repeated:
        return []
    who = " and ".join(map(repr, cohort.left))
    times = "once" if cohort.repeated == 1 else f"{cohort.repeated} times"
    return [
        f"No longer there at the end: {who}. A query was sent again to those who stayed {times}, "
        "with new noise and at a further charge, which epsilon includes."
    ]


def cohort_not_covered(run: PrivateRun, cohort: Cohort) -> list[str]:
    """List what the guarantee of nodes does not speak of."""
    listed = ["nodes that send something else than their sums, which nobody notices"]
    if run.private:
        twice = epsilon_of_spend(spend_at_nodes(run.reserved, 2), run.delta)
        listed.append(
            "somebody with rows at two nodes, for whom epsilon is "
            f"{rounded_up(twice)} instead (at more nodes, mu grows with their number)"
        )
    return listed
