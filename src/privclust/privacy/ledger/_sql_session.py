"""Connections to the two databases that hold ledgers, and what a fork does to them."""

from __future__ import annotations

import os
import re
import weakref
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError

from privclust.privacy.ledger.journal import LedgerError


class Session:
    """A connection to either database.

    Statements go to the driver as they are: with SQLAlchemy between, they took longer to put
    together than to run.
    """

    def __init__(self, connection: Any, server: bool) -> None:
        self._connection = connection
        self.server = server
        self.info: dict[str, Any] = connection.info
        self.invalidate = connection.invalidate

    def execute(self, statement: str, values: Mapping[str, Any] | None = None) -> list[Any]:
        """Run one statement, whose parameters are written ``:name``, and return its rows."""
        with closing(self._connection.cursor()) as cursor:
            if self.server:
                cursor.execute(_for_server(statement) if values else statement, values)
            else:
                cursor.execute(statement, values or ())
            return cursor.fetchall() if cursor.description else []

    def rollback(self) -> None:
        """Undo what this transaction did, unless the connection was given up."""
        if self._connection.is_valid:
            self.execute("ROLLBACK")

    def has_table(self, name: str) -> bool:
        """Tell whether there is a table of this name."""
        if self.server:
            ((found,),) = self.execute("SELECT to_regclass(:name) IS NOT NULL", {"name": name})
            return bool(found)
        tables = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name"
        return bool(self.execute(tables, {"name": name}))


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


forks = _Forks()


def address(place: str) -> sa.URL:
    """Return the parts of a server's URL."""
    try:
        return sa.make_url(place).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise LedgerError(
            "this URL cannot be understood. It looks like postgresql://user@host:5432/database."
        ) from None


def durable(connection: Any, record: object) -> None:
    """Have SQLite wait for the disk."""
    cursor = connection.cursor()
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


@cache
def _for_server(statement: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", statement)
