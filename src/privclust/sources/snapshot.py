"""The state of a table that every pass of a fit reads, whatever becomes of the table meanwhile."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

_SALT_BYTES, _SEAL_DIGITS = 16, 32
_NAME_MAX = 120
_NO_SEAL = "cannot be had again"
FACTS_OF_TABLES = {"source", "snapshot"}
"""What ledgers record of tables of which a fit reads one state."""


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
        What held its rows still.
    seal : str or None
        A hash by which whoever can read the table finds the state that was read; None if no state
        of it can be had again. It says nothing to others (docs/decisions/0020-snapshots.md).

    Examples
    --------
    >>> Origin("PostgreSQL", "database clinic, query 1f3a5b7c", "one transaction").sentence
    'PostgreSQL, database clinic, query 1f3a5b7c, one transaction'
    """

    kind: str
    name: str
    snapshot: str
    seal: str | None = None

    def __post_init__(self) -> None:
        texts = (self.kind, self.name, self.snapshot, self.seal or "no seal")
        if not all(text and text.isprintable() for text in texts):
            raise ValueError("a source is described by texts that can be printed")

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        words = f"{self.kind}, {self.name}, {self.snapshot}"
        return words if self.seal is None else f"{words} (seal {self.seal})"

    @property
    def facts(self) -> dict[str, str]:
        """What a ledger records of it."""
        named = f"{self.kind}, {self.name}, {self.snapshot}"
        return {"source": named, "snapshot": self.seal or _NO_SEAL}

    def is_of(self, identity: str) -> bool:
        """Tell whether this is the state that is told from others by `identity`.

        Examples
        --------
        >>> origin = Origin("Delta", "visits", "one version", sealed("9b1c version 7"))
        >>> origin.is_of("9b1c version 7"), origin.is_of("9b1c version 8")
        (True, False)
        """
        return self.seal is not None and _hashed(identity, _salt(self.seal)) == self.seal


class Snapshot(ABC):
    """What holds one state of a table for as long as a fit lasts."""

    @property
    @abstractmethod
    def origin(self) -> Origin:
        """Which rows these are, without a seal."""

    @property
    @abstractmethod
    def identity(self) -> str | None:
        """What tells this state from others; None if it cannot be had again.

        Only a seal of it is written down. So it must hold something that is drawn at random and
        known to those alone who can read the table, or nothing but what a person typed.
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


def sealed(identity: str) -> str:
    """Return a seal of a state: another one each time, so that nobody sees which are equal.

    Examples
    --------
    >>> sealed("9b1c version 7") == sealed("9b1c version 7")
    False
    """
    return _hashed(identity, secrets.token_hex(_SALT_BYTES))


def unsealed(seal: str, identities: Iterable[str]) -> str | None:
    """Return the identity that a seal was made of, or None if it is not among these.

    Examples
    --------
    >>> unsealed(sealed("9b1c version 7"), (f"9b1c version {number}" for number in range(9)))
    '9b1c version 7'
    """
    salt = _salt(seal)
    return next((one for one in identities if _hashed(one, salt) == seal), None)


def seal_in(facts: Mapping[str, str]) -> str | None:
    """Return the seal of the state that a run began to read, if it can be had again.

    Examples
    --------
    >>> origin = Origin("Delta", "visits", "one version", sealed("9b1c version 7"))
    >>> seal_in(origin.facts) == origin.seal
    True
    """
    kept = facts.get("snapshot")
    return None if kept == _NO_SEAL else kept


def printable(text: object) -> str:
    r"""Return a name that somebody gave a table, as a statement can show it.

    Examples
    --------
    >>> printable("visits\n2025")
    'visits?2025'
    """
    found = "".join(one if one.isprintable() else "?" for one in str(text))
    return found if len(found) <= _NAME_MAX else f"{found[:_NAME_MAX]}…"


def _salt(seal: str) -> str:
    return seal.partition("-")[0]


def _hashed(identity: str, salt: str) -> str:
    return f"{salt}-{sha256(f'{salt} {identity}'.encode()).hexdigest()[:_SEAL_DIGITS]}"
