"""Journals in a database: one SQLite file, or a PostgreSQL server for many machines.

One table of entries, which triggers keep append-only. Every write is one transaction that locks
the whole journal, so that the chain of hashes has one end.
"""

from __future__ import annotations

import json
import os
import time
import weakref
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from privclust.errors import needs_extra
from privclust.privacy.accounting import Spend
from privclust.privacy.ledger._file import (
    create_private,
    file_identity,
    refuse_mount_point,
    writable_by_anyone,
)
from privclust.privacy.ledger._sql_session import Session, address, durable, forks
from privclust.privacy.ledger.journal import (
    NOTHING,
    Entry,
    EntryError,
    Kind,
    LedgerError,
    Line,
    Pages,
    chained,
)

BUSY_SECONDS = 60
"""How long SQLite is tried again for a lock; a server's verbs wait for 5 seconds (server.sql)."""
FINGERPRINT_MAX = 2**28
"""Bytes of a fingerprint; no more are unpacked, whatever a file claims to hold."""

_LOCK_NOT_AVAILABLE, _NOT_PERMITTED, _RAISED = "55P03", "42501", "P0001"
"""What PostgreSQL calls a lock that others keep, a missing right, and our own refusals."""

_APPEND = {
    "reserve": "SELECT privclust_reserve(:label, :run, CAST(:body AS jsonb))",
    "claim": "SELECT privclust_claim(:run, :slot, CAST(:body AS jsonb), :fingerprint)",
    "result": "SELECT privclust_result(:run, :slot, CAST(:body AS jsonb))",
    "close": "SELECT privclust_close(:run, CAST(:body AS jsonb))",
}
"""The verbs of a server, which any role may be granted; other kinds are its owner's."""
_APPEND_AS_OWNER = "SELECT privclust_chain(:kind, :label, :run, :slot, :body, :fingerprint)"
_INSERT = (
    "INSERT INTO privclust_entries (number, kind, label, run, slot, body, fingerprint, hash) "
    "VALUES (:number, :kind, :label, :run, :slot, :body, :fingerprint, :hash)"
)
_NEWEST = "SELECT number, hash FROM privclust_entries ORDER BY number DESC LIMIT 1"
_SUMS = (
    "SELECT run, kind, sum(quanta), sum(slack), sum(tail), sum(pure), count(pure) = count(*) "
    "FROM privclust_entries WHERE kind IN ('reserve', 'claim', 'close') AND label = :label "
    "GROUP BY kind, run"
)
_ONE_MAKER = "SET LOCAL lock_timeout = '5s'; SELECT pg_advisory_xact_lock(8102654636788053363)"
_BLOCKING = (
    "SELECT DISTINCT pid, usename FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE granted AND relation = to_regclass('privclust_entries') "
    "AND mode <> 'AccessShareLock' AND pid <> pg_backend_pid() ORDER BY 1"
)


class SqlJournal:
    """Entries in a database.

    Parameters
    ----------
    place : str
        Path of a SQLite file, or a URL that starts with ``postgresql://``.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._server = place.startswith("postgresql://")
        self._writes_ahead = False
        if place in ("", ":memory:") or ("://" in place and not self._server):
            raise LedgerError(
                "a ledger cannot be at this place. Give the path of a file, or a URL that starts "
                "with postgresql://."
            )
        if self._server:
            url = address(place)
            if url.password is not None or any("password" in name.lower() for name in url.query):
                raise LedgerError(
                    "a ledger's URL must not hold a password, because models keep their "
                    "parameters. Put it into PGPASSWORD or a .pgpass file."
                )
        else:
            self.place = os.path.abspath(place)  # wherever the process goes from here
            url = sa.URL.create("sqlite", database=self.place)
        options: dict[str, Any] = {} if self._server else {"timeout": BUSY_SECONDS}
        # Transactions are begun by hand, because SQLite's must lock from their first statement.
        try:
            self._engine = sa.create_engine(
                url, isolation_level="AUTOCOMMIT", hide_parameters=True, connect_args=options
            )
        except ImportError:
            raise LedgerError(f"a ledger on a server: {needs_extra('sql')}.") from None
        weakref.finalize(self, self._engine.dispose)  # connections end with the last user
        forks.engines.add(self._engine)
        self._failure: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        if not self._server:
            sa.event.listen(self._engine, "connect", durable)

    def make(self) -> None:
        """Make the table where there is none yet."""
        if not self._server:
            create_private(self.place)
            self._write_ahead()
        with self._transaction(lock=False) as session:
            if self._server:
                session.execute(_ONE_MAKER)
            if not session.has_table():
                for statement in session.schema():
                    session.execute(statement)

    def exists(self) -> bool:
        """Tell whether there is a journal at this place, without making one."""
        path = Path(self.place)
        if not self._server and not path.is_symlink() and not path.is_file():
            return False
        with self._connected() as session:
            return session.has_table()

    @contextmanager
    def writing(self) -> Iterator[Pages]:
        """Keep others out; on leaving, what was appended is on the disk, or not at all."""
        if not self._server and not self._writes_ahead:
            self._write_ahead()  # a copy made by VACUUM INTO does not
            self._writes_ahead = True
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

    @contextmanager
    def _transaction(self, lock: bool = True) -> Iterator[Session]:
        with self._connected() as session:
            session.execute(
                "BEGIN ISOLATION LEVEL READ COMMITTED" if self._server else "BEGIN IMMEDIATE"
            )
            try:
                self._check_files(session)
                if self._server:
                    session.execute("SET LOCAL synchronous_commit = on")
                    if lock:
                        session.execute("SELECT privclust_lock()")
                yield session
                session.execute("COMMIT")
                self._check_files(session)
            except BaseException as error:
                with suppress(self._failure):
                    session.rollback()
                if getattr(error, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
                    raise LedgerError(self._blocked(session)) from None
                raise

    def _check_files(self, session: Session) -> None:
        """Refuse to go on if file or log are no longer those that this connection opened.

        A file that was given a second name can be opened by it, with a log of its own. A process
        that opens and closes the file itself, to copy it, thereby drops its own locks on it
        (POSIX). Others may then take away the log, and with it what is written from then on.
        """
        if self._server:
            return
        if file_identity(self.place) != session.info["file"]:
            session.invalidate()
            raise LedgerError(
                f"another file was put in the place of the ledger {self.place} while in use. Put "
                "the one it was back, together with its companions -wal and -shm, then resume."
            )
        log = _inode(f"{self.place}-wal")
        if log is None or log != session.info.setdefault("log", log):
            session.invalidate()
            raise LedgerError(
                "the ledger's log was taken away while in use, so what was written last may be "
                "missing. Do not open or copy the file while fits run in the same process; back it "
                "up with SQLite's VACUUM INTO. Then resume the fit."
            )

    def _blocked(self, session: Session) -> str:
        """Say who keeps a server's ledger locked."""
        with suppress(self._failure):
            found = [f"{pid} of role {role!r}" for pid, role in session.execute(_BLOCKING)]
            who = f"server process {', '.join(found)}" if found else "another session"
            return (
                f"the ledger was locked by {who} for more than 5 seconds, so nothing was read or "
                "charged. Try again or resume the fit; if the lock stays, have that session end "
                "its transaction, or end it with SELECT pg_terminate_backend(PID)."
            )
        return "the ledger was locked by another session for more than 5 seconds. Try again."

    def _write_ahead(self) -> None:
        """Switch a file to a write-ahead log, which SQLite does not wait for locks to do."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with self._connected() as session:
                    session.execute("PRAGMA journal_mode = WAL")
            except LedgerError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    @contextmanager
    def _connected(self) -> Iterator[Session]:
        if forks.inherited:
            raise LedgerError(
                "a ledger was being written while this process was forked, and SQLite does not "
                "survive that. Start processes with the method 'spawn'."
            )
        file = None if self._server else file_identity(self.place)
        try:
            with closing(self._engine.raw_connection()) as connection:
                session = Session(connection, self._server)
                if not self._server and "file" not in session.info:
                    refuse_mount_point(self.place)
                    session.info["file"] = file
                try:
                    yield session
                except self._failure:
                    session.invalidate()
                    raise
        except UnicodeDecodeError:
            refusal = self._refusal("its names are not text")  # SQLite shows a damaged file's as is
        except self._failure as error:
            # Its first line only: the next may show the entry, a result not stored among them.
            cause = str(error).strip().partition("\n")[0]
            refusal = self._refusal(cause, getattr(error, "sqlstate", None))
        else:
            return
        raise LedgerError(refusal)

    def _refusal(self, cause: str, state: str | None = None) -> str:
        if state == _RAISED:
            return cause
        if state == _NOT_PERMITTED:
            return (
                f"this role may not do that to the ledger {self.place}: {cause}. Its owner creates "
                "data sets, and lets a role fit with what 'privclust ledger grant ROLE' prints."
            )
        check = (
            "address, role and database of the URL, that the role may CONNECT to the database, and "
            "that the server can be reached"
            if self._server
            else "that the path is right, that its disk has space, that this user may write there"
        )
        return (
            f"the ledger {self.place} could not be read or written: {cause}. Check {check}. No "
            "charge is lost; a fit that ended so can be resumed."
        )


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
        return found[0] if found else (0, NOTHING)

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


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


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
