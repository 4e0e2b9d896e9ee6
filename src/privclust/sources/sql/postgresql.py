"""Queries of PostgreSQL: one read-only transaction whose snapshot lasts for the whole fit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa

from privclust.errors import ParameterError, SnapshotError
from privclust.sources.cells import Kind
from privclust.sources.frames import arrow_schema
from privclust.sources.schema import Schema
from privclust.sources.sql.casts import CASTS_HINT, cast_schema
from privclust.sources.sql.plans import check_plan
from privclust.sources.sql.session import (
    Query,
    Session,
    quoted,
    read_batches,
    refusing_query,
)

_PLAINLY = {"adbc.postgresql.use_copy": "false"}
"""Statements that are no queries cannot be copied out."""
_TYPE = b"POSTGRESQL:type"
_KINDS: dict[str, Kind] = {"numeric": "number", "uuid": "text", "money": "other", "oid": "other"}
"""Of types that Arrow does not know, or that arrive as something else than they are."""
_SERVER = (
    "SELECT d.datname::text, concat_ws(' ', d.oid, d.datname, inet_server_addr(), "
    "inet_server_port(), pg_postmaster_start_time()) FROM pg_database d "
    "WHERE d.datname = current_database()"
)
"""The database, and what tells this start of its server from others."""
_EXPORTED = re.compile(r"([0-9A-F]{8,})-([0-9A-F]{8,})-[0-9]+")
"""What an exported snapshot is called: by the transaction that holds it, as pg_locks has it."""
_NOT_HELD = """
SELECT count(*) FROM pg_lock_status() o JOIN pg_class c ON c.oid = o.relation
WHERE o.locktype = 'relation' AND o.pid = pg_backend_pid()
AND c.relkind IN ('r', 'p', 'm') AND c.relnamespace <> 'pg_catalog'::regnamespace
AND NOT EXISTS (
    SELECT FROM pg_lock_status() h
    WHERE h.locktype = 'relation' AND h.database = o.database AND h.relation = o.relation
    AND h.virtualtransaction = '{}/{}'
)"""
"""How many tables that the query reads are not locked by that transaction."""
_DAYS = ("0001-01-01", "9999-12-31")
_CLIPPED = {"date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ"}


class PostgresSession(Session):
    """A read-only transaction of PostgreSQL, at the level REPEATABLE READ.

    Parameters
    ----------
    connection : Connection
        One of our own, which has done nothing yet.
    query : Query
        What is read.
    snapshot : str, optional
        A snapshot that another transaction exported and still holds.
    """

    _held_by = "one REPEATABLE READ transaction"

    def __init__(self, connection: Any, query: Query, snapshot: str | None = None) -> None:
        super().__init__(connection, query, "PostgreSQL")
        self._keep(connection)
        self._exported = snapshot
        with refusing_query():
            self._begin(snapshot)
            ((database, self._server),) = self._rows(_SERVER, _PLAINLY)
            declared = self._declared_types()
            self._snapshot = self._state()
            check_plan(query, lambda statement: self._rows(statement, _PLAINLY))
            if snapshot is not None:
                self._check_held(snapshot)
        self._database = f"database {database}"
        self._pg_types = {one.name: _type_name(one) for one in declared}
        self.types = pa.schema([pa.field(one.name, _plain_type(one.type)) for one in declared])
        self.schema = cast_schema(self._kinds(declared), query.casts)

    @property
    def identity(self) -> str | None:
        """Name the exported snapshot that was typed, and what is read of it."""
        # Numbers of transactions would tell states apart without it, but count what was written.
        if self._exported is None:
            return None
        read = (self._exported, self._query.text, sorted(self._query.casts.items()))
        return f"{self._server} {read!r}"

    def _begin(self, snapshot: str | None) -> None:
        self._rows("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY", _PLAINLY)
        if snapshot is not None:
            if not _EXPORTED.fullmatch(snapshot):
                raise ParameterError(
                    "snapshot must be what pg_export_snapshot() returned, such as "
                    "'00000003-0000001B-1'."
                )
            self._adopt(snapshot)
        # A query that turns times into days would otherwise follow the account's own zone.
        self._rows("SET LOCAL TIME ZONE 'UTC'", _PLAINLY)
        # In another encoding, one text that it lacks would end the fit.
        self._rows("SET LOCAL client_encoding = 'UTF8'", _PLAINLY)
        # Otherwise the server would read other literals than we do.
        self._rows("SET LOCAL standard_conforming_strings = on", _PLAINLY)

    def _adopt(self, snapshot: str) -> None:
        with suppress(Exception):
            self._rows(f"SET TRANSACTION SNAPSHOT '{snapshot}'", _PLAINLY)
            return
        raise ParameterError(
            "the server has no such snapshot of this database: the session that exported it has "
            "ended, or is one of another database. Export one again for a new fit."
        )

    def _check_held(self, snapshot: str) -> None:
        """Refuse a snapshot without locks: TRUNCATE empties a table for older snapshots too."""
        holder = (int(part, 16) for part in snapshot.split("-")[:2])
        ((unlocked,),) = self._rows(_NOT_HELD.format(*holder), _PLAINLY)
        if unlocked:
            raise ParameterError(
                "the session that exported the snapshot does not hold all tables that the query "
                "reads: TRUNCATE, ALTER TABLE or a new partition could change what a resumed fit "
                "finds there. Type LOCK TABLE visits IN ACCESS SHARE MODE in that session, with "
                "the tables or views of the query, after BEGIN."
            )

    def _declared_types(self) -> Any:
        cursor = self._connection.cursor()
        try:
            return cursor.adbc_execute_schema(self._query.selecting(["*"]))
        finally:
            cursor.close()

    def _state(self) -> str:
        """Return which transactions this one sees, which nothing outside of the session learns."""
        ((found,),) = self._rows("SELECT pg_current_snapshot()::text", _PLAINLY)
        return str(found)

    def _kinds(self, declared: Any) -> Schema:
        found = arrow_schema(pa.schema([pa.field(one.name, one.type) for one in declared]))
        kinds = tuple(
            _KINDS.get(_type_name(one), kind)
            for one, kind in zip(declared, found.kinds, strict=True)
        )
        return replace(found, kinds=kinds, hint=CASTS_HINT)

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        self._check_same()
        statement = self._query.selecting([self._expression(name) for name in columns])
        types = pa.schema([self.types.field(name) for name in columns])
        try:
            for batch in read_batches(self._connection, statement, {}):
                arrays = [_plain_column(column) for column in batch.columns]
                yield pa.record_batch(arrays, schema=types)
        except Exception:
            # Which of both it is does not depend on rows, unlike what the error would say.
            self._check_same()
            raise

    def _check_same(self) -> None:
        from adbc_driver_manager import OperationalError

        try:
            same = self._state() == self._snapshot
        except OperationalError:
            same = False
        if not same:
            raise SnapshotError("cut")

    def _expression(self, name: str) -> str:
        """Return what is selected for a column: days that a driver could not hold, clipped."""
        column = quoted(name)
        kind = _CLIPPED.get(self._pg_types[name])
        if kind is None:
            return column
        first, last = (f"{kind} '{day}'" for day in _DAYS)
        return (
            f"CASE WHEN {column} < {first} THEN {first} WHEN {column} > {last} THEN {last} "
            f"ELSE {column} END AS {column}"
        )


def _type_name(field: Any) -> str:
    return str((field.metadata or {}).get(_TYPE, b"").decode("utf-8", "replace"))


def _plain_type(declared: Any) -> Any:
    return getattr(declared, "storage_type", declared)


def _plain_column(column: Any) -> Any:
    return getattr(column, "storage", column)
