"""What can be told of a query by its text: that it is one, and that it is the same each time."""

from __future__ import annotations

import re
from collections.abc import Iterable

from privclust.errors import Message, Parameter, ParameterError

_APART = re.compile(
    r"--[^\n]*|/\*.*?\*/"
    r"|[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'"
    r"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
    r'|(?P<name>"(?:[^"]|"")*")',
    re.DOTALL,
)
"""Comments and literals, in which words mean nothing; names in quotes, in which others do not."""
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_CALL = re.compile(r'("(?:[^"]|"")*"|[^\W\d][\w$]*)\s*\(')
_WORD = re.compile(r"[^\W\d][\w$]*")
_CHANGING_WORDS = {
    *("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"),
    "tablesample",
}
_CHANGING_CALLS = {
    *("random", "rand", "random_normal", "randomblob", "setseed", "gen_random_uuid"),
    *("uuid_generate_v4", "newid", "now", "clock_timestamp", "statement_timestamp", "sysdate"),
    *("transaction_timestamp", "timeofday", "getdate", "nextval", "currval", "lastval", "uuidv7"),
    *("changes", "total_changes", "last_insert_rowid", "pg_sleep", "uuidv4", "generate_uuid"),
}
_CUTTING_WORDS = {"limit", "offset", "fetch"}


def single_query(query: object) -> str:
    """Return a query without what ends it; refuse what is not one alone.

    Examples
    --------
    >>> single_query("SELECT age FROM visits; ")
    'SELECT age FROM visits'
    """
    if not isinstance(query, str) or not _blanked(query).strip(" \n\t\r;'"):
        raise ParameterError(
            Message(Parameter("query"), " must be a text such as 'SELECT age FROM visits'.")
        )
    text = query.rstrip(" \n\t\r;")
    if ";" in _QUOTED.sub("", _blanked(text)):
        raise ParameterError(
            Message(Parameter("query"), " must be one query. Leave out what follows a semicolon.")
        )
    return text


def calls_in(text: str) -> set[str]:
    '''Return names of functions that a query or its plan calls.

    Examples
    --------
    >>> sorted(calls_in("""SELECT Random(), "F"(a), 'now()' FROM t -- nextval('x')"""))
    ['F', 'random']
    '''
    found = _CALL.findall(_blanked(text))
    return {
        name[1:-1].replace('""', '"') if name.startswith('"') else name.lower() for name in found
    }


def check_repeatable(text: str) -> None:
    """Refuse a query, or a plan of one, that gives other rows when it is run again.

    Examples
    --------
    >>> check_repeatable("SELECT age, 'now()' AS word FROM visits")
    """
    words = {word.lower() for word in _WORD.findall(_QUOTED.sub("", _blanked(text)))}
    refuse_changing([*(words & _CHANGING_WORDS), *(calls_in(text) & _CHANGING_CALLS)])


def check_whole(text: str) -> None:
    """Refuse a query that cuts its result off: one row more would push another one out.

    Examples
    --------
    >>> check_whole('SELECT age, "limit" FROM visits')
    """
    words = {word.lower() for word in _WORD.findall(_QUOTED.sub("", _blanked(text)))}
    cutting = sorted(words & _CUTTING_WORDS)
    if cutting:
        raise ParameterError(
            Message(
                Parameter("query"),
                f" cuts rows off by {cutting[0].upper()}, so that one row more could push another "
                "out, and which ones are left may differ each time. Take the rows you mean by "
                "WHERE. If a column is called so, put its name in double quotes.",
            )
        )


def refuse_changing(names: Iterable[str]) -> None:
    """Refuse a query that calls functions whose results change."""
    found = sorted(names)
    if found:
        raise ParameterError(
            Message(
                Parameter("query"),
                f" gives other rows each time it is run, because of {', '.join(found)}; a fit runs "
                "it several times. Type a constant in its place or write the rows to a table "
                "first; mark a function of your own as STABLE or IMMUTABLE if it is.",
            )
        )


def _blanked(text: str) -> str:
    """Return a text without comments and literals."""
    return _APART.sub(lambda found: found["name"] or " '' ", text)
