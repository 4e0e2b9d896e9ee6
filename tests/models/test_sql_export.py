"""The query labels rows in real databases as predict does, whatever columns are called."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pytest
from helpers.kinds import OTHER_KINDS
from helpers.postgres import execute

from privclust import PEMeans, PrivateKMeans
from privclust.errors import ParameterError
from privclust.models.sql_export import to_sql
from privclust.testing import SeededNoise, noise_from

N_ROWS = 400
NAMES = {
    "plain": ("age", "weight"),
    "quotes": ('a"b', "c'd"),
    "an attack": ('x" FROM t; DROP TABLE t; --', "'); DROP TABLE t; --"),
    "comments": ("-- x", "/* y"),
    "lines": ("a\nb", "c\\d\te"),
    "dots and stars": ("a.b", "*"),
    "words": ("select", "from"),
    "other scripts": ("名前", "Größe 😀"),
    "percent": ("%s", "{0}"),
    "spaces and cases": (" A ", "B"),
    "a backtick": ("a`b", "`"),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def strange_rows() -> Any:
    """Return rows with gaps and numbers beyond bounds, as a database may hold them."""
    rows = np.random.default_rng(0).uniform(-150.0, 150.0, (N_ROWS, 2))
    rows[:20, 0], rows[10:30, 1] = np.nan, np.nan
    rows[30:40, 0], rows[35:45, 1] = np.inf, -np.inf
    rows[45], rows[46], rows[47] = 0.0, 1e300, -0.0
    return rows


@cache
def fitted(names: tuple[str, ...], kind: Any = PrivateKMeans, k: int = 4, **given: Any) -> Any:
    bounds = {name: (-100.0, 90.0 + place) for place, name in enumerate(names)}
    rows = np.random.default_rng(1).uniform(-150.0, 150.0, (3000, len(names)))
    with noise_from(SeededNoise(0)):
        model = kind(k, delta=1e-6, bounds=bounds, random_state=0, **given)
        return model.fit(pd.DataFrame(rows, columns=list(names)))


def nulls(column: Any) -> list[float | None]:
    """Every other gap is no value at all, the rest are NaN."""
    return [
        None if np.isnan(cell) and place % 2 else float(cell) for place, cell in enumerate(column)
    ]


def in_duckdb(model: Any, rows: Any, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    columns = {name: pa.array(nulls(rows[:, place])) for place, name in enumerate(names)}
    with duckdb.connect() as database:
        database.register("t", pa.table({"id": range(len(rows)), **columns}))
        query = to_sql(model, "duckdb", "t")
        found = database.execute(query)
        assert [column[0] for column in found.description] == ["id", *names, "cluster"]
        return sorted(found.fetchall())


def in_postgres(model: Any, rows: Any, names: tuple[str, ...], url: str) -> list[int]:
    listed = ", ".join(f"{quoted(name)} double precision" for name in names)
    cells = [nulls(rows[:, place]) for place in range(len(names))]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE t (id int, {listed})".encode())
        with connection.cursor() as cursor, cursor.copy("COPY t FROM STDIN") as copy:
            for row in zip(range(len(rows)), *cells, strict=True):
                copy.write_row(row)
    query = f"SELECT cluster FROM ({to_sql(model, 'postgres', 't')}) AS labelled ORDER BY id"
    found = [label for (label,) in execute(url, query)]
    assert execute(url, "SELECT count(*) FROM t") == [(len(rows),)]
    return found


# Databases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_duckdb_labels_as_predict_does(names: tuple[str, ...]) -> None:
    model, rows = fitted(names), strange_rows()
    found = in_duckdb(model, rows, names)
    assert [label for *_, label in found] == model.predict(rows).tolist()


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_postgres_labels_as_predict_does(names: tuple[str, ...], database: str) -> None:
    model, rows = fitted(names), strange_rows()
    assert in_postgres(model, rows, names, database) == model.predict(rows).tolist()


TAKEN = [("cluster", "age"), ("x0", "d0"), ("x1", "age"), ("given", "apart"), ("bounded", "t")]


@pytest.mark.parametrize("names", TAKEN, ids=" ".join)
def test_names_that_the_query_itself_uses_give_no_wrong_labels(
    names: tuple[str, ...], database: str
) -> None:
    """The label is last; such columns may also be refused."""
    model, rows = fitted(names), strange_rows()
    expected = model.predict(rows).tolist()
    try:
        query = to_sql(model, "postgres", "t")
    except ParameterError:
        return
    columns = {name: pa.array(nulls(rows[:, place])) for place, name in enumerate(names)}
    with duckdb.connect() as place:
        place.register("t", pa.table({"id": range(N_ROWS), **columns}))
        found = sorted(place.execute(to_sql(model, "duckdb", "t")).fetchall())
    assert [row[-1] for row in found] == expected
    listed = ", ".join(f"{quoted(name)} double precision" for name in names)
    execute(database, f"CREATE TABLE t (id int, {listed})", query)


@pytest.mark.parametrize("kind", OTHER_KINDS)
@pytest.mark.parametrize("k", [1, 4])
def test_every_estimator_has_a_query(kind: Any, k: int, database: str) -> None:
    names = ("age", "weight")
    model, rows = fitted(names, kind, k), strange_rows()
    expected = model.predict(rows).tolist()
    assert [label for *_, label in in_duckdb(model, rows, names)] == expected
    assert in_postgres(model, rows, names, database) == expected


def test_weights_and_own_units_count_in_the_query_too() -> None:
    names = ("age", "weight")
    rows = strange_rows()
    for scale in ("bounds", "none"):
        model = fitted(names, PEMeans, scale=scale)
        found = in_duckdb(model, rows, names)
        assert [label for *_, label in found] == model.predict(rows).tolist()


@pytest.mark.parametrize("declared", ["integer", "numeric(6, 2)", "real"])
def test_columns_of_any_numeric_type_can_be_labelled(declared: str, database: str) -> None:
    """Tables in memory and in files may hold them, so that a model may come of them."""
    model = fitted(("age",), k=2)
    make = f"CREATE TABLE t (age {declared})"
    insert = "INSERT INTO t VALUES ('1'), (NULL)"
    with duckdb.connect() as place:
        place.execute(make)
        place.execute(insert)
        assert len(place.execute(to_sql(model, "duckdb", "t")).fetchall()) == 2
    assert len(execute(database, make, insert, to_sql(model, "postgres", "t"))) == 2


# The text ----------------------------------------------------------------------------------------


def test_names_are_nowhere_but_in_quotes() -> None:
    attack = 'x" FROM t; DROP TABLE t; --'
    for dialect, mark in (("duckdb", '"'), ("postgres", '"'), ("spark", "`")):
        text = to_sql(fitted((attack, "b`;DROP")), dialect, "t")  # type: ignore[arg-type]
        bare = re.sub(f"{mark}(?:[^{mark}]|{mark}{mark})*{mark}", "", text.split("\n", 1)[1])
        assert "DROP" not in bare
        assert ";" not in bare


def test_the_first_line_says_what_the_labels_are() -> None:
    first = to_sql(fitted(("age",), k=2), "spark").splitlines()[0]
    assert first.startswith("-- PrivateKMeans, 2 clusters, by privclust ")
    assert first.endswith("Labels of protected rows are protected data.")


def test_spark_quotes_names_its_own_way() -> None:
    text = to_sql(fitted(("age", "b c"), k=2), "spark", "db.visits")
    assert "CAST(given.`b c` AS DOUBLE)" in text
    assert "FROM `db`.`visits` AS given" in text


ATTACK = 't AS given; DROP TABLE t; --"'


@pytest.mark.attack
@pytest.mark.parametrize("table", [ATTACK, (ATTACK,), ("my schema", ATTACK)])
def test_name_of_the_table_is_nowhere_but_in_quotes(table: Any) -> None:
    for dialect, mark in (("duckdb", '"'), ("postgres", '"'), ("spark", "`")):
        text = to_sql(fitted(("age",), k=2), dialect, table)  # type: ignore[arg-type]
        bare = re.sub(f"{mark}(?:[^{mark}]|{mark}{mark})*{mark}", "", text.split("\n", 1)[1])
        assert "DROP" not in bare
        assert ";" not in bare


@pytest.mark.parametrize(
    ("table", "schema", "name"),
    [
        ("s.t", "s", "t"),
        (("s", "t"), "s", "t"),
        (("My schema", "a.b"), "My schema", "a.b"),
        (('q"', ATTACK), 'q"', ATTACK),
    ],
)
def test_table_in_a_schema_is_found(table: Any, schema: str, name: str, database: str) -> None:
    model = fitted(("age",), k=2)
    place = f"{quoted(schema)}.{quoted(name)}"
    steps = [
        f"CREATE SCHEMA {quoted(schema)}",
        f"CREATE TABLE {place} (age double precision)",
        f"INSERT INTO {place} VALUES (1), (NULL)",
    ]
    assert len(execute(database, *steps, to_sql(model, "postgres", table))) == 2
    with duckdb.connect() as connection:
        for step in steps:
            connection.execute(step)
        assert len(connection.execute(to_sql(model, "duckdb", table)).fetchall()) == 2


@pytest.mark.parametrize("table", ["", "a..b", ".t", (), ("a", ""), ("a", 1), 7, "a\0b", ["t"]])
def test_what_is_no_name_of_a_table_is_refused(table: Any) -> None:
    with pytest.raises(ParameterError, match="table must be"):
        to_sql(fitted(("age",), k=2), "duckdb", table)


def test_nothing_of_a_model_file_is_text_of_the_query() -> None:
    model = fitted(("age",), k=2)
    statement = replace(model.model_.privacy_statement, version="1\nDROP TABLE t; --")
    text = to_sql(replace(model.model_, privacy_statement=statement), "duckdb", "t")
    assert "DROP" not in text
    assert "-- NOT PRIVATE" in text  # its noise is that of a test


def test_models_without_names_or_bounds_have_no_query() -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (500, 2))
    with noise_from(SeededNoise(0)):
        unnamed = PEMeans(2, delta=1e-6, bounds=(-1, 1)).fit(rows)
        ball = PEMeans(2, delta=1e-6, radius=1.0).fit(pd.DataFrame(rows, columns=["a", "b"]))
    for model in (unnamed, ball):
        with pytest.raises(ParameterError, match="only models with column names and bounds"):
            to_sql(model, "duckdb")
    with pytest.raises(ParameterError, match="one of duckdb, postgres, spark, got 'oracle'"):
        to_sql(fitted(("age",), k=2), "oracle")  # type: ignore[arg-type]
