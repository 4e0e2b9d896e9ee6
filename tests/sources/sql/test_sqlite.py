"""SQLite: types by declaration although cells may be anything, and one state for a fit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import adbc_driver_sqlite.dbapi
import pytest
from helpers.databases import cells, in_sqlite_by_hand, opened

from privclust import sql
from privclust.errors import ColumnError, ColumnTypeError, ParameterError, UnreadableFileError
from privclust.sources.cells import numbers
from privclust.sources.dates import days

MIXED = [
    "CREATE TABLE t (r REAL, i INTEGER, w VARCHAR(9), d DATE, x, n DECIMAL(9, 2), k BLOB)",
    "INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "INSERT INTO t VALUES (1, 2, 3, '1970-01-03', 4, '5.25', x'00')",
    "INSERT INTO t VALUES ('abc', 'abc', x'01', 20000, 'abc', 'abc', 'abc')",
    "INSERT INTO t VALUES (1e999, 9223372036854775807, 'é', 'soon', 1.5, 7, 7)",
]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return in_sqlite_by_hand(tmp_path / "odd name?#.db", *MIXED)


@pytest.fixture
def plain(tmp_path: Path) -> Any:
    def made(*statements: str) -> str:
        return in_sqlite_by_hand(tmp_path / "x.db", *statements)

    return made


def test_kinds_follow_from_declarations(plain: Any) -> None:
    schema = opened(sql(plain(*MIXED), "SELECT * FROM t")).schema
    assert schema.kinds == ("number", "integer", "text", "other", "other", "number", "other")


def test_a_cell_of_another_type_is_missing(plain: Any) -> None:
    source = opened(sql(plain(*MIXED), "SELECT * FROM t"))
    assert cells(source, "r") == [None, 1.0, None, math.inf]
    assert cells(source, "i") == [None, 2, None, 2**63 - 1]
    assert cells(source, "w") == [None, "3", None, "é"]
    assert cells(source, "n") == [None, 5.25, None, 7.0]


def test_types_are_not_those_of_the_first_rows(plain: Any) -> None:
    rows = [f"INSERT INTO t VALUES ({value})" for value in ["NULL"] * 1500 + ["'x'", "2.5", "7"]]
    source = opened(sql(plain("CREATE TABLE t (r REAL)", *rows), "SELECT r FROM t"))
    assert cells(source, "r")[1498:] == [None, None, None, 2.5, 7.0]


def test_columns_without_a_type_need_a_cast(plain: Any) -> None:
    address = plain(*MIXED)
    with pytest.raises(ColumnTypeError, match=r"do not hold numbers: x, y.*casts={"):
        opened(sql(address, "SELECT x, r + 1 AS y FROM t")).schema.features(None)
    casts: Any = {"x": "number", "d": "date"}
    source = opened(sql(address, "SELECT x, d FROM t", casts=casts))
    assert source.schema.kinds == ("number", "date")
    (batch,) = source.batches(["x", "d"])
    assert [str(one) for one in numbers(batch.column("x"))] == ["nan", "4.0", "nan", "1.5"]
    assert [str(one) for one in days(batch.column("d"))] == ["nan", "2.0", "nan", "nan"]


def test_two_columns_of_one_name_are_refused(plain: Any) -> None:
    with pytest.raises(ColumnError, match="names that differ"):
        opened(sql(plain(*MIXED), "SELECT r, i, r FROM t"))


@pytest.mark.parametrize(
    "column",
    ["random()", "date('now')", "date('NOW')", "current_timestamp", "hex(randomblob(3))"],
)
def test_what_changes_is_refused_also_where_a_view_hides_it(plain: Any, column: str) -> None:
    address = plain(*MIXED, f"CREATE VIEW v AS SELECT r, {column} AS y FROM t")
    with pytest.raises(ParameterError, match="other rows each time"):
        opened(sql(address, "SELECT * FROM v"))


@pytest.mark.parametrize("column", ["date()", "datetime ( /* now */ )", "strftime('%Y')"])
def test_dates_of_no_time_are_those_of_now(plain: Any, column: str) -> None:
    address = plain(*MIXED, f"CREATE VIEW v AS SELECT r, {column} AS y FROM t")
    for query in ("SELECT * FROM v", f"SELECT {column} AS y FROM t"):
        with pytest.raises(ParameterError, match="other rows each time"):
            opened(sql(address, query))


@pytest.mark.attack
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM cut",
        "SELECT * FROM CUT",
        "SELECT * FROM [cut]",
        "SELECT * FROM `cut`",
        "SELECT * FROM 'cut'",
        'SELECT * FROM main."cut"',
        'SELECT * FROM "it""s [below]"',
        "SELECT r FROM t WHERE r IN (SELECT r FROM cut)",
        "SELECT r AS [it's] FROM t LIMIT 2 -- '",
    ],
)
def test_what_cuts_rows_off_is_refused_also_where_a_view_hides_it(plain: Any, query: str) -> None:
    views = [
        "CREATE VIEW cut AS SELECT r AS [a'], r FROM t LIMIT 2 -- '",
        'CREATE VIEW "it""s [below]" AS SELECT r FROM cut WHERE r > 0',
    ]
    with pytest.raises(ParameterError, match="push another out"):
        opened(sql(plain(*MIXED, *views), query))


def test_views_that_cut_nothing_off_are_read(plain: Any) -> None:
    address = plain(
        *MIXED,
        "CREATE VIEW cut AS SELECT r FROM t LIMIT 2",
        "CREATE VIEW whole AS SELECT i, 'limit' AS \"limit\" FROM t -- LIMIT 5",
    )
    source = opened(sql(address, "SELECT i FROM whole WHERE EXISTS (SELECT 1 FROM t)"))
    assert cells(source, "i") == [None, 2, None, 2**63 - 1]


def test_dates_of_columns_do_not_change(plain: Any) -> None:
    source = opened(sql(plain(*MIXED), "SELECT date(d) AS day FROM t", casts={"day": "date"}))
    assert cells(source, "day")[1] == "1970-01-03"


@pytest.mark.parametrize("query", ["DELETE FROM t RETURNING r", "SELECT r FROM nowhere", "SELEC"])
def test_what_is_no_query_of_the_database_is_refused(plain: Any, query: str) -> None:
    with pytest.raises(ParameterError, match="the database refuses the query"):
        opened(sql(plain(*MIXED), query))


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match=r"no SQLite file 'none\.db'"):
        opened(sql(f"sqlite:///{tmp_path}/none.db", "SELECT 1 AS i"))
    assert not [*tmp_path.iterdir()]
    with pytest.raises(ParameterError, match="names no file"):
        opened(sql("sqlite://", "SELECT 1 AS i"))


def test_an_absolute_and_a_relative_path_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    assert cells(opened(sql(address, "SELECT i FROM t")), "i")[1] == 2
    in_sqlite_by_hand(tmp_path / "x.db", *MIXED)
    monkeypatch.chdir(tmp_path)
    assert cells(opened(sql("sqlite:///x.db", "SELECT i FROM t")), "i")[1] == 2
    assert cells(opened(sql(f"sqlite:///{tmp_path}/x.db", "SELECT i FROM t")), "i")[1] == 2


def test_a_users_connection_is_left_alone(tmp_path: Path) -> None:
    in_sqlite_by_hand(tmp_path / "x.db", "CREATE TABLE t (i INTEGER)", "INSERT INTO t VALUES (1)")
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "x.db")) as connection:
        source = opened(sql(connection, "SELECT i FROM t"))
        assert cells(source, "i") == cells(source, "i") == [1]
        assert source.snapshot is not None
        source.snapshot.close()
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (2)")
            connection.commit()


def test_no_state_can_be_had_again(plain: Any) -> None:
    snapshot = opened(sql(plain(*MIXED), "SELECT r FROM t")).snapshot
    assert snapshot is not None
    assert snapshot.identity is None
    named = snapshot.origin.name.partition(", query ")[0]
    assert "/" not in named
    assert named.endswith(".db")
    assert (snapshot.origin.kind, snapshot.origin.snapshot) == ("SQLite", "one read transaction")
