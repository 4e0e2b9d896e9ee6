"""What a query's text tells: that it is one, and that it gives the same rows each time."""

from __future__ import annotations

import pytest

from privclust.errors import ParameterError
from privclust.sources.sql.query_text import calls_in, check_repeatable, check_whole, single_query

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


@pytest.mark.parametrize("query", CHANGING)
def test_what_changes_is_refused(query: str) -> None:
    with pytest.raises(ParameterError, match="other rows each time") as refused:
        check_repeatable(single_query(query))
    assert refused.value.parameter == "query"


@pytest.mark.parametrize("query", SAME)
def test_what_only_looks_so_is_not(query: str) -> None:
    check_repeatable(single_query(query))
    check_whole(query)


@pytest.mark.parametrize("query", ["SELECT a FROM t LIMIT 5", "SELECT a FROM t fetch first 5 rows"])
def test_a_result_that_is_cut_off_is_refused(query: str) -> None:
    with pytest.raises(ParameterError, match="push another out"):
        check_whole(query)


@pytest.mark.parametrize("query", ["", " ; ", "-- nothing", None, 5, b"SELECT 1"])
def test_what_is_no_query_is_refused(query: object) -> None:
    with pytest.raises(ParameterError, match="must be a text such as"):
        single_query(query)


def test_two_queries_are_refused() -> None:
    with pytest.raises(ParameterError, match="must be one query"):
        single_query("SELECT 1; DROP TABLE visits")
    assert single_query("SELECT ';' AS \"a;b\" ; \n") == "SELECT ';' AS \"a;b\""


def test_names_of_functions_are_read_as_sql_reads_them() -> None:
    assert calls_in('SELECT F(a), "F"(a), s.g (a), "a""b"(c)') == {"f", "F", "g", 'a"b'}
