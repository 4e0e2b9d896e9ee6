"""A session with a database, in which every pass of a fit sees the same rows."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from privclust.domains.origin import Origin, printable
from privclust.errors import ParameterError, SnapshotError, needs_extra
from privclust.sources.schema import Schema
from privclust.sources.snapshot import Snapshot
from privclust.sources.sql.casts import Cast
from privclust.sources.sql.spool import Spool

INSIDE = "privclust_rows"
"""What a user's query is called inside of ours."""


@dataclass(frozen=True)
class Query:
    """What is read.

    Attributes
    ----------
    text : str
        One query.
    name : str
        What a ledger calls its result.
    casts : mapping
        What columns are to be read as where their types do not say it.
    """

    text: str
    name: str
    casts: Mapping[str, Cast] = field(default_factory=dict)

    def selecting(self, expressions: Sequence[str]) -> str:
        """Return a query of these expressions over the rows of this one."""
        # On lines of its own, because it may end in a comment.
        return f"SELECT {', '.join(expressions)} FROM (\n{self.text}\n) AS {INSIDE}"


class Session(Snapshot):
    """What an engine reads a query's rows from, again and again.

    Attributes
    ----------
    schema : Schema
        The columns, as they are declared.
    types : pyarrow.Schema
        The types in which batches have them.
    """

    schema: Schema
    types: Any
    _database = ""
    """What the database is called, without its place."""
    _held_by: ClassVar[str]
    """What holds rows still, in words."""
    _is_lost = False

    def __init__(self, connection: Any, query: Query, kind: str) -> None:
        self._connection, self._query, self._kind = connection, query, kind
        self._spool = Spool()

    @property
    def origin(self) -> Origin:
        """Which rows these are, without a salted hash."""
        called = [self._database, self._query.name]
        name = ", ".join(printable(one) for one in called if one)
        return Origin(printable(self._kind), name, self._held_by)

    @property
    def identity(self) -> str | None:
        """None: a state of a database is gone when nobody holds it."""
        return None

    def restore(self, identity: str | None) -> None:
        """Read on only if the state of the database is the same as it was then."""
        self._is_lost = identity is None or identity != self.identity

    def stream(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield batches that have these columns, of the query or of what was kept of it."""
        if self._is_lost:
            raise SnapshotError("lost")
        yield from self._spool.batches(self._batches, columns)

    @abstractmethod
    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Run the query once more."""

    def _rows(self, statement: str, options: Mapping[str, str] | None = None) -> list[Any]:
        """Return what a statement about the query, and not about its rows, gives."""
        with cursor_of(self._connection, options) as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def _keep(self, connection: Any) -> None:
        """Close a connection of our own when the fit ends, in whatever way."""
        self._finalizer = weakref.finalize(self, partial(_end, connection))

    def close(self) -> None:
        """End the transaction, and throw away what was kept."""
        self._spool.close()
        if hasattr(self, "_finalizer"):
            self._finalizer()


@contextmanager
def cursor_of(connection: Any, options: Mapping[str, str] | None = None) -> Iterator[Any]:
    """Open a cursor and close it; its connection cannot be closed before."""
    cursor = connection.cursor(adbc_stmt_kwargs=dict(options)) if options else connection.cursor()
    try:
        yield cursor
    finally:
        cursor.close()


def read_batches(connection: Any, statement: str, options: Mapping[str, str]) -> Iterator[Any]:
    """Run a statement and yield its rows as they arrive.

    The cursor lives as long as the stream, which some drivers end with it.
    """
    with cursor_of(connection, options) as cursor:
        cursor.execute(statement)
        reader = cursor.fetch_record_batch()
        try:
            yield from reader
        finally:
            reader.close()


@contextmanager
def refusing_query() -> Iterator[None]:
    """Say what a database finds wrong with a query before any row is read."""
    cause = None
    try:
        yield
    except (ParameterError, TypeError, ValueError, ImportError):
        raise
    except Exception as error:
        cause = _first_line(error)
    if cause is not None:
        raise ParameterError(f"the database refuses the query: {cause}. Try it there first.")


def driver(name: str) -> Any:
    """Import a driver, or say how to install it."""
    try:
        return import_module(name)
    except ImportError:
        missing = f"{needs_extra('adbc')}."
    raise ImportError(missing)


def connect(module: Any, address: str) -> Any:
    """Open a connection, or say why that fails, without the address."""
    try:
        return module.connect(address)
    except Exception as error:
        cause = _first_line(error).replace(address, "this address")
    raise ConnectionError(
        f"no connection to the database: {cause}. Check address, account and rights; passwords are "
        "looked for in the driver's own places."
    )


def quoted(name: str) -> str:
    """Return a name as SQL writes it.

    Examples
    --------
    >>> quoted("select")
    '"select"'
    """
    return '"' + name.replace('"', '""') + '"'


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    for mark in ("ERROR:", "FATAL:", "[libpq]", "[SQLite]"):
        text = text.rpartition(mark)[2].strip()
    return text.rstrip(".")


def _end(connection: Any) -> None:
    with suppress(Exception):  # it may be gone already
        connection.rollback()
    with suppress(Exception):
        connection.close()
