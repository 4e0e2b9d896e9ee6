"""Mixed tables in a database: labels as predict gives them, whatever the cells hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pytest
from helpers.mixed_rows import mixed_model, mixed_rows
from helpers.postgres import execute

from privclust import PrivateKMeans
from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.columns import Column
from privclust.domains.mixed import Mixed
from privclust.errors import ParameterError
from privclust.kernels.grid import GRID
from privclust.models._sql_cells import features
from privclust.models.sql_export import to_sql
from privclust.sources.frames import read_rows
from privclust.testing import SeededNoise, noise_from

LEVELS = ("1", "2", "true", "it's", 'a"b', "back\\slash", "größe", "", " x ", "1.5", "-- x")
CATEGORY = CategoryColumn("c", LEVELS)
WITH_OTHER = CategoryColumn("c", (*LEVELS, "other"))
DAYS = DateColumn("c", date(1960, 1, 1), date(2030, 1, 1))
STRANGE = [None, float("nan"), float("inf"), -float("inf"), -5.0, 0.0, 1.0, 77.7, 1e9]
CELLS: dict[str, tuple[Column, Any]] = {
    "numbers": (NumberColumn("c", -3, 100), pa.array(STRANGE)),
    "logarithms": (NumberColumn("c", 0.5, 1e6, transform="log"), pa.array(STRANGE)),
    "logarithms of one more": (NumberColumn("c", 0, 1e6, transform="log1p"), pa.array(STRANGE)),
    "numbers with a value for gaps": (NumberColumn("c", -3, 100, missing=7.5), pa.array(STRANGE)),
    "logarithms with a value for gaps": (
        NumberColumn("c", 0, 1e6, transform="log1p", missing=250),
        pa.array(STRANGE),
    ),
    "texts": (CATEGORY, pa.array([*LEVELS, None, "A", "X", "1.0", "nan", "other"])),
    "texts with others": (WITH_OTHER, pa.array([*LEVELS, None, "A", "X", "1.0", "nan", "other"])),
    "integers": (WITH_OTHER, pa.array([1, 2, 3, None])),
    "integers with gaps": (WITH_OTHER, pa.array([1.0, 2.0, 3.0, 1.5, None, float("nan")])),
    "integers of 32 bits": (CATEGORY, pa.array([1.0, 2.5, None, float("nan")], pa.float32())),
    "truth values": (CATEGORY, pa.array([True, False, None])),
    "days with a day for gaps": (
        replace(DAYS, missing=date(2001, 9, 9)),
        pa.array([date(1961, 3, 1), None]),
    ),
    "days": (DAYS, pa.array([date(1961, 3, 1), date(2000, 2, 29), date(1950, 1, 1), None])),
    "times": (
        DAYS,
        pa.array(
            [
                datetime(1961, 3, 1, 23, 59),
                datetime(2000, 2, 29, 0, 1),
                datetime(1969, 12, 31, 1),
                None,
            ]
        ),
    ),
}


def expected(column: Column, cells: Any) -> Any:
    """Return what an engine makes of the cells, in units of the ball."""
    mixed = Mixed((column,))
    table = pa.table({"c": cells})
    return mixed.to_grid(read_rows(table, 0, len(table), mixed)) / GRID


def in_unit(column: Column, found: Any) -> Any:
    mixed = Mixed((column,))
    return (np.array(found, dtype=float) - mixed.center) / mixed.scales


@pytest.mark.parametrize(("column", "cells"), CELLS.values(), ids=CELLS)
def test_duckdb_reads_cells_as_engines_do(column: Column, cells: Any) -> None:
    with duckdb.connect() as database:
        database.register("t", pa.table({"c": cells}))
        listed = ", ".join(features([column], "duckdb"))
        found = database.execute(f"SELECT {listed} FROM t AS given").fetchall()
    assert in_unit(column, found) == pytest.approx(expected(column, cells), abs=2e-6)


POSTGRES = {
    "numbers": "double precision",
    "logarithms": "double precision",
    "logarithms of one more": "double precision",
    "numbers with a value for gaps": "double precision",
    "logarithms with a value for gaps": "double precision",
    "days with a day for gaps": "date",
    "texts": "text",
    "texts with others": "text",
    "integers": "integer",
    "truth values": "boolean",
    "days": "date",
    "times": "timestamp",
}


@pytest.mark.parametrize("name", POSTGRES)
def test_postgres_reads_cells_as_engines_do(name: str, database: str) -> None:
    column, cells = CELLS[name]
    values = ", ".join(
        "(NULL)" if cell is None else f"({_typed(cell)})" for cell in cells.to_pylist()
    )
    listed = ", ".join(features([column], "postgres"))
    found = execute(
        database,
        f"CREATE TABLE t (id serial, c {POSTGRES[name]})",
        f"INSERT INTO t (c) VALUES {values}",
        f"SELECT {listed} FROM t AS given ORDER BY id",
    )
    assert in_unit(column, found) == pytest.approx(expected(column, cells), abs=2e-6)


ESCAPES = ("\\", "\\'", "\\\\'", "\\n", "'", "''", "\\'); DROP TABLE t; --", "plain")


@pytest.mark.parametrize("setting", ["on", "off"])
def test_postgres_reads_levels_alike_whatever_its_strings_conform_to(
    setting: str, database: str
) -> None:
    column = CategoryColumn("c", ESCAPES)
    cells = pa.array([*ESCAPES, None, "\n"])
    listed = ", ".join(features([column], "postgres"))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (id serial, c text)")
        for cell in cells.to_pylist():
            connection.execute("INSERT INTO t (c) VALUES (%s)", [cell])
        connection.execute(f"SET standard_conforming_strings = {setting}".encode())
        query = f"SELECT {listed} FROM t AS given ORDER BY id".encode()
        found = connection.execute(query).fetchall()
    assert in_unit(column, found) == pytest.approx(expected(column, cells), abs=2e-6)


def test_duckdb_reads_levels_with_escapes() -> None:
    column, cells = CategoryColumn("c", ESCAPES), pa.array([*ESCAPES, None, "\n"])
    with duckdb.connect() as database:
        database.register("t", pa.table({"c": cells}))
        listed = ", ".join(features([column], "duckdb"))
        found = database.execute(f"SELECT {listed} FROM t AS given").fetchall()
    assert in_unit(column, found) == pytest.approx(expected(column, cells), abs=2e-6)


@pytest.mark.attack
def test_postgres_literal_with_a_backslash_says_that_it_escapes() -> None:
    (first, _) = features([CategoryColumn("c", ("\\'", "b"))], "postgres")
    assert r"= E'\\''' THEN" in first


def _typed(cell: object) -> str:
    text = str(cell).replace("'", "''")
    return f"'{text}'"


def test_duckdb_labels_a_mixed_table_as_predict_does() -> None:
    model, rows = mixed_model(), mixed_rows(2000, seed=1)
    gaps = [None if place % 7 == 0 else ward for place, ward in enumerate(rows["ward"].to_pylist())]
    rows = rows.set_column(2, "ward", pa.array(gaps))
    with duckdb.connect() as database:
        database.register("t", rows)
        found = database.execute(to_sql(model, "duckdb", "t")).fetchall()
    assert [label for *_, label in found] == model.predict(rows).tolist()


def test_duckdb_labels_gaps_as_predict_does_where_their_value_is_declared() -> None:
    rng = np.random.default_rng(0)
    bmi, day = rng.normal(np.repeat([22.0, 40.0], 2000), 1.0), np.tile([100, 300], 2000)
    gaps = rng.random(4000) < 0.3
    rows = pa.table(
        {
            "bmi": pa.array(bmi, mask=gaps),
            "visit": pa.array(day, pa.int32(), mask=gaps[::-1]).cast(pa.date32()),
        }
    )
    bounds: Any = {
        "bmi": {"type": "number", "lower": 12, "upper": 60, "missing": 22},
        "visit": {"type": "date", "lower": "1970-01-01", "upper": "1971-01-01"},
    }
    bounds["visit"]["missing"] = "1970-04-11"
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(4, delta=1e-6, epsilon=4, bounds=bounds, random_state=0).fit(rows)
    labels = model.predict(rows)
    with duckdb.connect() as database:
        database.register("t", rows)
        found = database.execute(to_sql(model, "duckdb", "t")).fetchall()
    assert [label for *_, label in found] == labels.tolist()
    day = pa.array([None, date(1970, 4, 11)])
    gap, typed = model.predict(pa.table({"bmi": [None, 22.0], "visit": day}))
    assert gap == typed


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_texts_are_not_taken_for_days(dialect: Any, database: str) -> None:
    """They would be read in other ways than predict reads them."""
    (listed,) = features([DAYS], dialect)
    make, ask = "CREATE TABLE t (c varchar(9))", f"SELECT {listed} FROM t AS given"
    if dialect == "duckdb":
        with duckdb.connect() as place:
            place.execute(make)
            with pytest.raises(duckdb.BinderException, match="date_trunc"):
                place.execute(ask)
    else:
        with pytest.raises(psycopg.errors.UndefinedFunction):
            execute(database, make, ask)


def test_spark_has_literals_of_its_own() -> None:
    text = " ".join(features([CATEGORY], "spark"))
    assert r"= 'it\'s'" in text
    assert r"= 'back\\slash'" in text


def test_a_level_that_no_text_in_sql_can_be_is_refused() -> None:
    with pytest.raises(ParameterError, match="Label rows by predict"):
        features([CategoryColumn("c", ("a", "\x00"))], "duckdb")
