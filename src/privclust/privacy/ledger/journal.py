"""What a ledger is written into: entries, chained by hashes, appended and never changed."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from privclust.privacy.accounting import Spend

Kind = Literal["ledger", "dataset", "lower", "reserve", "claim", "result", "close"]

NOTHING = ""
"""What the first entry follows."""


class LedgerError(RuntimeError):
    """A ledger cannot be read or written, or does not hold what it should.

    Examples
    --------
    >>> from privclust import Ledger
    >>> try:
    ...     Ledger.in_memory().remaining("patients")
    ... except LedgerError as error:
    ...     print("no such data set")
    no such data set
    """


class EntryError(LedgerError):
    """An entry of a ledger does not say what its kind should."""


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    Attributes
    ----------
    kind : str
        What happened.
    label, run, slot : str
        To which data set, run and slot; empty where none is meant.
    body : mapping
        What else is to be known, as JSON knows it.
    fingerprint : bytes
        Of a claim: all that defines its query, kept where there is space. `body` has its hash.
    """

    kind: Kind
    label: str = ""
    run: str = ""
    slot: str = ""
    body: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: bytes = b""


@dataclass(frozen=True)
class Line:
    """An entry in its place: numbered from 1, with a hash of itself and all before it.

    `text` is the body as it was written, which is what the hash was computed from.
    """

    number: int
    entry: Entry
    hash: str
    text: str


class Pages(Protocol):
    """Access to a journal while nobody else writes."""

    def lines(self, *kinds: Kind, after: int = 0, **where: str) -> list[Line]:
        """Return lines in order, without fingerprints: of some kinds; of a label, run or slot.

        Only those of a number above `after`.
        """

    def sums(self, label: str) -> list[tuple[str, str, Spend]]:
        """Return what the entries of each kind and run on a data set cost together.

        Triples of run, kind and sum, for reservations, claims and ends; an end costs nothing.
        """

    def runs_with(self, label: str, fact: str, value: str) -> list[str]:
        """Return the runs on a data set of which a fact has this value."""

    def fingerprint(self, number: int) -> bytes | None:
        """Return the fingerprint of one line, if it was kept."""

    def head(self) -> tuple[int, str]:
        """Return number and hash of the last line."""

    def hash_of(self, number: int) -> str | None:
        """Return the hash of the line of this number, if there is one."""

    def append(self, entry: Entry) -> None:
        """Write one entry at the end."""


class Journal(Protocol):
    """A place that keeps entries."""

    def writing(self) -> AbstractContextManager[Pages]:
        """Keep others out; on leaving, what was appended is there for good, or not at all."""

    def reading(self) -> AbstractContextManager[Pages]:
        """Read one consistent state."""

    def ailments(self) -> list[str]:
        """Return what the place itself finds wrong with its storage."""


def chained(last: int, previous: str, entry: Entry) -> Line:
    """Put an entry in its place behind the line of number `last` and hash `previous`.

    Examples
    --------
    >>> first = chained(0, NOTHING, Entry("ledger"))
    >>> chained(first.number, first.hash, Entry("ledger")).hash == first.hash
    False
    """
    text = json.dumps(dict(entry.body), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return Line(last + 1, entry, hash_of(last + 1, previous, entry, text), text)


def hash_of(number: int, previous: str, entry: Entry, text: str) -> str:
    """Return the hash of an entry whose body was written as `text`, and of all before it.

    Each part is preceded by its length in bytes, so that no two entries are hashed alike.
    """
    parts = [str(number), previous, entry.kind, entry.label, entry.run, entry.slot, text]
    coded = [str.encode(part) for part in parts]
    return hashlib.sha256(b"".join(b"%d:%b" % (len(part), part) for part in coded)).hexdigest()


class MemoryJournal:
    """Entries that last as long as the process; fingerprints are not kept.

    Of results only the text is kept: as Python integers they would take several times its memory.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._lines: list[Line] = []

    @contextmanager
    def writing(self) -> Iterator[Pages]:
        """Keep other threads out, and forget what was appended if the work fails."""
        with self._lock:
            before = len(self._lines)
            try:
                yield self
            except BaseException:
                del self._lines[before:]
                raise

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """Read one consistent state."""
        with self._lock:
            yield self

    def lines(self, *kinds: Kind, after: int = 0, **where: str) -> list[Line]:
        """Return lines in order, without fingerprints: of some kinds; of a label, run or slot."""
        return [
            _whole(line)
            for line in self._lines[after:]
            if (not kinds or line.entry.kind in kinds)
            and all(getattr(line.entry, name) == value for name, value in where.items())
        ]

    def sums(self, label: str) -> list[tuple[str, str, Spend]]:
        """Return what the entries of each kind and run on a data set cost together."""
        found: dict[tuple[str, str], Spend] = {}
        for line in self.lines("reserve", "claim", "close", label=label):
            name = (line.entry.run, line.entry.kind)
            cost = Spend(**line.entry.body["spend"]) if "spend" in line.entry.body else Spend()
            found[name] = found.get(name, Spend()) + cost
        return [(run, kind, cost) for (run, kind), cost in found.items()]

    def runs_with(self, label: str, fact: str, value: str) -> list[str]:
        """Return the runs on a data set of which a fact has this value."""
        found = self.lines("reserve", label=label)
        return [line.entry.run for line in found if line.entry.body["facts"].get(fact) == value]

    def fingerprint(self, number: int) -> None:
        """Fingerprints are not kept."""

    def head(self) -> tuple[int, str]:
        """Return number and hash of the last line."""
        return len(self._lines), self._lines[-1].hash if self._lines else NOTHING

    def hash_of(self, number: int) -> str | None:
        """Return the hash of the line of this number, if there is one."""
        return self._lines[number - 1].hash if 1 <= number <= len(self._lines) else None

    def append(self, entry: Entry) -> None:
        """Write one entry at the end."""
        line = chained(*self.head(), replace(entry, fingerprint=b""))
        kept = replace(line.entry, body={}) if entry.kind == "result" else line.entry
        self._lines.append(replace(line, entry=kept))

    def ailments(self) -> list[str]:
        """Memory has none."""
        return []


def _whole(line: Line) -> Line:
    """Return a line with what its text says, which is not kept apart for results."""
    if line.entry.kind != "result":
        return line
    return replace(line, entry=replace(line.entry, body=json.loads(line.text)))
