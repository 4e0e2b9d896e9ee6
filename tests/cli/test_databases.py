"""``privclust fit`` and ``profile`` take a query of a database in place of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.command_line import error_message, privclust
from helpers.databases import in_sqlite

from privclust import load

SECRET = "s3kr3t"
BOUNDS = """\
bounds_origin = "domain knowledge"
[columns.age]
type = "number"
lower = 0
upper = 120
[columns.weight]
type = "number"
lower = 0
upper = 300
"""
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


def test_a_missing_bounds_file_is_said() -> None:
    done = privclust("fit", "sqlite:///clinic.db", *QUERY, *FAST)
    error_message(done, 4, "--bounds is missing", "docs/bounds.md")


@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "s3"])
def test_a_password_that_was_typed_is_refused_and_not_repeated(scheme: str) -> None:
    done = fit(f"{scheme}://ada:{SECRET}@127.0.0.1/clinic", *QUERY)
    error_message(done, 3, "holds a password", "change it")
    assert SECRET not in done.output
