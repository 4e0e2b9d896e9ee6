"""Rows of databases give the NumPy engine's integers, whatever happens there in the meantime."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import COLUMNS, KEY, MOMENTS, UNITS, in_memory, people, results, streamed
from helpers.databases import forget, in_postgres, in_sqlite, in_sqlite_by_hand
from helpers.postgres import Server, execute

from privclust import sql
from privclust.engines import spilled
from privclust.queries.base import Count

Lay = Callable[[Any], Any]
"""From an Arrow table to one that `fit` takes."""
KINDS = ("PostgreSQL", "SQLite")
every_database = pytest.mark.parametrize("kind", KINDS)
both_units = pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "PARTITIONS", 2)


@pytest.fixture
def lay(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Lay:
    def laid(table: Any) -> Any:
        if kind == "SQLite":
            return sql(in_sqlite(table, tmp_path / "x.db"), "SELECT * FROM people")
        server: Server = request.getfixturevalue("postgres")
        url = server.new_database()
        return sql(url, in_postgres(table, url))

    return laid


@both_units
@every_database
def test_every_query_has_the_same_integers(unit: str, lay: Lay) -> None:
    found = results(streamed(lay(people(120)), unit=UNITS[unit]))
    assert found == results(in_memory(people(120), unit=UNITS[unit]))


@pytest.mark.parametrize("unit", UNITS)
@every_database
def test_every_unit_and_its_sample_have_the_same_integers(unit: str, lay: Lay) -> None:
    engine = streamed(lay(people(120)), unit=UNITS[unit])
    same = in_memory(people(120), unit=UNITS[unit])
    assert results(engine, MOMENTS) == results(same, MOMENTS)
    assert results(engine.sample(2, KEY), MOMENTS)
    if unit != "row":
        assert results(engine.sample(2, KEY), MOMENTS) == results(same.sample(2, KEY), MOMENTS)


@both_units
@every_database
def test_tables_of_hardly_any_rows(unit: str, lay: Lay) -> None:
    for n_rows in (0, 1):
        table = people(120).slice(20, n_rows)
        found = results(streamed(lay(table), unit=UNITS[unit]), [Count(), *MOMENTS])
        assert found == results(in_memory(table, unit=UNITS[unit]), [Count(), *MOMENTS])


@every_database
def test_the_order_of_rows_changes_nothing(lay: Lay) -> None:
    shuffled = people(120).take(pa.array(np.random.default_rng(5).permutation(120)))
    for unit in (UNITS["row"], UNITS["texts"]):
        found = results(streamed(lay(shuffled), unit=unit), MOMENTS)
        assert found == results(in_memory(people(120), unit=unit), MOMENTS)


def test_a_table_that_others_change_between_passes_stays_as_it_was(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    url = postgres.new_database()
    engine = streamed(sql(url, in_postgres(people(120), url)))
    assert results(engine, [Count()]) == results(in_memory(people(120)), [Count()])
    execute(url, "DELETE FROM people WHERE number = 7", "INSERT INTO people SELECT * FROM people")
    execute(url, "UPDATE people SET x = 0")
    assert results(engine, MOMENTS) == results(in_memory(people(120)), MOMENTS)
    execute(url, "VACUUM FULL pg_description")  # which needs no lock of ours
    assert results(engine, MOMENTS) == results(in_memory(people(120)), MOMENTS)


def test_a_file_of_sqlite_that_others_write_to_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget(monkeypatch)
    file = tmp_path / "x.db"
    address = in_sqlite(people(120), file)
    in_sqlite_by_hand(file, "PRAGMA journal_mode = WAL")
    engine = streamed(sql(address, "SELECT * FROM people"))
    assert results(engine, [Count()]) == results(in_memory(people(120)), [Count()])
    in_sqlite_by_hand(file, "DELETE FROM people WHERE number = 7")
    assert results(engine, MOMENTS) == results(in_memory(people(120)), MOMENTS)
    again = streamed(sql(address, "SELECT * FROM people"))
    assert results(again, MOMENTS) != results(engine, MOMENTS)


def test_columns_are_read_in_the_order_of_the_domain(postgres: Server) -> None:
    url = postgres.new_database()
    query = in_postgres(people(120), url)
    turned = sql(url, f"SELECT z, name, x, y FROM ({query}) AS inner_rows")
    assert results(streamed(turned, COLUMNS), MOMENTS) == results(in_memory(people(120)), MOMENTS)
