"""Who took part when a query was measured in a federation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryParticipation:
    """How many clients responded to one query, of how many that were invited."""

    responded: int
    invited: int


@dataclass(frozen=True)
class Cohort:
    """Nodes that cluster together, each of which adds a share of the noise.

    Attributes
    ----------
    members : tuple of str
        Their names.
    coordinator : str
        Who sent the requests and added up.
    colluding : int
        Against so many of them together, and the coordinator, the guarantee holds.
    """

    members: tuple[str, ...]
    coordinator: str
    colluding: int

    def __post_init__(self) -> None:
        names = (*self.members, self.coordinator)
        if not all(name and name.isprintable() for name in names):
            raise ValueError("nodes and coordinators have names that can be printed")
        if not 1 <= self.colluding < len(self.members):
            raise ValueError("of the members of a cohort 1 at least, and not all, may collude")
