"""Parts of queries are told apart as each database tells them."""

from __future__ import annotations

import pytest

from privclust.sources.sql.tokens import PLAN, Token, calls_in, readings, words_in


def test_names_of_functions_are_read_as_sql_reads_them() -> None:
    (tokens,) = readings('SELECT F(a), "F"(a), s.g (a), "a""b"(c), h/* */(d)', "PostgreSQL")
    assert calls_in(tokens) == {"f", "F", "g", 'a"b', "h"}


@pytest.mark.parametrize(
    ("text", "database", "words"),
    [
        ("a -- b\nc", "PostgreSQL", {"a", "c"}),
        ("a /* b /* c */ d */ e", "PostgreSQL", {"a", "e"}),
        ("a /* b /* c */ d */ e", "SQLite", {"a", "d", "e"}),
        ("a /* b", "SQLite", {"a"}),
        ("a$x$ b$x$", "PostgreSQL", {"a$x$", "b$x$"}),
        ("1$x$ b $x$ c", "PostgreSQL", {"c"}),
        ("$1$ b $1$", "PostgreSQL", {"b"}),
        ("E'\\' b ' c", "PostgreSQL", {"c"}),
        ("'\\' b ' c '", "PostgreSQL", {"b"}),
        ("naïve×word", "PostgreSQL", {"naïve×word"}),
        ('[a] `b` "c" d', "SQLite", {"d"}),
        ("a /* b */ 'c'", PLAN, {"a", "b"}),
    ],
)
def test_words_are_those_that_the_database_reads(text: str, database: str, words: set[str]) -> None:
    (tokens,) = readings(text, database)
    assert words_in(tokens) == words


def test_names_in_quotes_are_what_they_mean() -> None:
    (tokens,) = readings("\"a\"\"b\" `c``d` [e] 'it''s'", "SQLite")
    assert [one.text for one in tokens] == ['a"b', "c`d", "e", "it's"]


def test_in_a_database_that_is_not_known_each_way_of_reading_counts() -> None:
    found = readings("'a", "Snowflake")
    assert [Token("mark", "'"), Token("name", "a")] in found
    assert len(readings("a", "Snowflake")) > 1
