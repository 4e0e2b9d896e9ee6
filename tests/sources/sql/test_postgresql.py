"""PostgreSQL: one snapshot for a fit, types as they are declared, and traps of its driver."""

from __future__ import annotations

import math
from pathlib import Path

import adbc_driver_postgresql.dbapi
import pyarrow as pa
import pytest
from helpers.databases import cells, forget, opened
from helpers.postgres import Server, cut, execute

from privclust import sql
from privclust.errors import (
    ColumnError,
    ColumnTypeError,
    EngineError,
    ParameterError,
    SnapshotError,
)
from privclust.sources.cells import ids, numbers
from privclust.sources.dates import days
from privclust.sources.guard import guarded


@pytest.fixture(scope="module")
def url(postgres: Server) -> str:
    address = postgres.new_database()
    execute(
        address,
        "CREATE TYPE mood AS ENUM ('calm', 'cross')",
        "CREATE TABLE t (i int, n numeric, m numeric(12, 2), d date, s timestamp, z timestamptz, "
        "w text, e mood, u uuid, c money, o oid, j jsonb, b boolean, a float8[])",
        "INSERT INTO t VALUES (1, 1.5, 2, '1970-01-03', '1970-01-03 23:59', "
        "'1970-01-03 23:30-05', '12', 'calm', '00000000-0000-0000-0000-000000000001', 3, 7, '{}', "
        "true, '{1}')",
        "INSERT INTO t (i, n, d, s, z, w) VALUES (2, 'NaN', 'infinity', 'infinity', 'infinity', "
        "'twelve'), (3, '-Infinity', '-infinity', '-infinity', '-infinity', NULL), "
        "(4, '1e400', '5874897-12-31', '294276-12-31', '294276-12-31', ' +1e3'), "
        "(5, '-1e-400', '4713-01-01 BC', '4713-01-01 BC', '4713-01-01 BC', ''), "
        "(6, NULL, NULL, NULL, NULL, '1,5')",
        "CREATE VIEW hidden AS SELECT i, random() AS r FROM t",
        "CREATE VIEW today AS SELECT i FROM t WHERE d < current_date",
        "CREATE FUNCTION plain(x int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN x; END'",
        "CREATE FUNCTION fixed(x int) RETURNS int IMMUTABLE LANGUAGE plpgsql "
        "AS 'BEGIN RETURN x; END'",
        "CREATE VIEW cut AS SELECT i FROM t ORDER BY i LIMIT 2",
        "CREATE VIEW cut_below AS SELECT i FROM cut WHERE i > 0",
        "CREATE VIEW skipped AS SELECT i FROM t ORDER BY i OFFSET 2",
        "CREATE VIEW listed AS SELECT i, x FROM t, (VALUES (random()), (2)) AS v (x)",
        "CREATE VIEW listed_days AS SELECT i, x FROM t, (VALUES (current_date), (NULL)) AS v (x)",
        "CREATE VIEW listed_now AS SELECT i, x FROM t, (VALUES (now()), (NULL)) AS v (x)",
        "CREATE VIEW framed AS SELECT i, sum(i) OVER (ORDER BY i ROWS (random() * 3)::int "
        "PRECEDING) AS s FROM t",
        "CREATE FUNCTION drawn(x int, y int) RETURNS boolean LANGUAGE plpgsql "
        "AS 'BEGIN RETURN random() < 0.5; END'",
        "CREATE OPERATOR <~> (LEFTARG = int, RIGHTARG = int, FUNCTION = drawn)",
        "CREATE FUNCTION odd(x int, y money) RETURNS boolean LANGUAGE plpgsql "
        "AS 'BEGIN RETURN random() < 0.5; END'",
        "CREATE OPERATOR = (LEFTARG = int, RIGHTARG = money, FUNCTION = odd)",
        "CREATE VIEW compared AS SELECT i FROM t WHERE i <~> 5",
        "CREATE VIEW compared_plainly AS SELECT i FROM t WHERE i = 5::money",
        "CREATE TABLE indexed (i int PRIMARY KEY)",
        "INSERT INTO indexed SELECT generate_series(1, 5000)",
        "ANALYZE indexed",
    )
    return address


# Types -------------------------------------------------------------------------------------------


def test_kinds_follow_from_declared_types(url: str) -> None:
    schema = opened(sql(url, "SELECT * FROM t")).schema
    assert dict(zip(schema.names or (), schema.kinds, strict=True)) == {
        **dict.fromkeys("i", "integer"),
        **dict.fromkeys("nmb", "number"),
        **dict.fromkeys("dsz", "date"),
        **dict.fromkeys("weu", "text"),
        **dict.fromkeys("coja", "other"),
    }


def test_numeric_is_read_by_us_and_cell_by_cell(url: str) -> None:
    source = opened(sql(url, "SELECT n, i FROM t ORDER BY i"))
    (batch,) = source.batches(["n"])
    found = numbers(batch.column("n")).tolist()
    assert found[0] == 1.5
    assert math.isnan(found[1])
    assert math.isnan(found[5])
    assert found[2] == -math.inf
    assert found[3] == math.inf
    assert found[4] == 0.0


def test_days_that_the_driver_cannot_hold_do_not_wrap_around(url: str) -> None:
    source = opened(sql(url, "SELECT d, s, z, i FROM t ORDER BY i"))
    (batch,) = source.batches(["d", "s", "z"])
    for column in batch.columns:
        first, late, early, far, long_ago, none = days(column).tolist()
        assert late >= 2932896  # the last day of 9999
        assert far >= 2932896
        assert early <= -719162  # the first day of the year 1
        assert long_ago <= -719162
        assert math.isnan(none)
        assert 2 <= first <= 3


def test_times_with_zones_have_their_day_in_utc_whatever_the_account_prefers(url: str) -> None:
    role = url.rpartition("/")[2]
    execute(url, f"ALTER DATABASE {role} SET timezone = 'Australia/Sydney'")
    try:
        query = "SELECT z, z::date AS cast_there FROM t WHERE i = 1"
        (batch,) = opened(sql(url, query)).batches(["z", "cast_there"])
    finally:
        execute(url, f"ALTER DATABASE {role} RESET timezone")
    assert [days(column).tolist() for column in batch.columns] == [[3.0], [3.0]]


def test_an_encoding_that_lacks_a_text_does_not_end_a_fit(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    (batch,) = opened(sql(url, "SELECT '名'::text AS name")).batches(["name"])
    assert batch.column(0).to_pylist() == ["名"]


@pytest.mark.attack
def test_what_planning_says_of_rows_is_withheld(url: str) -> None:
    """Functions that planning runs may read rows."""
    peek = "strpos(table_to_xml('t', true, false, '')::text, 'a') > 0"
    query = f"SELECT i FROM t WHERE i < 100 / (CASE WHEN {peek} THEN 0 ELSE 1 END)"
    with pytest.raises(ParameterError, match="cannot plan the query"):
        opened(sql(url, query))


def test_a_text_is_a_number_only_if_a_cast_says_so(url: str) -> None:
    with pytest.raises(ColumnTypeError, match=r"do not hold numbers: w.*casts={"):
        opened(sql(url, "SELECT w FROM t")).schema.features(None)
    source = opened(sql(url, "SELECT w, i FROM t ORDER BY i", casts={"w": "number"}))
    assert source.schema.features(None, ["w"]).kinds == ("number",)
    (batch,) = source.batches(["w"])
    assert [str(one) for one in numbers(batch.column(0))] == [
        *("12.0", "nan", "nan", "1000.0", "nan", "nan")
    ]


def test_a_uuid_is_an_id(url: str) -> None:
    (batch,) = opened(sql(url, "SELECT u FROM t WHERE i = 1")).batches(["u"])
    assert ids(batch.column(0)).to_pylist() == [bytes(15) + b"\x01"]


def test_two_columns_of_one_name_are_refused(url: str) -> None:
    with pytest.raises(ColumnError, match="names that differ"):
        opened(sql(url, "SELECT t.i, other.i FROM t JOIN t AS other USING (n)"))


def test_columns_are_found_by_exactly_their_names(url: str) -> None:
    names = ["a.b", 'q"x', "größe", "^a.*$", "*", "select", "A"]
    columns = ", ".join(
        f'{n} AS "{name.replace(chr(34), chr(34) * 2)}"' for n, name in enumerate(names)
    )
    source = opened(sql(url, f"SELECT {columns} -- and a comment"))
    assert source.schema.names == tuple(names)
    assert [cells(source, name) for name in names] == [[n] for n in range(len(names))]


# Queries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ("SELECT * FROM hidden", "random"),
        ("SELECT * FROM today", "current_date"),
        ("SELECT plain(i) FROM t", "plain"),
        ('SELECT "plain"(i) FROM t', "plain"),
        ("SELECT i FROM t WHERE lo_get(5) IS NULL", "other rows|refuses"),
        ("SELECT * FROM listed", "random"),
        ("SELECT * FROM listed_days", "current_date"),
        ("SELECT * FROM listed_now", "now"),
        ("SELECT * FROM framed", "random"),
        ("SELECT i FROM t WHERE i <~> 5", "<~>"),
        ("SELECT i FROM t WHERE i OPERATOR(public.<~>) 5", "<~>"),
        ("SELECT * FROM compared", "drawn"),
        ("SELECT * FROM compared_plainly", "odd"),
        (
            'WITH "a\'" AS MATERIALIZED (SELECT i, U&"r\\0061ndom"() AS r FROM t), "b\'" AS '
            'MATERIALIZED (SELECT * FROM "a\'") SELECT * FROM "b\'"',
            "random",
        ),
    ],
)
def test_what_changes_is_refused_by_what_the_server_knows(url: str, query: str, cause: str) -> None:
    with pytest.raises(ParameterError, match=cause):
        opened(sql(url, query))


@pytest.mark.attack
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM cut",
        "SELECT * FROM cut_below",
        "SELECT * FROM skipped",
        "SELECT i FROM t WHERE i IN (SELECT i FROM cut)",
        "SELECT i FROM t /* /* */ ' */ LIMIT 5 --'",
    ],
)
def test_what_cuts_rows_off_is_refused_also_where_a_view_hides_it(url: str, query: str) -> None:
    with pytest.raises(ParameterError, match="push another out"):
        opened(sql(url, query))


def test_a_limit_of_the_servers_own_is_none(url: str) -> None:
    """The largest value of a column is the first entry of its index, and no more."""
    source = opened(sql(url, "SELECT i FROM indexed WHERE i = (SELECT max(i) FROM indexed)"))
    assert cells(source, "i") == [5000]


def test_a_setting_of_the_account_does_not_change_how_literals_are_read(url: str) -> None:
    role = url.rpartition("/")[2]
    execute(url, f"ALTER DATABASE {role} SET standard_conforming_strings = off")
    try:
        source = opened(sql(url, "SELECT '\\' AS w FROM t WHERE i = 1 AND w <> '\\'"))
        assert cells(source, "w") == ["\\"]
    finally:
        execute(url, f"ALTER DATABASE {role} RESET standard_conforming_strings")


def test_a_function_that_is_declared_as_fixed_is_taken(url: str) -> None:
    source = opened(sql(url, "SELECT fixed(i) AS i FROM t"))
    assert sorted(cells(source, "i")) == [1, 2, 3, 4, 5, 6]


def test_what_writes_is_refused(url: str) -> None:
    execute(url, "CREATE SEQUENCE counter")
    with pytest.raises(ParameterError, match=r"refuses the query|other rows"):
        opened(sql(url, "SELECT setval('counter', 5)"))
    with pytest.raises(ParameterError, match="refuses the query"):
        opened(sql(url, "DELETE FROM t RETURNING i")).batches(["i"])
    assert execute(url, "SELECT last_value, is_called FROM counter") == [(1, False)]
    assert execute(url, "SELECT count(*) FROM t") == [(6,)]


def test_a_query_that_the_database_does_not_understand_is_refused_in_its_words(url: str) -> None:
    with pytest.raises(ParameterError, match='the query: relation "nowhere" does not exist'):
        opened(sql(url, "SELECT i FROM nowhere"))


# Snapshots ---------------------------------------------------------------------------------------


def test_a_state_that_nobody_exported_has_no_identity(postgres: Server) -> None:
    url = postgres.new_database()
    execute(url, "CREATE TABLE t AS SELECT 1 AS i")
    snapshot = opened(sql(url, "SELECT i FROM t", name="ages")).snapshot
    assert snapshot is not None
    assert snapshot.identity is None
    database = url.rpartition("/")[2]
    assert snapshot.origin.sentence == (
        f'PostgreSQL, "database {database}, ages, query 3faf64038d904939", '
        "one REPEATABLE READ transaction"
    )


def test_an_exported_snapshot_can_be_had_again(postgres: Server) -> None:
    url = postgres.new_database()
    execute(url, "CREATE TABLE t AS SELECT 1 AS i")
    with adbc_driver_postgresql.dbapi.connect(url) as keeper, keeper.cursor() as cursor:
        cursor.execute("LOCK TABLE t IN ACCESS SHARE MODE")
        cursor.execute("SELECT pg_export_snapshot(), pg_export_snapshot()")
        ((exported, another),) = cursor.fetchall()
        execute(url, "INSERT INTO t VALUES (2)")
        source = opened(sql(url, "SELECT i FROM t", snapshot=exported))
        assert cells(source, "i") == [1]
        found = [
            source.snapshot,
            opened(sql(url, "SELECT i FROM t", snapshot=exported)).snapshot,
            opened(sql(url, "SELECT i + 1 AS i FROM t", snapshot=exported)).snapshot,
            opened(sql(url, "SELECT i FROM t", snapshot=exported, casts={"i": "text"})).snapshot,
            opened(sql(url, "SELECT i FROM t", snapshot=another)).snapshot,
        ]
    first, again, *others = [None if one is None else one.identity for one in found]
    assert first is not None
    assert first == again
    assert len({first, *others}) == 4
    with pytest.raises(ParameterError, match="must be what pg_export_snapshot"):
        opened(sql(url, "SELECT i FROM t", snapshot="'; DROP TABLE t"))
    with pytest.raises(ParameterError, match="the session that exported it has ended"):
        opened(sql(url, "SELECT i FROM t", snapshot="00000003-0000001B-1"))


@pytest.mark.attack
@pytest.mark.parametrize(
    ("locked", "read"),
    [(None, "t"), ("t", "t JOIN other USING (i)"), ("parts", "parts"), (None, "seen")],
)
def test_a_snapshot_whose_tables_somebody_may_empty_is_refused(
    postgres: Server, locked: str | None, read: str
) -> None:
    url = postgres.new_database()
    execute(
        url,
        "CREATE TABLE t AS SELECT 1 AS i",
        "CREATE TABLE other AS SELECT 1 AS i",
        "CREATE VIEW seen AS SELECT i FROM t",
        "CREATE TABLE parts (i int) PARTITION BY RANGE (i)",
        "CREATE TABLE first PARTITION OF parts FOR VALUES FROM (0) TO (5)",
        "CREATE TABLE late AS SELECT 5 AS i",
    )
    with adbc_driver_postgresql.dbapi.connect(url) as keeper, keeper.cursor() as cursor:
        if locked is not None:
            cursor.execute(f"LOCK TABLE {locked} IN ACCESS SHARE MODE")
        cursor.execute("SELECT pg_export_snapshot()")
        ((exported,),) = cursor.fetchall()
        if read == "parts":
            assert cells(opened(sql(url, "SELECT i FROM parts", snapshot=exported)), "i") == []
            execute(url, "ALTER TABLE parts ATTACH PARTITION late FOR VALUES FROM (5) TO (9)")
        with pytest.raises(ParameterError, match="ACCESS SHARE MODE"):
            opened(sql(url, f"SELECT i FROM {read}", snapshot=exported))


def test_a_view_that_is_locked_holds_its_tables(postgres: Server) -> None:
    url = postgres.new_database()
    execute(url, "CREATE TABLE t AS SELECT 1 AS i", "CREATE VIEW seen AS SELECT i FROM t")
    with adbc_driver_postgresql.dbapi.connect(url) as keeper, keeper.cursor() as cursor:
        cursor.execute("LOCK TABLE seen IN ACCESS SHARE MODE")
        cursor.execute("SELECT pg_export_snapshot()")
        ((exported,),) = cursor.fetchall()
        assert cells(opened(sql(url, "SELECT i FROM seen", snapshot=exported)), "i") == [1]


def test_what_was_read_once_is_there_although_the_server_ends_the_session(
    postgres: Server,
) -> None:
    url = postgres.new_database()
    execute(url, "CREATE TABLE t AS SELECT 1 AS i, 2 AS j")
    source = opened(sql(url, "SELECT * FROM t"))
    assert cells(source, "i") == [1]
    cut(url)
    assert cells(source, "i") == [1]
    with pytest.raises(SnapshotError, match="ended the connection in mid-fit"):
        cells(source, "j")


def test_a_session_that_the_server_ends_is_a_clear_error(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    url = postgres.new_database()
    execute(url, "CREATE TABLE t AS SELECT generate_series(1, 500000) AS i")
    source = opened(sql(url, "SELECT i FROM t"))
    read = guarded(lambda: sum(batch.num_rows for batch in source.batches(["i"])))
    assert read() == 500000
    cut(url)
    with pytest.raises(SnapshotError, match="ended the connection in mid-fit"):
        read()
    source = opened(sql(url, "SELECT i FROM t"))
    stream = source.batches(["i"])
    next(stream)
    cut(url)
    with pytest.raises((SnapshotError, OSError)):  # what was on its way may all have arrived
        guarded(lambda: [*stream, *source.batches(["i"])])()


def test_a_cell_at_which_the_database_fails_shows_in_no_message(postgres: Server) -> None:
    url = postgres.new_database()
    execute(url, "CREATE TABLE t AS SELECT 'canary1234567' AS w")
    source = opened(sql(url, "SELECT w::int AS i FROM t"))
    with pytest.raises(EngineError, match="Why is withheld") as failed:
        guarded(lambda: list(source.batches(["i"])))()
    assert not isinstance(failed.value, SnapshotError)
    assert "canary" not in str(failed.value)


def test_a_stream_that_is_left_in_the_middle_can_be_begun_anew(postgres: Server) -> None:
    url = postgres.new_database()
    execute(url, "CREATE TABLE t AS SELECT generate_series(1, 300000) AS i")
    source = opened(sql(url, "SELECT i FROM t"))
    for _ in range(3):
        stream = source.batches(["i"])
        next(stream)
        del stream
    assert sum(batch.num_rows for batch in source.batches(["i"])) == 300000


def test_a_users_connection_is_left_alone(postgres: Server) -> None:
    url = postgres.new_database()
    execute(url, "CREATE TABLE t AS SELECT 1 AS i")
    with adbc_driver_postgresql.dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("INSERT INTO t VALUES (2)")  # not committed
        source = opened(sql(connection, "SELECT i FROM t"))
        assert cells(source, "i") == [1]
        assert source.snapshot is not None
        source.snapshot.close()
        cursor.execute("SELECT current_setting('transaction_isolation'), count(*) FROM t")
        assert cursor.fetchall() == [("read committed", 2)]
        connection.rollback()


def test_a_closed_session_is_gone_from_the_server(postgres: Server) -> None:
    url = postgres.new_database()
    ours = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    source = opened(sql(url, "SELECT 1 AS i"))
    assert execute(url, ours) == [(2,)]
    del source
    assert execute(url, ours) == [(1,)]


# Addresses ---------------------------------------------------------------------------------------


def test_a_connection_that_fails_says_why_and_not_where(postgres: Server, tmp_path: Path) -> None:
    address = postgres.url("nowhere", "nobody")
    with pytest.raises(ConnectionError, match='role "nobody" does not exist') as failed:
        opened(sql(address, "SELECT 1 AS i"))
    assert address not in str(failed.value)


def test_types_of_no_rows_are_those_of_rows(url: str) -> None:
    source = opened(sql(url, "SELECT i, n, z, u FROM t"))
    (empty,) = source.empty(["z", "n", "u", "i"])
    batch = next(source.batches(["z", "n", "u", "i"]))
    assert empty.schema == batch.schema
    assert batch.schema.field("n").type == pa.string()
