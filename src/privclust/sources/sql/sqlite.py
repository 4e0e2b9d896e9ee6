"""Queries of SQLite: a read transaction, and types that columns declare and cells need not have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from privclust.sources.cells import Kind
from privclust.sources.schema import Schema
from privclust.sources.sql.casts import CASTS_HINT, Cast, cast_schema
from privclust.sources.sql.query_text import check_whole, refuse_changing
from privclust.sources.sql.session import Query, Session, quoted, read_batches, refusing_query
from privclust.sources.sql.tokens import Token, readings

_VIEW = "privclust_types"
_NUMBER = "CASE typeof({0}) WHEN 'real' THEN {0} WHEN 'integer' THEN CAST({0} AS REAL) END"
_TEXT = "CASE typeof({0}) WHEN 'text' THEN {0} END"


class _Read(NamedTuple):
    """How cells of a kind are read: one of them, what is missing where one is not, their type."""

    cell: str
    expression: str
    type: Any


_READ: dict[Kind, _Read] = {
    "integer": _Read("0", "CASE typeof({0}) WHEN 'integer' THEN {0} END", pa.int64()),
    "number": _Read("0.5", _NUMBER, pa.float64()),
    "text": _Read("'x'", _TEXT, pa.string()),
    "date": _Read("'x'", _TEXT, pa.string()),
    "other": _Read("'x'", "NULL", pa.string()),
}
_AFFINITIES: tuple[tuple[str, Kind], ...] = (
    ("INT", "integer"),
    ("CHAR|CLOB|TEXT", "text"),
    ("REAL|FLOA|DOUB|DECIMAL|NUMERIC|BOOL", "number"),
)
"""As SQLite reads declarations, in this order. Others need a cast."""
_DATES = {"date", "time", "datetime", "julianday", "unixepoch", "strftime", "timediff"}
_DETERMINISTIC = 0x800


class SqliteSession(Session):
    """A read transaction of SQLite.

    The driver takes the types of columns from the first rows. A first row of ours, which is left
    out, tells it the declared ones; a cell of another type is missing.

    Parameters
    ----------
    connection : Connection
        One of our own, which has done nothing yet.
    query : Query
        What is read.
    """

    _held_by = "one read transaction"

    def __init__(self, connection: Any, query: Query) -> None:
        super().__init__(connection, query, "SQLite")
        self._keep(connection)
        with refusing_query():
            files = self._rows("SELECT file FROM pragma_database_list WHERE name = 'main'")
            self._database = Path(str(files[0][0] or "in memory")).name
            self._rows(f"CREATE TEMP VIEW {_VIEW} AS {query.text}\n")
            declared = self._rows(f"SELECT name, type FROM pragma_table_info('{_VIEW}')")
            self._rows("PRAGMA query_only = ON")
            self._check_program()
            self._check_texts()
            self._rows("SELECT count(*) FROM sqlite_master")  # from here on the state is held
        names = [str(name) for name, _ in declared]
        self._read: dict[str, Kind] = {
            name: _kind(str(kind), query.casts.get(name))
            for name, (_, kind) in zip(names, declared, strict=True)
        }
        plain = Schema(_undoubled(names), tuple(self._read.values()), hint=CASTS_HINT)
        self.schema = cast_schema(plain, query.casts)
        self.types = pa.schema([(name, _READ[kind].type) for name, kind in self._read.items()])

    def _check_program(self) -> None:
        """Refuse what changes, also where views hide it: the program calls their functions."""
        rows = self._rows(f"EXPLAIN SELECT * FROM {_VIEW}")
        constants = [str(row[5]).lower() for row in rows if row[5] is not None]
        calls = {text.partition("(")[0] for text in constants if "(" in text}
        changing = self._rows(
            "SELECT DISTINCT name FROM pragma_function_list "
            f"WHERE flags & {_DETERMINISTIC} = 0 AND type = 's'"
        )
        refuse_changing(calls & {str(name) for (name,) in changing})
        if calls & _DATES and "now" in constants:
            refuse_changing(["'now'"])

    def _check_texts(self) -> None:
        """Refuse what a program does not show, in the query and in all views that it may read."""
        kept = self._rows("SELECT name, sql FROM sqlite_master WHERE type = 'view'")
        views = {str(name).lower(): str(text) for name, text in kept}
        waiting = [self._query.text]
        while waiting:
            text = waiting.pop()
            check_whole(text, "SQLite")
            (tokens,) = readings(text, "SQLite")
            refuse_changing(_dates_of_now(tokens))
            # Literals name tables too, and a column may be called as a view is.
            names = {one.text.lower() for one in tokens if one.part != "mark"}
            waiting += [views.pop(name) for name in names & set(views)]

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        reads = [_READ[self._read[name]] for name in columns]
        named = [
            f"{read.cell} AS {quoted(name)}" for read, name in zip(reads, columns, strict=True)
        ]
        chosen = [
            read.expression.format(quoted(name)) for read, name in zip(reads, columns, strict=True)
        ]
        rows = self._query.selecting(chosen)
        types, waiting = pa.schema([self.types.field(name) for name in columns]), 1
        for batch in read_batches(
            self._connection, f"SELECT {', '.join(named)} UNION ALL {rows}", {}
        ):
            if batch.num_rows:
                yield pa.record_batch(batch.slice(waiting).columns, schema=types)
                waiting = 0


def _dates_of_now(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield functions that are called without a time, and then take the one that it is.

    Examples
    --------
    >>> list(_dates_of_now(readings("SELECT date(), date(d), strftime('%Y')", "SQLite")[0]))
    ['date()', 'strftime()']
    """
    marks = [one.text if one.part == "mark" else "" for one in tokens]
    for place, one in enumerate(tokens):
        name = one.text.lower()
        format_parts = 1 if name == "strftime" else 0
        following = marks[place + 1 : place + 3 + format_parts]
        if name in _DATES and following in (["(", ")"], ["(", "", ")"]):
            yield f"{name}()"


def _kind(declared: str, cast: Cast | None) -> Kind:
    """Return what cells are read as: what their column declares, or else what the user does.

    Examples
    --------
    >>> _kind("VARCHAR(5)", None), _kind("REAL", None), _kind("DATE", "date"), _kind("", None)
    ('text', 'number', 'date', 'other')
    """
    for names, kind in _AFFINITIES:
        if re.search(names, declared.upper()):
            return kind
    return cast or "other"


def _undoubled(names: Sequence[str]) -> tuple[str, ...]:
    """Return names as the query has them: SQLite adds a number to those that it has twice.

    Examples
    --------
    >>> _undoubled(["a", "a:1", "b"])
    ('a', 'a', 'b')
    """
    bases = [(name, name.rpartition(":")) for name in names]
    return tuple(
        base if base in names and number.isdigit() else name for name, (base, _, number) in bases
    )
