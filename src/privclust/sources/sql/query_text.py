"""What can be told of a query by its text: that it is one, and that it is the same each time."""

from __future__ import annotations

from collections.abc import Iterable

from privclust.errors import Message, Parameter, ParameterError
from privclust.sources.sql.tokens import Token, calls_in, readings, words_in

_CHANGING_WORDS = {
    *("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"),
    "tablesample",
}
CHANGING_CALLS = {
    *("random", "rand", "random_normal", "randomblob", "setseed", "gen_random_uuid"),
    *("uuid_generate_v4", "newid", "now", "clock_timestamp", "statement_timestamp", "sysdate"),
    *("transaction_timestamp", "timeofday", "getdate", "nextval", "currval", "lastval", "uuidv7"),
    *("changes", "total_changes", "last_insert_rowid", "pg_sleep", "uuidv4", "generate_uuid"),
}
"""Functions that give another result each time, in whatever database."""
_CUTTING_WORDS = {"limit", "offset", "fetch"}


def single_query(query: object, database: str) -> str:
    """Return a query without what ends it; refuse what is not one alone.

    Examples
    --------
    >>> single_query("SELECT age FROM visits; ", "SQLite")
    'SELECT age FROM visits'
    """
    if not isinstance(query, str) or not all(words_in(one) for one in readings(query, database)):
        raise ParameterError(
            Message(Parameter("query"), " must be a text such as 'SELECT age FROM visits'.")
        )
    text = query.rstrip(" \n\t\r;")
    if any(Token("mark", ";") in one for one in readings(text, database)):
        raise ParameterError(
            Message(Parameter("query"), " must be one query. Leave out what follows a semicolon.")
        )
    return text


def check_repeatable(text: str, database: str) -> None:
    """Refuse a query, or a part of a plan of one, that gives other rows when it is run again.

    Examples
    --------
    >>> check_repeatable("SELECT age, 'now()' AS word FROM visits", "SQLite")
    """
    for one in readings(text, database):
        refuse_changing([*(words_in(one) & _CHANGING_WORDS), *(calls_in(one) & CHANGING_CALLS)])


def check_whole(text: str, database: str) -> None:
    """Refuse a query that cuts its result off: one row more would push another one out.

    Examples
    --------
    >>> check_whole('SELECT age, "limit" FROM visits', "SQLite")
    """
    for one in readings(text, database):
        refuse_cutting(words_in(one) & _CUTTING_WORDS)


def refuse_cutting(words: Iterable[str]) -> None:
    """Refuse a query that cuts its result off by these words, or by one in a view that it reads."""
    found = sorted(words)
    if found:
        raise ParameterError(
            Message(
                Parameter("query"),
                f" cuts rows off by {found[0].upper()}, or a view does that it reads, so that one "
                "row more could push another out, and which ones are left may differ each time. "
                "Take the rows you mean by WHERE. If a column is called so, put its name in double "
                "quotes; in a database that is not tested, rename it in a view.",
            )
        )


def refuse_changing(names: Iterable[str]) -> None:
    """Refuse a query that calls functions whose results change."""
    found = sorted(names)
    if found:
        raise ParameterError(
            Message(
                Parameter("query"),
                f" gives other rows each time it is run, because of {', '.join(found)}; all "
                "that a fit reads must be of the same rows. Type a constant in its place or write "
                "the rows to a table first; mark a function of your own as STABLE or IMMUTABLE if "
                "it is.",
            )
        )
