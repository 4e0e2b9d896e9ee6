"""The result of a query as a table: what `privclust.sql` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

from privclust.errors import ParameterError, UnreadableFileError, safe_repr
from privclust.sources.address import (
    SCHEMES,
    check_no_password,
    is_address,
    is_database,
    scheme_of,
)
from privclust.sources.sql.any_driver import PlainSession
from privclust.sources.sql.casts import Cast, check_casts
from privclust.sources.sql.postgresql import PostgresSession
from privclust.sources.sql.query_text import check_repeatable, check_whole, single_query
from privclust.sources.sql.session import Query, Session, connect, driver
from privclust.sources.sql.sqlite import SqliteSession

_KNOWN = ("PostgreSQL", "SQLite")


@dataclass(frozen=True, eq=False)
class SqlTable:
    """The result of a query; estimators take it as they take a path.

    Each fit opens a session of its own and ends it. `privclust.sql` makes one.

    Attributes
    ----------
    query : Query
        What is read.
    """

    query: Query = field(repr=False)
    _connection: Any = field(repr=False)
    _kind: str = field(repr=False)
    _snapshot: str | None = field(default=None, repr=False)

    def open(self) -> Session:
        """Begin to read: nothing is read yet but names and types."""
        given, query, kind = self._connection, self.query, self._kind
        if self._snapshot is not None and kind != "PostgreSQL":
            raise ParameterError(f"snapshot is for PostgreSQL, and this is {kind}. Leave it out.")
        if kind not in _KNOWN:
            return PlainSession(given, query, kind)
        own = _own_connection(given, kind)
        if kind == "PostgreSQL":
            return PostgresSession(own, query, self._snapshot)
        return SqliteSession(own, query)


def sql(
    connection: Any,
    query: str,
    *,
    casts: Mapping[str, Cast] | None = None,
    name: str | None = None,
    snapshot: str | None = None,
) -> SqlTable:
    """Return the result of a query as a table, which every pass of a fit reads in the same state.

    Parameters
    ----------
    connection : str or Connection
        ``postgresql://host/database`` or ``sqlite:///path``, without a password; or a connection
        that an ADBC driver's ``dbapi.connect`` returned. Of PostgreSQL and SQLite a fit opens one
        more connection to the same database. Connections of other databases are used as they are,
        and are not tested.
    query : str
        One query. Each row of its result counts as a row. What changes when it is run again, such
        as ``now()``, and ``LIMIT`` are refused.
    casts : mapping, optional
        By column "number", "text" or "date", where its type in the database does not say what it
        is to be read as. A cell that is not such a thing is missing.
    name : str, optional
        What ledgers and statements call the table, before a hash of the query.
    snapshot : str, optional
        Of PostgreSQL: what ``pg_export_snapshot()`` returned in a transaction that is still open
        and has locked the tables that the query reads (``LOCK TABLE … IN ACCESS SHARE MODE``).

    Returns
    -------
    SqlTable
        What `fit`, `predict` and `profile` take.

    Examples
    --------
    >>> visits = sql("postgresql://db.example/clinic", "SELECT age, income FROM visits")
    >>> visits.query.name
    'query 85353b56b8545260'
    """
    if is_address(connection):
        check_no_password(connection)
        if not is_database(connection):
            raise ParameterError(
                f"addresses of databases begin with {', '.join(f'{one}://' for one in SCHEMES)}. "
                "For others, give what dbapi.connect of their ADBC driver returns."
            )
    elif not hasattr(connection, "adbc_get_info"):
        raise ParameterError(
            "connection must be an address such as postgresql://host/database, or a connection of "
            f"an ADBC driver, such as adbc_driver_sqlite.dbapi.connect(...); got "
            f"{'a text' if isinstance(connection, str) else safe_repr(connection)}."
        )
    kind = SCHEMES[scheme_of(connection)] if isinstance(connection, str) else _vendor(connection)
    text = single_query(query, kind)
    check_repeatable(text, kind)
    check_whole(text, kind)
    hashed = f"query {sha256(text.encode()).hexdigest()[:16]}"
    called = hashed if name is None else f"{name}, {hashed}"
    return SqlTable(Query(text, called, check_casts(casts)), connection, kind, snapshot)


def _vendor(connection: Any) -> str:
    return str(connection.adbc_get_info().get("vendor_name") or "unknown database")


def _own_connection(given: Any, kind: str) -> Any:
    """Return a connection that has done nothing yet."""
    if not isinstance(given, str):
        return given.adbc_clone()
    if kind == "PostgreSQL":
        return connect(driver("adbc_driver_postgresql.dbapi"), given)
    path = given.partition("://")[2]
    place = path.removeprefix("/") if not path.startswith("//") else path[1:]
    if not place:
        raise ParameterError(
            "the address names no file. Type sqlite:///relative/path or sqlite:////absolute/path."
        )
    if not Path(place).is_file():
        raise UnreadableFileError(
            f"there is no SQLite file {Path(place).name!r} at this address. Of an absolute path, "
            "four slashes come before it: sqlite:////data/clinic.db."
        )
    return connect(driver("adbc_driver_sqlite.dbapi"), f"file:{quote(place)}?mode=ro")
