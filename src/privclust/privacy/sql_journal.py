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
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from privclust.errors import needs_extra
from privclust.privacy.journal import (
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
QUESTION_MAX = 2**28
"""Bytes of a question; no more are unpacked, whatever a file claims to hold."""
_LOCK = 0x7072_6976_636C_7573
"""Name of the lock that writers take on a PostgreSQL server: "privclus"."""

_METADATA = sa.MetaData()
_ENTRIES = sa.Table(
    "privclust_entries",
    _METADATA,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("run", sa.Text, nullable=False, index=True),
    sa.Column("slot", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("question", sa.LargeBinary, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.UniqueConstraint("kind", "label", "run", "slot"),
)

_NEWEST = sa.select(_ENTRIES.c.number, _ENTRIES.c.hash).order_by(_ENTRIES.c.number.desc()).limit(1)
_ADD = sa.insert(_ENTRIES)

_REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is only ever appended to'); END"
_APPEND_ONLY = {
    "sqlite": [
        f"CREATE TRIGGER privclust_no_update BEFORE UPDATE ON privclust_entries {_REFUSE}",
        f"CREATE TRIGGER privclust_no_delete BEFORE DELETE ON privclust_entries {_REFUSE}",
        # INSERT OR REPLACE deletes rows without telling the trigger for deletes.
        "CREATE TRIGGER privclust_no_replace BEFORE INSERT ON privclust_entries WHEN NEW.number <= "
        "(SELECT max(number) FROM privclust_entries) OR EXISTS (SELECT 1 FROM privclust_entries "
        "WHERE (kind, label, run, slot) = (NEW.kind, NEW.label, NEW.run, NEW.slot)) " + _REFUSE,
    ],
    "postgresql": [
        "CREATE FUNCTION privclust_refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'a ledger is only ever appended to'; END $$",
        "CREATE TRIGGER privclust_append_only BEFORE UPDATE OR DELETE OR TRUNCATE "
        "ON privclust_entries FOR EACH STATEMENT EXECUTE FUNCTION privclust_refuse()",
    ],
}


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
        if place in ("", ":memory:") or ("://" in place and not self._server):
            raise LedgerError(
                "this is no place for a ledger. Give the path of a file, or a URL that starts with "
                "postgresql://."
            )
        if self._server:
            url = _address(place)
            if url.password is not None or any("password" in name for name in url.query):
                raise LedgerError(
                    "a ledger's URL must not hold a password, because models keep their "
                    "parameters. Put it into PGPASSWORD or a .pgpass file."
                )
        else:
            url = sa.URL.create("sqlite", database=place)
        options: dict[str, Any] = {} if self._server else {"timeout": BUSY_SECONDS}
        # Transactions are begun by hand, because SQLite's must lock from their first statement.
        try:
            self._engine = sa.create_engine(
                url, isolation_level="AUTOCOMMIT", hide_parameters=True, connect_args=options
            )
        except ImportError:
            raise LedgerError(f"a ledger on a server: {needs_extra('sql')}.") from None
        weakref.finalize(self, self._engine.dispose)  # connections end with the last user
        _forks.engines.add(self._engine)
        if not self._server:
            sa.event.listen(self._engine, "connect", _durable)

    def make(self) -> None:
        """Make the table where there is none yet."""
        if not self._server:
            self._write_ahead()
        with self._transaction() as connection:
            if not sa.inspect(connection).has_table(_ENTRIES.name):
                _METADATA.create_all(connection)
                for statement in _APPEND_ONLY[self._engine.dialect.name]:
                    connection.exec_driver_sql(statement)

    def exists(self) -> bool:
        """Tell whether there is a journal at this place, without making one."""
        if not self._server and not Path(self.place).is_file():
            return False
        with self._connected() as connection:
            return sa.inspect(connection).has_table(_ENTRIES.name)

    @contextmanager
    def writing(self) -> Iterator[Pages]:
        """Keep others out; on leaving, what was appended is on the disk, or not at all."""
        with self._transaction() as connection:
            yield _SqlPages(connection)

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """Read one consistent state."""
        with self._connected() as connection:
            connection.exec_driver_sql(
                "BEGIN ISOLATION LEVEL REPEATABLE READ" if self._server else "BEGIN"
            )
            try:
                yield _SqlPages(connection)
            finally:
                connection.exec_driver_sql("ROLLBACK")

    def ailments(self) -> list[str]:
        """Return what the place itself finds wrong with its storage."""
        if self._server:
            return []
        with self._connected() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        return [] if found == ["ok"] else [f"SQLite: {text}" for text in found]

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with self._connected() as connection:
            connection.exec_driver_sql(
                "BEGIN ISOLATION LEVEL READ COMMITTED" if self._server else "BEGIN IMMEDIATE"
            )
            try:
                self._check_log(connection)
                if self._server:
                    connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
                    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{BUSY_SECONDS}s'")
                    connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
                yield connection
                connection.exec_driver_sql("COMMIT")
                self._check_log(connection)
            except BaseException:
                with suppress(SQLAlchemyError):
                    connection.exec_driver_sql("ROLLBACK")
                raise

    def _check_log(self, connection: sa.Connection) -> None:
        """Refuse to go on if the log this connection writes to is no longer the file's own.

        A process that opens and closes the file itself, to copy it, thereby drops its own locks on
        it (POSIX). Others may then take away the log, and with it what is written from then on.
        """
        if self._server:
            return
        log = _inode(f"{self.place}-wal")
        if log is None or log != connection.info.setdefault("log", log):
            connection.invalidate()
            raise LedgerError(
                "the ledger's log was taken away while in use, so what was written last may be "
                "missing. Do not open or copy the file while fits run in the same process; back it "
                "up with SQLite's VACUUM INTO. Then resume the fit."
            )

    def _write_ahead(self) -> None:
        """Switch a new file to a write-ahead log, which SQLite does not wait for locks to do."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                with self._connected() as connection:
                    connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            except LedgerError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    @contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        cause: str | None = None
        if _forks.inherited:
            raise LedgerError(
                "a ledger was being written while this process was forked, and SQLite does not "
                "survive that. Start processes with the method 'spawn'."
            )
        try:
            with self._engine.connect() as connection:
                yield connection
        except UnicodeDecodeError:
            cause = "its names are no text"  # SQLite shows those of a damaged file as they are
        except SQLAlchemyError as error:
            # Its first line only: the next may show the entry, an answer not stored among them.
            cause = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        if cause is not None:
            raise LedgerError(
                f"the ledger {self.place} could not be read or written: {cause}. Check that the "
                "path is right, that its disk has room and that this user may write there, or that "
                "the server can be reached. No charge is lost; a fit that ended so can be resumed."
            )


class _SqlPages:
    """One transaction's view of the entries."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def lines(self, *kinds: Kind, **where: str) -> list[Line]:
        """Return lines in order, without questions: of some kinds; of a label, run or slot."""
        found = self._connection.execute(_lines_of(kinds, tuple(sorted(where))), where)
        return [
            Line(number, Entry(kind, label, run, slot, _parsed(number, body)), line_hash)
            for number, kind, label, run, slot, body, line_hash in found
        ]

    def question(self, number: int) -> bytes | None:
        """Return the question of one line, if it was kept."""
        wanted = sa.select(_ENTRIES.c.question).where(_ENTRIES.c.number == number)
        stored = self._connection.execute(wanted).scalar_one()
        return zlib.decompressobj().decompress(stored, QUESTION_MAX)

    def head(self) -> tuple[int, str]:
        """Return number and hash of the last line."""
        last = self._connection.execute(_NEWEST).first()
        return (0, NOTHING) if last is None else (last.number, last.hash)

    def append(self, entry: Entry) -> None:
        """Write one entry at the end."""
        line = chained(*self.head(), entry)
        values = {
            "number": line.number,
            "kind": entry.kind,
            "label": entry.label,
            "run": entry.run,
            "slot": entry.slot,
            "body": json.dumps(dict(entry.body)),
            "question": zlib.compress(entry.question, 1),
            "hash": line.hash,
        }
        self._connection.execute(_ADD, values)


class _Forks:
    """Sees to it that a forked process inherits no connection.

    Locks of SQLite and the protocol of a server belong to one process. Connections that are idle
    are closed before a fork; if one was in use, the new process may use no ledger.
    """

    def __init__(self) -> None:
        self.engines: weakref.WeakSet[sa.Engine] = weakref.WeakSet()
        self.inherited = False
        self._in_use = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before, after_in_child=self._in_child)

    def _before(self) -> None:
        pools = [engine.pool for engine in self.engines]
        self._in_use = any(isinstance(pool, sa.QueuePool) and pool.checkedout() for pool in pools)
        for engine in list(self.engines):
            engine.dispose()

    def _in_child(self) -> None:
        self.inherited = self.inherited or self._in_use


_forks = _Forks()


def _address(place: str) -> sa.URL:
    try:
        return sa.make_url(place).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise LedgerError(
            "this URL cannot be understood. It looks like postgresql://user@host:5432/database."
        ) from None


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
        raise EntryError(f"entry {number!r} of the ledger cannot be read: its body is no object.")
    return content


@cache
def _lines_of(kinds: tuple[Kind, ...], where: tuple[str, ...]) -> sa.Select[Any]:
    # Kept, because SQLAlchemy takes longer to put a statement together than SQLite to run it.
    columns = [column for column in _ENTRIES.c if column.name != "question"]
    wanted = sa.select(*columns).order_by(_ENTRIES.c.number)
    if kinds:
        wanted = wanted.where(_ENTRIES.c.kind.in_(kinds))
    for name in where:
        wanted = wanted.where(_ENTRIES.c[name] == sa.bindparam(name))
    return wanted


def _durable(connection: Any, record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()
