"""Who took part when a query was measured in a federation."""

from __future__ import annotations

import re
from dataclasses import dataclass

_HASH = re.compile("[0-9a-f]{64}")


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
    agreement : str
        The hash of what all agreed to, in hexadecimal digits.
    left : tuple of str
        Members who gave no reply any more, so that the others went on.
    repeated : int
        How often a query was sent again without them, with new noise and charged again.
    """

    members: tuple[str, ...]
    coordinator: str
    colluding: int
    agreement: str
    left: tuple[str, ...] = ()
    repeated: int = 0

    def __post_init__(self) -> None:
        names = (*self.members, self.coordinator)
        if not all(name and name.isprintable() for name in names):
            raise ValueError("nodes and coordinators have names that can be printed")
        if not 1 <= self.colluding < len(self.members):
            raise ValueError("of the members of a cohort 1 at least, and not all, may collude")
        if not set(self.members).issuperset(self.left) or bool(self.left) != (self.repeated > 0):
            raise ValueError("members of a cohort alone leave it, and queries are sent again then")
        if not _HASH.fullmatch(self.agreement):
            raise ValueError("an agreement has a hash of 64 hexadecimal digits")

    @property
    def run(self) -> str:
        """What the fit is called in the ledgers of the nodes."""
        return self.agreement[:32]
