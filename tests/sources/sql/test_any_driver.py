"""Connections of other drivers are taken as they are, and nothing but a query is run there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import adbc_driver_duckdb.dbapi
import adbc_driver_sqlite.dbapi
import pyarrow as pa
import pytest
from helpers.databases import cells, opened

from privclust import sql
from privclust.errors import ColumnError, EngineError, ParameterError, SnapshotError
from privclust.sources.guard import guarded

TABLE = pa.table({"a": [1.5, 2.5], "w": ["7", "x"]})


class Cursor:
    """A cursor whose stream ends with it, as some drivers' do."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self.open = connection, True

    def execute(self, query: str) -> None:
        self._connection.queries.append(query)

    def adbc_execute_schema(self, query: str) -> Any:
        if self._connection.knows_types:
            return self._connection.table.schema
        raise NotImplementedError

    def fetch_record_batch(self) -> Any:
        def batches() -> Iterator[Any]:
            for batch in self._connection.table.to_batches(1):
                if not self.open:
                    raise ValueError("the stream is closed")
                yield batch

        return pa.RecordBatchReader.from_batches(self._connection.table.schema, batches())

    def close(self) -> None:
        self.open = False


class Connection:
    """A connection of a driver that nobody knows."""

    def __init__(self, table: Any = TABLE, knows_types: bool = True) -> None:
        self.table, self.knows_types = table, knows_types
        self.queries: list[str] = []

    def cursor(self) -> Cursor:
        return Cursor(self)

    def adbc_get_info(self) -> dict[str, str]:
        return {"vendor_name": "Snowflake"}


@pytest.mark.parametrize("knows_types", [True, False])
def test_a_query_is_run_inside_of_ours_and_once_for_all_passes(knows_types: bool) -> None:
    connection = Connection(knows_types=knows_types)
    source = opened(sql(connection, "SELECT * FROM t", casts={"w": "number"}))
    assert source.schema.kinds == ("number", "number")
    connection.queries.clear()
    assert cells(source, "w") == cells(source, "w") == ["7", "x"]
    assert cells(source, "a") == [1.5, 2.5]
    assert connection.queries == ["SELECT * FROM (\nSELECT * FROM t\n) AS privclust_rows"]
    assert source.snapshot is not None
    assert source.snapshot.origin.kind == "Snowflake"
    source.snapshot.close()
    assert cells(source, "a") == [1.5, 2.5]  # the connection is the user's to close


def test_a_resumed_fit_reads_nothing_there() -> None:
    source = opened(sql(Connection(), "SELECT * FROM t"))
    assert source.snapshot is not None
    assert source.snapshot.identity is None
    source.snapshot.restore(None)
    with pytest.raises(SnapshotError, match="cannot be had again"):
        guarded(lambda: cells(source, "a"))()


def test_two_columns_of_one_name_are_refused() -> None:
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ColumnError, match="names that differ"):
        opened(sql(Connection(twice), "SELECT a, a FROM t"))


def test_what_fails_when_types_are_looked_up_is_withheld() -> None:
    class Broken(Connection):
        def cursor(self) -> Cursor:
            raise ValueError("canary")

    with pytest.raises(ParameterError, match="Why is withheld") as failed:
        opened(sql(Broken(), "SELECT * FROM t"))
    assert "canary" not in str(failed.value)


def test_a_snapshot_is_for_postgresql() -> None:
    with pytest.raises(ParameterError, match="snapshot is for PostgreSQL, and this is Snowflake"):
        opened(sql(Connection(), "SELECT * FROM t", snapshot="00000003-0000001B-1"))


def test_a_real_driver_gives_its_vendor() -> None:
    with adbc_driver_sqlite.dbapi.connect() as connection:
        assert opened(sql(connection, "SELECT 1 AS i", casts={"i": "number"})).snapshot


def test_columns_are_found_by_name_if_they_arrive_in_another_order() -> None:
    connection = Connection()
    source = opened(sql(connection, "SELECT * FROM t", casts={"w": "number"}))
    connection.table = TABLE.select(["w", "a"])
    (first, *_) = source.batches(["a", "w"])
    assert first.to_pydict() == {"a": [1.5], "w": ["7"]}
    assert cells(source, "w") == ["7", "x"]


@pytest.mark.attack
def test_types_that_follow_from_values_end_the_fit() -> None:
    connection = Connection()
    source = opened(sql(connection, "SELECT * FROM t"))
    connection.table = TABLE.set_column(0, "a", pa.array([1, 2]))
    with pytest.raises(EngineError, match="Why is withheld"):
        guarded(lambda: cells(source, "w"))()


def test_a_pass_that_is_left_in_the_middle_does_not_read_the_rows_again() -> None:
    connection = Connection()
    source = opened(sql(connection, "SELECT * FROM t"))
    connection.queries.clear()
    stream = source.batches(["a"])
    next(stream)
    del stream
    connection.table = TABLE.slice(0, 1)
    assert cells(source, "a") == [1.5, 2.5]
    assert len(connection.queries) == 1


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ("SELECT today() - d AS age FROM t", "today"),
        ("SELECT a, uuid() AS u FROM t", "uuid"),
        ("SELECT a FROM t USING SAMPLE 5", "sample"),
        ("SELECT a FROM t SAMPLE (5)", "sample"),
        ("SELECT TOP 5 a FROM t", "TOP"),
        ("SELECT DISTINCT TOP (5) a FROM t", "TOP"),
        ("SELECT a FROM t PIVOT (sum(a) FOR w IN (ANY))", "PIVOT"),
        ("SELECT a FROM t // '\nLIMIT 5 -- '", "LIMIT"),
    ],
)
def test_words_of_other_databases_are_refused(query: str, cause: str) -> None:
    with pytest.raises(ParameterError, match=cause):
        opened(sql(Connection(), query))


def test_columns_may_be_called_like_such_words() -> None:
    opened(sql(Connection(), "SELECT top, sample, uuid, today, max(a) AS a FROM t"))


# DuckDB ------------------------------------------------------------------------------------------


@pytest.fixture
def duck(tmp_path: Path) -> Iterator[Any]:
    with adbc_driver_duckdb.dbapi.connect(str(tmp_path / "x.duckdb")) as connection:
        for statement in (
            "CREATE TABLE t AS SELECT range::DOUBLE AS a, 'k' || (range % 3) AS k FROM range(9000)",
            "CREATE VIEW cut AS SELECT a FROM t LIMIT 5",
            "CREATE VIEW first AS SELECT a FROM t ORDER BY a LIMIT 5",
            "CREATE VIEW skipped AS SELECT a FROM t OFFSET 5",
            "CREATE VIEW drawn AS SELECT a FROM t USING SAMPLE 5",
            "CREATE VIEW blocks AS SELECT a FROM t TABLESAMPLE 10%",
        ):
            with connection.cursor() as cursor:
                cursor.execute(statement)
        connection.commit()
        yield connection


def test_rows_of_duckdb_are_read_once(duck: Any) -> None:
    source = opened(sql(duck, "SELECT a, k FROM t WHERE a = (SELECT max(a) FROM t)"))
    assert cells(source, "k") == ["k2"]
    with duck.cursor() as cursor:
        cursor.execute("DELETE FROM t")
    assert cells(source, "a") == [8999.0]
    assert source.snapshot is not None
    assert source.snapshot.origin.kind == "duckdb"


@pytest.mark.attack
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM t RETURNING a",
        "INSERT INTO t VALUES (1, 'x') RETURNING a",
        "COPY t TO '{folder}/stolen.csv'",
        "SELECT a FROM t) AS x; DELETE FROM t; SELECT * FROM (SELECT 1",
        "CALL pragma_version()",
        "PIVOT t ON k USING sum(a)",
    ],
)
def test_nothing_but_a_query_is_run(duck: Any, statement: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        opened(sql(duck, statement.format(folder=tmp_path)))
    assert not (tmp_path / "stolen.csv").exists()
    with duck.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM t")
        assert cursor.fetchall() == [(9000,)]


@pytest.mark.attack
@pytest.mark.parametrize("view", ["cut", "first", "skipped", "drawn", "blocks"])
def test_what_a_view_of_duckdb_hides_is_refused(duck: Any, view: str) -> None:
    with pytest.raises(ParameterError, match=r"push another out|other rows each time"):
        opened(sql(duck, f"SELECT * FROM {view}"))


@pytest.mark.attack
@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM '{folder}/a.csv'",
        "SELECT x FROM read_csv('{folder}/a.csv')",
        "SELECT x FROM guessed",
        "SELECT a FROM t WHERE a = (SELECT max(x) FROM '{folder}/a.csv')",
        "SELECT x FROM '{folder}/a.json'",
        "SELECT x FROM read_ndjson('{folder}/a.json')",
    ],
)
def test_types_that_duckdb_guesses_are_refused_whatever_the_values(
    duck: Any, query: str, tmp_path: Path
) -> None:
    # With 'n/a' for 4, x would be a text, and a fit would be refused by one row.
    (tmp_path / "a.csv").write_text("x,y\n3,1\n4,1\n", encoding="utf-8")
    (tmp_path / "a.json").write_text('{"x": 3}\n{"x": 4}\n', encoding="utf-8")
    with duck.cursor() as cursor:
        cursor.execute(f"CREATE VIEW guessed AS SELECT x FROM '{tmp_path}/a.csv'")
    with pytest.raises(ParameterError, match="guesses their types from values"):
        opened(sql(duck, query.format(folder=tmp_path)))
