"""`privclust.sql`: what it takes, and what it shows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from privclust import sql
from privclust.errors import ParameterError
from privclust.sources.sql import session

QUERY = "SELECT age FROM visits WHERE name = 'Kim'"


def test_a_table_shows_neither_address_nor_query() -> None:
    table = sql("postgresql://ada@db.example/clinic", QUERY)
    assert not any(word in repr(table) for word in ("ada", "db.example", "Kim"))
    assert table.query.name.startswith("query ")
    assert sql("postgresql://db.example/clinic", QUERY, name="visits").query.name.startswith(
        "visits, query "
    )


def test_other_addresses_are_refused() -> None:
    with pytest.raises(ParameterError, match="begin with postgresql://, postgres://, sqlite://"):
        sql("mysql://db.example/clinic", QUERY)


@pytest.mark.parametrize("connection", [None, 5, "visits.db", "host=db.example password=s3kr3t"])
def test_what_is_no_connection_is_refused(connection: Any) -> None:
    with pytest.raises(ParameterError, match="must be an address such as") as refused:
        sql(connection, QUERY)
    assert "s3kr3t" not in str(refused.value)


def test_connections_of_other_kinds_are_refused() -> None:
    with (
        closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(ParameterError, match="a connection of an ADBC driver"),
    ):
        sql(connection, QUERY)


def test_queries_that_change_are_refused_before_anything_is_opened() -> None:
    with pytest.raises(ParameterError, match="because of random"):
        sql("postgresql://db.example/clinic", "SELECT random()")


def test_a_missing_driver_is_named() -> None:
    with pytest.raises(ImportError, match=r"\[adbc\]"):
        session.driver("adbc_driver_nobody.dbapi")
