"""One database that holds tables of ours: a SQLite file, or a PostgreSQL server for many machines.

A ledger's entries are one such table, the jobs of a node another. Every write is one transaction
that keeps other writers of the table out.
"""

from __future__ import annotations

import os
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import sqlalchemy as sa

from privclust.errors import needs_extra
from privclust.privacy.ledger._file import create_private, file_identity, refuse_mount_point
from privclust.privacy.ledger._sql_session import Session, address, durable, forks
from privclust.privacy.ledger.journal import LedgerError

BUSY_SECONDS = 60
"""How long SQLite is tried again for a lock; a server's verbs wait for 5 seconds (server.sql)."""

_LOCK_NOT_AVAILABLE, _NOT_PERMITTED, _RAISED = "55P03", "42501", "P0001"
"""What PostgreSQL calls a lock that others keep, a missing right, and our own refusals."""

_ONE_MAKER = "SET LOCAL lock_timeout = '5s'; SELECT pg_advisory_xact_lock(8102654636788053363)"
_BLOCKING = (
    "SELECT DISTINCT pid, usename FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE granted AND relation = to_regclass(:table) "
    "AND mode <> 'AccessShareLock' AND pid <> pg_backend_pid() ORDER BY 1"
)


class Database(ABC):
    """A table in the database of a ledger.

    Parameters
    ----------
    place : str
        Path of a SQLite file, or a URL that starts with ``postgresql://``.
    """

    _table: ClassVar[str]
    _lock: ClassVar[str]
    """What a transaction on a server runs first, to keep other writers out."""

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
        with self._transaction(lock=False) as session:
            if self._server:
                session.execute(_ONE_MAKER)
            if not session.has_table(self._table):
                for statement in self._schema(session):
                    session.execute(statement)

    def exists(self) -> bool:
        """Tell whether there is a table at this place, without making one."""
        path = Path(self.place)
        if not self._server and not path.is_symlink() and not path.is_file():
            return False
        with self._connected() as session:
            return session.has_table(self._table)

    @abstractmethod
    def _schema(self, session: Session) -> tuple[str, ...]:
        """Return the statements that make the table."""

    @contextmanager
    def _transaction(self, lock: bool = True) -> Iterator[Session]:
        if not self._server and not self._writes_ahead:
            self._write_ahead()
            self._writes_ahead = True
        with self._connected() as session:
            session.execute(
                "BEGIN ISOLATION LEVEL READ COMMITTED" if self._server else "BEGIN IMMEDIATE"
            )
            try:
                self._check_files(session)
                if self._server:
                    session.execute("SET LOCAL synchronous_commit = on")
                    if lock:
                        session.execute(self._lock)
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
            found = [
                f"{pid} of role {role!r}"
                for pid, role in session.execute(_BLOCKING, {"table": self._table})
            ]
            who = f"server process {', '.join(found)}" if found else "another session"
            return (
                f"the ledger was locked by {who} for more than 5 seconds, so nothing was read or "
                "charged. Try again or resume the fit; if the lock stays, have that session end "
                "its transaction, or end it with SELECT pg_terminate_backend(PID)."
            )
        return "the ledger was locked by another session for more than 5 seconds. Try again."

    def _write_ahead(self) -> None:
        """Switch a file to a write-ahead log, which SQLite does not wait for locks to do.

        A new one, or a copy that was made by VACUUM INTO.
        """
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
        except (self._failure, sa.exc.DBAPIError) as error:
            # SQLAlchemy wraps what fails when it first asks a server for its version.
            found = error.orig if isinstance(error, sa.exc.DBAPIError) else error
            # Its first line only: the next may show the entry, a result not stored among them.
            cause = str(found).strip().partition("\n")[0]
            refusal = self._refusal(cause, getattr(found, "sqlstate", None))
        else:
            return
        raise LedgerError(refusal)

    def _refusal(self, cause: str, state: str | None = None) -> str:
        if state == _RAISED:
            return cause
        if state == _NOT_PERMITTED:
            return (
                f"this role may not do that to the ledger {self.place}: {cause}. Its owner creates "
                "data sets, and lets a role fit with what 'privclust ledger grant ROLE' prints. "
                "For the role of a node, the owner runs 'privclust node init POLICY --ledger URL', "
                "then what 'privclust node grant ROLE' prints."
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


def _inode(path: str) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None
