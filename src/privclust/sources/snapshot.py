"""The state of a table that every pass of a fit reads, whatever becomes of the table meanwhile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

from privclust.domains.origin import Origin


class Snapshot(ABC):
    """What holds one state of a table for as long as a fit lasts."""

    @property
    @abstractmethod
    def origin(self) -> Origin:
        """Which rows these are, without a salted hash."""

    @property
    @abstractmethod
    def identity(self) -> str | None:
        """What tells this state from others; None if it cannot be had again.

        Only a salted hash of it is written down. So it must hold something that is drawn at random
        and known to those alone who can read the table, or nothing but what a person typed.
        """

    def identities(self) -> Iterable[str]:
        """Return the identities of all states that can be had, this one first."""
        return [] if self.identity is None else [self.identity]

    @abstractmethod
    def restore(self, identity: str | None) -> None:
        """Give the rows of an earlier state from now on; none at all if that cannot be had."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the state: the fit has ended."""
