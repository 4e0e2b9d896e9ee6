"""Queries of databases, as they are typed at a prompt; passwords are never typed there."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from privclust.cli._remote import refuse_options
from privclust.errors import ParameterError
from privclust.sources.address import check_no_password, is_address, is_database
from privclust.sources.guard import guarded
from privclust.sources.sql.table import SqlTable, sql
from privclust.sources.streams import Source, source_of

QueryText = Annotated[
    str | None,
    typer.Option(
        "--query",
        help="Of a database: the query whose result is the table; @visits.sql for one in a file, - "
        "for one on standard input, which lists of processes do not show.",
    ),
]
Casts = Annotated[
    list[str] | None,
    typer.Option(
        "--cast",
        help="Of a query: what a column is whose type does not say it, such as income=number (or "
        "text, date); once more for each other one.",
    ),
]


def queried_table(
    typed: list[str], query: str | None, casts: list[str] | None, **for_files: object
) -> SqlTable | None:
    """Return the result of the query that was typed; None if no database was.

    `for_files` are options by which files are read, each None unless it was typed.
    """
    for word in filter(is_address, typed):
        check_no_password(word)
    addresses = [word for word in typed if is_database(word)]
    if not addresses:
        why = "is for a database, such as postgresql://host/database"
        refuse_options(why, query=query, cast=casts or None)
        return None
    if len(typed) > 1:
        raise ParameterError("a query is fitted alone. Type one address, and no files beside it.")
    if query is None:
        raise ParameterError(
            "--query is missing: the query whose result is the table, such as --query 'SELECT age, "
            "income FROM visits'."
        )
    refuse_options("is for files, and this table is in a database", **for_files)
    return sql(addresses[0], _read(query), casts=dict(map(_cast, casts or [])))  # type: ignore[arg-type]


def typed_query(query: str | None, casts: list[str] | None) -> list[str]:
    """Return the options by which a query is read, for a command that is suggested.

    Examples
    --------
    >>> typed_query("SELECT age FROM visits", ["age=number"])
    ['--query', 'SELECT age FROM visits', '--cast', 'age=number']
    """
    words = [] if query is None else ["--query", query]
    return [*words, *(word for cast in casts or [] for word in ("--cast", cast))]


def _read(query: str) -> str:
    """Return the words of a query that was typed, or that is in a file or on standard input."""
    if query == "-":
        return sys.stdin.read()
    if not query.startswith("@"):
        return query
    try:
        return Path(query[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        name = Path(query[1:]).name
    raise ParameterError(
        f"--query: there is no file {name!r} that can be read as a text. After @ comes the path of "
        "a file that holds one query."
    )


@contextmanager
def read_once(table: SqlTable, columns: Sequence[str]) -> Iterator[Source]:
    """Give columns of a query whose rows have one order in all passes, unlike the query's own."""
    source = source_of(table)
    assert source is not None
    assert source.snapshot is not None
    with closing(source.snapshot):
        if set(columns) <= set(source.schema.names or ()):  # or others say what is missing
            _fetch(source, list(dict.fromkeys(columns)))
        yield source


@guarded
def _fetch(source: Source, columns: Sequence[str]) -> None:
    for _ in source.batches(columns):
        pass


def _cast(typed: str) -> tuple[str, str]:
    """Return the column and what it is.

    Examples
    --------
    >>> _cast("a=b=number")
    ('a=b', 'number')
    """
    name, equals, kind = typed.rpartition("=")
    if not equals:
        raise ParameterError(f"--cast {typed!r} must be like income=number.")
    return name, kind
