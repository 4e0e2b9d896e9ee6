"""Which state of which table was read, in words that may be published."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

_SALT_BYTES, _HASH_DIGITS = 16, 32
_NAME_MAX = 120
_NO_HASH = "cannot be had again"
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
    salted_hash : str or None
        A hash by which whoever can read the table finds the state that was read; None if no state
        of it can be had again. It says nothing to others (docs/decisions/0020-snapshots.md).

    Examples
    --------
    >>> Origin("PostgreSQL", "database clinic, query 1f3a5b7c", "one transaction").sentence
    'PostgreSQL, "database clinic, query 1f3a5b7c", one transaction'
    """

    kind: str
    name: str
    snapshot: str
    salted_hash: str | None = None

    def __post_init__(self) -> None:
        texts = (self.kind, self.name, self.snapshot, self.salted_hash or "none")
        if not all(text and text.isprintable() for text in texts):
            raise ValueError("a source is described by texts that can be printed")

    @property
    def sentence(self) -> str:
        """All of it in one line."""
        words = self._words
        return words if self.salted_hash is None else f"{words} (salted hash {self.salted_hash})"

    @property
    def _words(self) -> str:
        # In quotes that it cannot end: who named the table could add a sentence otherwise.
        name = self.name.replace('"', "'")
        return f'{self.kind}, "{name}", {self.snapshot}'

    @property
    def facts(self) -> dict[str, str]:
        """What a ledger records of it."""
        return {"source": self._words, "snapshot": self.salted_hash or _NO_HASH}

    def is_of(self, identity: str) -> bool:
        """Tell whether this is the state that is told from others by `identity`.

        Examples
        --------
        >>> origin = Origin("Delta", "visits", "one version", hash_of_state("9b1c version 7"))
        >>> origin.is_of("9b1c version 7"), origin.is_of("9b1c version 8")
        (True, False)
        """
        return (
            self.salted_hash is not None
            and _hashed(identity, _salt(self.salted_hash)) == self.salted_hash
        )


def hash_of_state(identity: str) -> str:
    """Return a salted hash of a state: another one each time, so that nobody sees which are equal.

    Examples
    --------
    >>> hash_of_state("9b1c version 7") == hash_of_state("9b1c version 7")
    False
    """
    return _hashed(identity, secrets.token_hex(_SALT_BYTES))


def state_of_hash(salted_hash: str, identities: Iterable[str]) -> str | None:
    """Return the identity that a salted hash was made of, or None if it is not among these.

    Examples
    --------
    >>> states = [f"9b1c version {number}" for number in range(9)]
    >>> state_of_hash(hash_of_state(states[7]), states)
    '9b1c version 7'
    """
    salt = _salt(salted_hash)
    return next((one for one in identities if _hashed(one, salt) == salted_hash), None)


def recorded_hash(facts: Mapping[str, str]) -> str | None:
    """Return the salted hash of the state that a run began to read, if it can be had again.

    Examples
    --------
    >>> origin = Origin("Delta", "visits", "one version", hash_of_state("9b1c version 7"))
    >>> recorded_hash(origin.facts) == origin.salted_hash
    True
    """
    kept = facts.get("snapshot")
    return None if kept == _NO_HASH else kept


def printable(text: object) -> str:
    r"""Return a name that somebody gave a table, as a statement can show it.

    Examples
    --------
    >>> printable("visits\n2025")
    'visits?2025'
    """
    found = "".join(one if one.isprintable() else "?" for one in str(text))
    return found if len(found) <= _NAME_MAX else f"{found[:_NAME_MAX]}…"


def _salt(salted_hash: str) -> str:
    return salted_hash.partition("-")[0]


def _hashed(identity: str, salt: str) -> str:
    return f"{salt}-{sha256(f'{salt} {identity}'.encode()).hexdigest()[:_HASH_DIGITS]}"
