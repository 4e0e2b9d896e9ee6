"""Connections of other drivers are taken as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
def test_a_query_is_run_as_it_is_and_once_for_all_passes(knows_types: bool) -> None:
    connection = Connection(knows_types=knows_types)
    source = opened(sql(connection, "SELECT * FROM t", casts={"w": "number"}))
    assert source.schema.kinds == ("number", "number")
    connection.queries.clear()
    assert cells(source, "w") == cells(source, "w") == ["7", "x"]
    assert connection.queries == ["SELECT * FROM t"]
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

    with pytest.raises(EngineError) as failed:
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
