"""Journals in a database: one SQLite file, or a PostgreSQL server for many machines.

One table of entries, which triggers keep append-only. Every write is one transaction that locks
the whole journal, so that the chain of hashes has one end.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from privclust.privacy.accounting import Spend
from privclust.privacy.ledger import _sql_schema
from privclust.privacy.ledger._database import Database
from privclust.privacy.ledger._file import writable_by_anyone
from privclust.privacy.ledger._sql_session import Session
from privclust.privacy.ledger.journal import (
    NOTHING,
    Entry,
    EntryError,
    Kind,
    Line,
    Pages,
    chained,
)

FINGERPRINT_MAX = 2**28
"""Bytes of a fingerprint; no more are unpacked, whatever a file claims to hold."""

_APPEND = {
    "lower": "SELECT privclust_lower(:label, :slot, CAST(:body AS jsonb))",
    "reserve": "SELECT privclust_reserve(:label, :run, CAST(:body AS jsonb))",
    "claim": "SELECT privclust_claim(:run, :slot, CAST(:body AS jsonb), :fingerprint)",
    "result": "SELECT privclust_result(:run, :slot, CAST(:body AS jsonb))",
    "close": "SELECT privclust_close(:run, CAST(:body AS jsonb))",
}
"""How a server appends entries, by their kind. A role may be granted all of these functions but the
first, which is the owner's alone, as are entries of other kinds."""
_APPEND_AS_OWNER = "SELECT privclust_chain(:kind, :label, :run, :slot, :body, :fingerprint)"
_INSERT = (
    "INSERT INTO privclust_entries (number, kind, label, run, slot, body, fingerprint, hash) "
    "VALUES (:number, :kind, :label, :run, :slot, :body, :fingerprint, :hash)"
)
_RUNS_WITH = {
    server: "SELECT run FROM privclust_entries WHERE kind = 'reserve' AND label = :label "
    f"AND {condition}"
    for server, condition in (
        (True, "CAST(body AS jsonb) #>> ARRAY['facts', :fact] = :value"),
        (False, "json_extract(body, '$.facts.' || :fact) = :value"),
    )
}
"""By whether it is a server: the database reads facts, because thousands of bodies take long."""
_NEWEST = "SELECT number, hash FROM privclust_entries ORDER BY number DESC LIMIT 1"
_SUMS = (
    "SELECT run, kind, sum(quanta), sum(slack), sum(tail), sum(pure), count(pure) = count(*) "
    "FROM privclust_entries WHERE kind IN ('reserve', 'claim', 'close') AND label = :label "
    "GROUP BY kind, run"
)


class SqlJournal(Database):
    """Entries in a database.

    Parameters
    ----------
    place : str
        Path of a SQLite file, or a URL that starts with ``postgresql://``.
    """

    _table = "privclust_entries"
    _lock = "SELECT privclust_lock()"

    @contextmanager
    def writing(self) -> Iterator[Pages]:
        """Keep others out; on leaving, what was appended is on the disk, or not at all."""
        with self._transaction() as session:
            yield _SqlPages(session)

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """Read one consistent state."""
        with self._connected() as session:
            session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ" if self._server else "BEGIN")
            try:
                yield _SqlPages(session)
            finally:
                with suppress(self._failure):
                    session.rollback()

    def ailments(self) -> list[str]:
        """Return what the place itself finds wrong with its storage."""
        if self._server:
            return []
        with self._connected() as session:
            found = [text for (text,) in session.execute("PRAGMA integrity_check")]
        damage = [] if found == ["ok"] else [f"SQLite: {text}" for text in found]
        return damage + writable_by_anyone(self.place)

    def _schema(self, session: Session) -> tuple[str, ...]:
        if not self._server:
            return _sql_schema.SQLITE
        ((name,),) = session.execute("SELECT quote_ident(current_schema())")
        return (_sql_schema.postgresql(name),)


class _SqlPages:
    """One transaction's view of the entries."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def lines(self, *kinds: Kind, after: int = 0, **where: str) -> list[Line]:
        """Return lines in order, without fingerprints: of some kinds; of a label, run or slot."""
        values = {**where, "after": after}
        return [
            Line(number, Entry(kind, label, run, slot, _parsed(number, body)), line_hash, body)
            for number, kind, label, run, slot, body, line_hash in self._session.execute(
                _lines_of(kinds, tuple(sorted(where))), values
            )
        ]

    def sums(self, label: str) -> list[tuple[str, str, Spend]]:
        """Return what the entries of each kind and run on a data set cost together."""
        found = self._session.execute(_SUMS, {"label": label})
        try:
            return [
                (
                    run,
                    kind,
                    Spend(int(quanta), slack, tail, int(pure) if all_pure else None)
                    if kind != "close"
                    else Spend(),
                )
                for run, kind, quanta, slack, tail, pure, all_pure in found
            ]
        except (TypeError, ValueError):
            raise EntryError(
                f"the ledger's entries on data set {label!r} do not say what they cost. 'privclust "
                "ledger verify' tells more; put back a copy."
            ) from None

    def runs_with(self, label: str, fact: str, value: str) -> list[str]:
        """Return the runs on a data set of which a fact has this value."""
        found = self._session.execute(
            _RUNS_WITH[self._session.server], {"label": label, "fact": fact, "value": value}
        )
        return [run for (run,) in found]

    def fingerprint(self, number: int) -> bytes | None:
        """Return the fingerprint of one line, if it was kept."""
        wanted = "SELECT fingerprint FROM privclust_entries WHERE number = :number"
        ((stored,),) = self._session.execute(wanted, {"number": number})
        if self._session.server:  # which packs what is large itself
            return bytes(stored)
        return zlib.decompressobj().decompress(stored, FINGERPRINT_MAX)

    def head(self) -> tuple[int, str]:
        """Return number and hash of the last line."""
        found = self._session.execute(_NEWEST)
        if not found:
            return 0, NOTHING
        number, digest = found[0]
        if not (isinstance(number, int) and isinstance(digest, str)):
            raise EntryError("the last entry of the ledger has no number or no hash.")
        return number, digest

    def hash_of(self, number: int) -> str | None:
        """Return the hash of the line of this number, if there is one."""
        wanted = "SELECT hash FROM privclust_entries WHERE number = :number"
        found = self._session.execute(wanted, {"number": number})
        return found[0][0] if found else None

    def append(self, entry: Entry) -> None:
        """Write one entry at the end."""
        values = {"kind": entry.kind, "label": entry.label, "run": entry.run, "slot": entry.slot}
        if self._session.server:
            body = json.dumps(dict(entry.body), allow_nan=False)
            verb = _APPEND.get(entry.kind, _APPEND_AS_OWNER)
            self._session.execute(verb, {**values, "body": body, "fingerprint": entry.fingerprint})
            return
        line = chained(*self.head(), entry)
        packed = zlib.compress(entry.fingerprint, 1) if entry.fingerprint else b""
        rest = {"number": line.number, "body": line.text, "fingerprint": packed, "hash": line.hash}
        self._session.execute(_INSERT, {**values, **rest})


def _parsed(number: int, body: str) -> dict[str, Any]:
    content: object = None
    with suppress(TypeError, ValueError, RecursionError):
        content = json.loads(body)
    if not isinstance(content, dict):
        raise EntryError(
            f"entry {number!r} of the ledger cannot be read: its body is not an object."
        )
    return content


@cache
def _lines_of(kinds: tuple[Kind, ...], where: tuple[str, ...]) -> str:
    conditions = ["number > :after", *(f"{name} = :{name}" for name in where)]
    if kinds:
        conditions.append(f"kind IN ({', '.join(map(repr, kinds))})")
    return (
        "SELECT number, kind, label, run, slot, body, hash FROM privclust_entries "
        f"WHERE {' AND '.join(conditions)} ORDER BY number"
    )
