"""The parts of a query: names, literals and marks, told apart as its database tells them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

Part: TypeAlias = Literal["name", "quoted", "literal", "mark"]

PLAN = "a plan"
"""What PostgreSQL writes itself: without comments, and with all odd names in quotes."""
_LETTER = r"A-Za-z_\u0080-\U0010ffff"
_NAME = rf"(?P<name>[{_LETTER}][{_LETTER}0-9$]*)"
_PLAIN = r"'(?:[^']|'')*'"
_ESCAPED = r"'(?:[^'\\]|''|\\.)*'"
_QUOTED = r'"(?:[^"]|"")*"'
_UNKNOWN = re.compile(rf"{_NAME}|(?P<mark>\S)")
_PATTERNS = {
    "PostgreSQL": re.compile(
        r"--[^\n\r]*|(?P<comment>/\*)"
        rf"|(?P<literal>[eE]{_ESCAPED}(?:\s*\n\s*{_ESCAPED})*|{_PLAIN}"
        rf"|\$(?P<tag>(?:[{_LETTER}][{_LETTER}0-9]*)?)\$.*?\$(?P=tag)\$)"
        rf"|(?P<quoted>{_QUOTED})|{_NAME}|(?P<mark>\S)",
        re.DOTALL,
    ),
    "SQLite": re.compile(
        rf"--[^\n]*|/\*.*?(?:\*/|\Z)|(?P<literal>{_PLAIN})"
        rf"|(?P<quoted>{_QUOTED}|`(?:[^`]|``)*`|\[[^\]]*\])|{_NAME}|(?P<mark>\S)",
        re.DOTALL,
    ),
    PLAN: re.compile(
        rf"(?P<literal>E{_ESCAPED}|{_PLAIN})|(?P<quoted>{_QUOTED})|{_NAME}|(?P<mark>\S)", re.DOTALL
    ),
}
_COMMENT_MARK = re.compile(r"/\*|\*/")


class Token(NamedTuple):
    """One part of a query; of a name in quotes, what it means."""

    part: Part
    text: str


def readings(text: str, database: str) -> list[list[Token]]:
    """Return the parts of a query without comments, in each way in which it may be read.

    How a database reads it that is not known here cannot be told: there are several, and in one of
    them comments and literals count like the rest.

    Examples
    --------
    >>> [(name, *_)] = readings("a$q$ /* /* */ ' */", "PostgreSQL")
    >>> name
    Token(part='name', text='a$q$')
    """
    if database in _PATTERNS:
        return [list(_tokens(text, _PATTERNS[database]))]
    return [list(_tokens(text, one)) for one in (*_PATTERNS.values(), _UNKNOWN)]


def calls_in(tokens: Sequence[Token]) -> set[str]:
    '''Return names of functions that are called, as SQL compares them.

    Examples
    --------
    >>> (tokens,) = readings("""SELECT Random(), "F"(a), 'now()' -- nextval('x')""", "SQLite")
    >>> sorted(calls_in(tokens))
    ['F', 'random']
    '''
    return {
        one.text if one.part == "quoted" else one.text.lower()
        for one, following in pairwise(tokens)
        if one.part in ("name", "quoted") and following == Token("mark", "(")
    }


def words_in(tokens: Sequence[Token]) -> set[str]:
    """Return the names that are not in quotes, in lower case: key words are among them."""
    return {one.text.lower() for one in tokens if one.part == "name"}


def _tokens(text: str, pattern: re.Pattern[str]) -> Iterator[Token]:
    place = 0
    while found := pattern.search(text, place):
        place, part = found.end(), found.lastgroup
        if part == "comment":
            place = _end_of_comment(text, place)
        elif part == "quoted":
            yield Token("quoted", _unquoted(found[0]))
        elif part in ("name", "mark"):
            yield Token(part, found[0])  # type: ignore[arg-type]
        elif found["literal"] is not None:
            yield Token("literal", _unquoted(found[0]))


def _end_of_comment(text: str, place: int) -> int:
    """Return where a comment ends that others may be in."""
    depth = 1
    for mark in _COMMENT_MARK.finditer(text, place):
        depth += 1 if mark[0] == "/*" else -1
        if not depth:
            return mark.end()
    return len(text)


def _unquoted(text: str) -> str:
    r"""Return what quotes of one character each hold.

    Examples
    --------
    >>> _unquoted('"a""b"'), _unquoted("[a]")
    ('a"b', 'a')
    """
    return text[1:-1].replace(text[-1] * 2, text[-1])
