"""Commands take a query of a database in place of files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.command_line import BOUNDS, error_message, privclust
from helpers.databases import in_sqlite
from typer.testing import CliRunner

from privclust import load, sql
from privclust.cli import app
from privclust.sources.sql.sqlite import SqliteSession

SECRET = "s3kr3t"
FAST = ("--delta", "1e-6", "-k", "2", "--quiet")
QUERY = ("--query", "SELECT age, weight FROM visits")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.uniform(0, 120, 300), "weight": rng.uniform(40, 90, 300)})
    in_sqlite(table, tmp_path / "clinic.db", "visits")
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(*words: Any) -> Any:
    return privclust("fit", *words, "--bounds", "bounds.toml", *FAST, "-o", "model.json")


def test_a_query_is_fitted_and_profiled() -> None:
    assert fit("sqlite:///clinic.db", *QUERY).exit_code == 0
    assert load("model.json").model_.feature_names_in == ("age", "weight")
    done = privclust(
        *("profile", "model.json", "sqlite:///clinic.db", *QUERY, "--columns", "weight"),
        *("--bounds", "bounds.toml", "--epsilon", "1"),
    )
    assert done.exit_code == 0, done.output


def test_a_query_is_read_from_a_file_or_standard_input(folder: Path) -> None:
    (folder / "visits.sql").write_text(f"-- größe\n{QUERY[1]};\n", encoding="utf-8")
    done = fit("sqlite:///clinic.db", "--query", "@visits.sql")
    assert done.exit_code == 0, done.output
    words = ("sqlite:///clinic.db", "--query", "-", "--bounds", "bounds.toml", *FAST)
    done = CliRunner().invoke(app, ["fit", *words, "-o", "other.json"], input=QUERY[1])
    assert done.exit_code == 0, done.output
    assert load("other.json").model_.feature_names_in == ("age", "weight")


def test_a_file_of_a_query_that_cannot_be_read_is_named(folder: Path) -> None:
    (folder / "odd.sql").write_bytes(b"\xff")
    for name in ("none.sql", "odd.sql"):
        done = fit("sqlite:///clinic.db", "--query", f"@{name}")
        assert f"no file '{name}'" in error_message(done, 3)


def test_casts_are_typed_by_column() -> None:
    query = "SELECT age + 0 AS age, weight FROM visits"
    words = ("sqlite:///clinic.db", "--query", query)
    error_message(fit(*words), 6, "do not hold numbers: age", "--cast")
    assert fit(*words, "--cast", "age=number").exit_code == 0
    error_message(fit(*words, "--cast", "age"), 3, "--cast 'age' must be like income=number")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("sqlite:///clinic.db",), 3, "--query is missing"),
        (("sqlite:///clinic.db", "more.parquet", *QUERY), 3, "a query is fitted alone"),
        (("visits.parquet", *QUERY), 3, "--query is for a database"),
        (("sqlite:///clinic.db", *QUERY, "--sheet", "x"), 3, "--sheet is for files"),
        (("sqlite:///clinic.db", "--query", "SELECT random() AS age"), 3, "because of random"),
        (("mysql://host/clinic",), 7, "begins with mysql:// is no path"),
    ],
)
def test_what_is_typed_wrong_is_said(words: tuple[str, ...], code: int, message: str) -> None:
    error_message(fit(*words), code, message)


def test_a_missing_bounds_file_is_said_with_the_command_that_writes_one() -> None:
    done = privclust("fit", "sqlite:///clinic.db", *QUERY, *FAST)
    text = f"privclust bounds init sqlite:///clinic.db --query '{QUERY[1]}'"
    error_message(done, 4, "--bounds is missing", text)


def test_bounds_are_written_and_checked_by_names_and_types_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*arguments: Any) -> Any:
        raise AssertionError("a row was read")

    monkeypatch.setattr(SqliteSession, "_batches", read)
    words = ("--query", "SELECT rowid AS id, age + 0 AS old, weight FROM visits")
    typed = ("sqlite:///clinic.db", *words, "--cast", "old=number", "--unit", "id")
    done = privclust("bounds", "init", *typed, "-o", "new.toml")
    assert done.exit_code == 0, done.output
    text = (folder / "new.toml").read_text()
    assert '[columns."old"]' in text
    assert '[columns."weight"]' in text
    assert "id" not in text.partition("bounds_origin")[2]
    (folder / "new.toml").write_text(
        text.replace('bounds_origin = ""', 'bounds_origin = "public data"')
        .replace("# lower =   fill in and uncomment", "lower = 0")
        .replace("# upper =   fill in and uncomment", "upper = 300")
    )
    checked = next(line for line in done.output.splitlines() if "bounds check" in line)
    assert shlex.split(checked)[1:] == ["bounds", "check", "new.toml", *reordered(typed)]
    again = privclust(*shlex.split(checked)[1:])
    assert again.exit_code == 0, again.output
    fitted = next(line for line in again.output.splitlines() if "privclust fit" in line)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert privclust(*shlex.split(fitted)[1:], "--quiet").exit_code == 0


def reordered(typed: tuple[str, ...]) -> list[str]:
    """Return options in the order in which they are suggested: the unit first."""
    return [typed[0], *typed[-2:], *typed[1:-2]]


def test_labels_stand_beside_the_ids_of_their_rows_whatever_order_a_query_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fit("sqlite:///clinic.db", *QUERY).exit_code == 0
    fetch, fetched = SqliteSession._batches, []

    def turned(session: Any, columns: Any) -> Any:
        """Give rows in another order each time, as a server may that reads a table in parts."""
        fetched.append(columns)
        for batch in fetch(session, columns):
            order = np.random.default_rng(len(fetched)).permutation(batch.num_rows)
            yield batch.take(pa.array(order))

    monkeypatch.setattr(SqliteSession, "_batches", turned)
    words = ("--query", "SELECT rowid AS id, age, weight FROM visits", "--keep", "id")
    done = privclust("predict", "model.json", "sqlite:///clinic.db", *words, "-o", "labels.parquet")
    assert done.exit_code == 0, done.output
    assert "in the order" not in done.output
    labels = pq.read_table("labels.parquet").to_pydict()
    monkeypatch.setattr(SqliteSession, "_batches", fetch)
    query = sql("sqlite:///clinic.db", "SELECT age, weight FROM visits ORDER BY rowid")
    expected = load("model.json").predict(query)
    assert len(labels["id"]) == len(expected) == 300
    assert [expected[int(one) - 1] for one in labels["id"]] == labels["cluster"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (QUERY, 3, "--keep is missing"),
        ((), 3, "--query is missing"),
        ((*QUERY, "--keep", "who"), 5, "there is no column 'who'"),
        (("--query", "SELECT age FROM visits", "--keep", "age"), 5, "weight"),
    ],
)
def test_what_labels_need_is_said(words: tuple[str, ...], code: int, message: str) -> None:
    assert fit("sqlite:///clinic.db", *QUERY).exit_code == 0
    typed = ("predict", "model.json", "sqlite:///clinic.db", *words, "-o", "labels.csv")
    error_message(privclust(*typed), code, message)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "s3"])
def test_a_password_that_was_typed_is_refused_and_not_repeated(scheme: str, folder: Path) -> None:
    address = f"{scheme}://ada:{SECRET}@127.0.0.1/clinic"
    assert fit("sqlite:///clinic.db", *QUERY).exit_code == 0
    for done in (
        fit(address, *QUERY),
        privclust("bounds", "init", address, *QUERY),
        privclust("bounds", "check", "bounds.toml", address, *QUERY),
        privclust("predict", "model.json", address, *QUERY, "--keep", "id", "-o", "labels.csv"),
    ):
        error_message(done, 3, "holds a password", "change it")
        assert SECRET not in done.output
