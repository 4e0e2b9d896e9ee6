"""Tables in databases, for tests."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import adbc_driver_sqlite.dbapi
import pytest

from privclust.engines import streaming
from privclust.sources.sql.spool import Spool
from privclust.sources.streams import Source, source_of


def in_postgres(table: Any, url: str, name: str = "people") -> str:
    """Write an Arrow table into a database of PostgreSQL; return the query of all its rows."""
    with adbc_driver_postgresql.dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(name, table, mode="replace")
        connection.commit()
    return f"SELECT * FROM {name}"


def in_sqlite(table: Any, file: Path, name: str = "people") -> str:
    """Write an Arrow table into a file of SQLite; return its address."""
    with (
        adbc_driver_sqlite.dbapi.connect(str(file)) as connection,
        connection.cursor() as cursor,
    ):
        cursor.adbc_ingest(name, table, mode="replace")
        connection.commit()
    return f"sqlite:///{file}"


def in_sqlite_by_hand(file: Path, *statements: str) -> str:
    """Run statements on a file of SQLite; return its address."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return f"sqlite:///{file}"


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each pass read the database, and none what an earlier one kept."""
    monkeypatch.setattr(Spool, "batches", lambda spool, stream, columns: stream(columns))
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 0)


def opened(table: Any) -> Source:
    """Return the source of a query."""
    found = source_of(table)
    assert found is not None
    return found


def cells(source: Source, column: str) -> list[Any]:
    """Return all cells of a column, as they arrive."""
    return [cell for batch in source.batches([column]) for cell in batch.column(0).to_pylist()]
