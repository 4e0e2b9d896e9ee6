"""Queries of databases that are not among those we test: their connections, as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from privclust.sources.frames import arrow_schema
from privclust.sources.guard import guarded
from privclust.sources.sql.casts import CASTS_HINT, cast_schema
from privclust.sources.sql.session import INSIDE, Query, Session, cursor_of, read_batches


class PlainSession(Session):
    """A user's own connection of any ADBC driver.

    Nothing is begun, ended or set there. What the first pass reads is kept for the others.

    Parameters
    ----------
    connection : Connection
        The user's.
    query : Query
        What is read.
    kind : str
        What the driver calls the database.
    """

    _held_by = "as the database gave them to the first pass"

    def __init__(self, connection: Any, query: Query, kind: str) -> None:
        super().__init__(connection, query, kind)
        declared = _types(connection, query.text)
        self.types = pa.schema([pa.field(one.name, one.type) for one in declared])
        plain = replace(arrow_schema(self.types), hint=CASTS_HINT)
        self.schema = cast_schema(plain, query.casts)

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        for batch in read_batches(self._connection, self._query.text, {}):
            yield batch.select(list(columns))


@guarded
def _types(connection: Any, query: str) -> Any:
    # Guarded, because some drivers know types only when they have read rows.
    with cursor_of(connection) as cursor:
        try:
            return cursor.adbc_execute_schema(query)
        except Exception:
            cursor.execute(f"SELECT * FROM (\n{query}\n) AS {INSIDE} WHERE 1 = 0")
            reader = cursor.fetch_record_batch()
            try:
                return reader.schema
            finally:
                reader.close()
