"""Queries of databases that are not among those we test: their connections, as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any, NoReturn

import pyarrow as pa

from privclust.errors import EngineError, Message, Parameter, ParameterError
from privclust.sources.frames import arrow_schema
from privclust.sources.guard import guarded
from privclust.sources.sql.casts import CASTS_HINT, cast_schema
from privclust.sources.sql.query_text import refuse_changing, refuse_cutting
from privclust.sources.sql.session import Query, Session, cursor_of, read_batches
from privclust.sources.sql.tokens import calls_in, readings, words_in

_CHANGING_CALLS = {
    *("today", "uuid", "uuid_string", "curdate", "curtime", "get_current_timestamp", "sample"),
    *("get_current_time", "current_date", "current_time", "current_timestamp", "sysdatetime"),
}
_PIVOTS = {"pivot", "pivot_wider"}
_GUESSING = ("CSV", "JSON", "XLSX")
"""Parts of what DuckDB calls its readers of files that declare no types."""


class PlainSession(Session):
    """A user's own connection of any ADBC driver.

    Nothing is begun, ended or set there. The rows are read once, before the first pass, and kept
    for all passes. Our query is around the user's, so that nothing but a query is run.

    Parameters
    ----------
    connection : Connection
        The user's.
    query : Query
        What is read.
    kind : str
        What the driver calls the database.
    """

    _held_by = "as the database gave them once"

    def __init__(self, connection: Any, query: Query, kind: str) -> None:
        super().__init__(connection, query, kind)
        _check_text(query.text, kind)
        self._statement = query.selecting(["*"])
        if kind.lower() == "duckdb":
            _check_plan(connection, self._statement)
        declared = _declared_types(connection, self._statement)
        self.types = pa.schema([pa.field(one.name, one.type) for one in declared])
        plain = replace(arrow_schema(self.types), hint=CASTS_HINT)
        self.schema = cast_schema(plain, query.casts)

    def stream(self, columns: Sequence[str]) -> Iterator[Any]:
        """Yield batches that have these columns, of the rows that were read once."""
        everything = list(dict.fromkeys(self.types.names))
        if not self._is_lost and not self._spool.has(everything):
            for _ in super().stream(everything):
                pass  # a pass that is left in the middle keeps nothing
        yield from super().stream(columns)

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        types = pa.schema([self.types.field(name) for name in columns])
        for batch in read_batches(self._connection, self._statement, {}):
            chosen = batch.select(list(columns))
            if chosen.schema.types != types.types:
                # Other types than were declared follow from values.
                raise TypeError("columns have other types than the database said")
            yield chosen


def _check_text(text: str, kind: str) -> None:
    """Refuse what some databases read as a sample, as another time, or as columns by values."""
    for tokens in readings(text, kind):
        pairs = set(pairwise(one.text.lower() for one in tokens))
        sampling = {"sample"} if ("using", "sample") in pairs else set()
        refuse_changing(calls_in(tokens) & _CHANGING_CALLS | sampling)
        # Unlike a column of this name, a number follows.
        is_numbered = any(("top", mark) in pairs for mark in "0123456789(")
        if is_numbered and pairs & {("select", "top"), ("distinct", "top")}:
            refuse_cutting(["top"])
        if words_in(tokens) & _PIVOTS:
            raise ParameterError(
                Message(
                    Parameter("query"),
                    " makes columns of values by PIVOT, so that one row more could add a column. "
                    "Name them instead: sum(x) FILTER (WHERE k = 'a') AS a.",
                )
            )


def _check_plan(connection: Any, statement: str) -> None:
    """Refuse what DuckDB's plan shows, also where a view hides it."""
    found: Any = None
    with suppress(EngineError):
        found = _plan(connection, statement)
    if found is None:
        _refuse_unreadable()
    words = set(_words_of(found))
    refuse_cutting(["limit"] if any("LIMIT" in one or one == "TOP_N" for one in words) else [])
    refuse_changing(["sample"] if any("SAMPLE" in one for one in words) else [])
    if any(kind in one for one in words for kind in _GUESSING):
        raise ParameterError(
            Message(
                Parameter("query"),
                " reads CSV, JSON or Excel files, or a view does that it reads. DuckDB guesses "
                "their types from values, so that one row could change them for all. Give the "
                "paths of CSV or Excel files instead, or write the rows to a table whose types you "
                "declare.",
            )
        )


@guarded  # what a plan says may hold cells
def _plan(connection: Any, statement: str) -> list[Any]:
    with cursor_of(connection) as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}")
        return [json.loads(plan) for _, plan in cursor.fetchall()]


def _words_of(plan: Any) -> Iterator[str]:
    """Yield what the nodes of a plan are called, and what they are described by.

    Examples
    --------
    >>> sorted(_words_of([{"name": "SCAN", "extra_info": {"Sample Method": "System: 10%"}}]))
    ['EXTRA_INFO', 'NAME', 'SAMPLE METHOD', 'SCAN']
    """
    if isinstance(plan, list):
        for one in plan:
            yield from _words_of(one)
    elif isinstance(plan, dict):
        yield from (str(key).upper() for key in plan)
        if "name" in plan:
            yield str(plan["name"]).upper()
        yield from _words_of(list(plan.values()))


def _declared_types(connection: Any, statement: str) -> Any:
    found = None
    with suppress(EngineError):
        found = _types(connection, statement)
    if found is None:
        _refuse_unreadable()
    return found


def _refuse_unreadable() -> NoReturn:
    raise ParameterError(
        Message(
            Parameter("query"),
            " is not one that the database can plan inside of SELECT * FROM (...). Why is "
            "withheld, because it may depend on rows. Try it so there first; what is no query, "
            "such as COPY or DELETE, is not run.",
        )
    )


@guarded
def _types(connection: Any, statement: str) -> Any:
    # Guarded, because some drivers know types only when they have read rows.
    with cursor_of(connection) as cursor:
        try:
            return cursor.adbc_execute_schema(statement)
        except Exception:
            cursor.execute(f"{statement} WHERE 1 = 0")
            reader = cursor.fetch_record_batch()
            try:
                return reader.schema
            finally:
                reader.close()
