"""What a query's text tells: that it is one, and that it gives the same rows each time."""

from __future__ import annotations

import pytest

from privclust.errors import ParameterError
from privclust.sources.sql.query_text import check_repeatable, check_whole, single_query

PG, LITE = "PostgreSQL", "SQLite"
UNKNOWN = "Snowflake"

CHANGING = [
    "SELECT random() FROM t",
    "SELECT RANDOM () FROM t",
    "SELECT a FROM t WHERE b < now()",
    "SELECT a FROM t WHERE b < pg_catalog.now()",
    "SELECT a FROM t WHERE b < CURRENT_TIMESTAMP",
    "SELECT current_date - b FROM t",
    "SELECT nextval('s') FROM t",
    "SELECT a FROM t TABLESAMPLE SYSTEM (5)",
    "SELECT a, /* not */ localtimestamp FROM t",
    "SELECT 'it''s', random() FROM t",
    "SELECT E'it\\'s', random(), '' FROM t",
    "SELECT $x$ ' $x$, random() FROM t",
]
SAME = [
    "SELECT age FROM visits",
    "SELECT 'now()', \"current_date\" FROM t",
    "SELECT now, random FROM t",
    "SELECT a FROM t -- random()",
    "SELECT a /* nextval('s') */ FROM t",
    "SELECT $$ random() $$ FROM t",
    "SELECT \"it's\", a FROM t WHERE b = 'random()'",
]


@pytest.mark.parametrize("database", [PG, UNKNOWN])
@pytest.mark.parametrize("query", CHANGING)
def test_what_changes_is_refused(query: str, database: str) -> None:
    with pytest.raises(ParameterError, match="other rows each time") as refused:
        check_repeatable(single_query(query, database), database)
    assert refused.value.parameter == "query"


@pytest.mark.parametrize("query", SAME)
def test_what_only_looks_so_is_not(query: str) -> None:
    check_repeatable(single_query(query, PG), PG)
    check_whole(query, PG)


@pytest.mark.parametrize("database", [PG, LITE, UNKNOWN])
@pytest.mark.parametrize("query", ["SELECT a FROM t LIMIT 5", "SELECT a FROM t fetch first 5 rows"])
def test_a_result_that_is_cut_off_is_refused(query: str, database: str) -> None:
    with pytest.raises(ParameterError, match="push another out"):
        check_whole(query, database)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("query", "database"),
    [
        ("SELECT a FROM t /* /* */ ' */ LIMIT 5 --'", PG),
        ("SELECT a$q$ FROM t LIMIT 5 -- $q$", PG),
        ("SELECT E'a'\n'\\'' FROM t LIMIT 5 -- '", PG),
        ("SELECT [it's] FROM t LIMIT 5 -- '", LITE),
        ("SELECT `it's` FROM t LIMIT 5 -- '", LITE),
        ('SELECT [a"] FROM t LIMIT 5 -- "', LITE),
        ("SELECT e'\\' FROM t LIMIT 5 -- '", LITE),
        ("SELECT a FROM t /* /* */ LIMIT 5 -- */", LITE),
        ("SELECT $x$ FROM t LIMIT 5 -- $x$", LITE),
        ("SELECT '\\', a FROM t LIMIT 5 -- '", UNKNOWN),
        ("SELECT a # '\n FROM t LIMIT 5 -- '", UNKNOWN),
    ],
)
def test_a_limit_cannot_hide_behind_what_another_database_would_read(
    query: str, database: str
) -> None:
    with pytest.raises(ParameterError, match="push another out"):
        check_whole(single_query(query, database), database)


@pytest.mark.attack
def test_a_second_statement_cannot_hide_either() -> None:
    with pytest.raises(ParameterError, match="must be one query"):
        single_query("SELECT a /* /* */ ' */; DROP TABLE t --'", PG)
    with pytest.raises(ParameterError, match="must be one query"):
        single_query("SELECT [it's]; DROP TABLE t --'", LITE)
    with pytest.raises(ParameterError, match="must be one query"):
        single_query("SELECT 'a; DROP TABLE t'", UNKNOWN)


@pytest.mark.parametrize("query", ["", " ; ", "-- nothing", None, 5, b"SELECT 1"])
def test_what_is_no_query_is_refused(query: object) -> None:
    with pytest.raises(ParameterError, match="must be a text such as"):
        single_query(query, PG)


def test_two_queries_are_refused() -> None:
    with pytest.raises(ParameterError, match="must be one query"):
        single_query("SELECT 1; DROP TABLE visits", PG)
    assert single_query("SELECT ';' AS \"a;b\" ; \n", PG) == "SELECT ';' AS \"a;b\""
