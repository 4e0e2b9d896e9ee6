"""The state of a table that every pass of a fit reads, whatever becomes of the table meanwhile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True)
class Origin:
    """Which rows were meant, in words that may be published: no address, account or password.

    Attributes
    ----------
    kind : str
        What keeps the table, such as "PostgreSQL".
    name : str
        What the table is called.
    snapshot : str
        Which of its states was read.

    Examples
    --------
    >>> Origin("PostgreSQL", "query 1f3a5b7c", "one transaction").sentence
    'PostgreSQL, query 1f3a5b7c, one transaction'
    """

    kind: str
    name: str
    snapshot: str

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        return f"{self.kind}, {self.name}, {self.snapshot}"


class Snapshot(ABC):
    """What holds one state of a table for as long as a fit lasts."""

    @property
    @abstractmethod
    def origin(self) -> Origin:
        """Which rows these are, for a statement."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """What tells this state from others; a ledger keeps it for a fit that is resumed."""

    @abstractmethod
    def restore(self, identity: str) -> None:
        """Give the rows of an earlier state from now on; none at all if that cannot be had."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the state: the fit has ended."""
