"""``privclust bounds init`` knows names and types, no value, and what it writes can be used."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.command_line import (
    CANARY,
    assert_silent_about_cells,
    error_message,
    lay_out,
    privclust,
)

from privclust import load

ODD_NAMES = (
    'a"quote',
    "'single'",
    "a.dot",
    "Größe 名前 😀",
    "two\nlines",
    "tab\tand\\backslash",
    "[table]",
    "# comment",
    "=",
    "",
    " ",
    "\x00\x1f",
    "\x7f",
    "\x85\u2028",
    "bounds_origin",
    "columns",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("tables"))


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def written(table: object, out: Path) -> str:
    done = privclust("bounds", "init", table, "-o", out)
    assert done.exit_code == 0, done.output
    assert f"wrote {out.name}. Fill in the blanks" in done.stdout
    assert_silent_about_cells(done.output)
    text = out.read_text(encoding="utf-8")
    assert_silent_about_cells(text)
    return text


def filled(text: str, lower: float, upper: float) -> str:
    """Do what the file asks for."""
    for side, value in (("lower", lower), ("upper", upper)):
        text = text.replace(f"# {side} =   fill in and uncomment", f"{side} = {value}")
    return text.replace('bounds_origin = ""', 'bounds_origin = "public data"')


def test_columns_of_numbers_have_blanks_and_others_are_named_in_a_comment(tmp_path: Path) -> None:
    text = written("visits.parquet", tmp_path / "b.toml")
    assert tomllib.loads(text) == {
        "bounds_origin": "",
        "columns": {name: {"type": "number"} for name in ("age", "weight", "who")},
    }
    assert '# column "name" holds texts' in text
    assert '"domain knowledge", "public data", "private release"' in text


def test_texts_and_days_have_stubs_that_work_once_filled_in(tmp_path: Path) -> None:
    days = pa.array(range(18_000, 18_400), pa.int32()).cast(pa.date32())
    table = pa.table({"ward": [str(CANARY), "B"] * 200, "visit": days, "list": [[1]] * 400})
    pq.write_table(table, tmp_path / "x.parquet")
    bounds = tmp_path / "b.toml"
    text = written(tmp_path / "x.parquet", bounds)
    assert tomllib.loads(text)["columns"] == {"visit": {"type": "date"}}
    assert '# column "list" holds neither numbers, texts nor days' in text
    for blank, given in (
        ('bounds_origin = ""', 'bounds_origin = "public data"'),
        ("# lower =   fill in a day such as 1990-01-01 and uncomment", "lower = 2000-01-01"),
        ("# upper =   fill in a day such as 2029-12-31 and uncomment", "upper = 2029-12-31"),
        ("# [columns", "[columns"),
        ("# type", "type"),
        ('# levels = ["…", "…", "other"]', 'levels = ["A", "B", "other"]'),
    ):
        assert blank in text
        text = text.replace(blank, given)
    bounds.write_text(text)
    few = ("-k", 1, "--delta", 1e-6, "--max-clusters", 2, "--quiet", "--out", tmp_path / "m.json")
    done = privclust("fit", tmp_path / "x.parquet", "--bounds", bounds, *few)
    assert done.stdout == ""  # it may warn
    assert str(CANARY) not in done.output
    model = load(tmp_path / "m.json")
    assert model.center_names_.tolist() == ["ward=A", "ward=B", "ward=other", "visit"]
    assert model.cluster_centers_[0, 1] == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize("table", ["smashed.parquet", "parts", "parts/*.parquet"])
def test_no_value_is_read_even_where_rows_are_broken(table: str, tmp_path: Path) -> None:
    intact = written("visits.parquet", tmp_path / "intact.toml")
    assert written(table, tmp_path / "other.toml") == intact


def test_of_a_csv_file_only_the_first_line_counts(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes(f"age,weight\n{CANARY},Canary\n".encode() + b"\xff\x00" * 99)
    (tmp_path / "y.csv").write_text("age,weight\n")
    text = written(tmp_path / "x.csv", tmp_path / "x.toml")
    assert text == written(tmp_path / "y.csv", tmp_path / "y.toml")
    assert list(tomllib.loads(text)["columns"]) == ["age", "weight"]


@pytest.mark.parametrize("name", ODD_NAMES, ids=ascii)
def test_a_filled_file_works_whatever_columns_are_called(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pa.table([rng.normal(20.0, 2.0, 400), ["x"] * 400], names=[name, f"text {name}"])
    pq.write_table(table, tmp_path / "odd.parquet")
    bounds = tmp_path / "odd.toml"
    bounds.write_text(filled(written(tmp_path / "odd.parquet", bounds), 0, 120), encoding="utf-8")
    few = ("-k", 1, "--delta", 1e-6, "--max-clusters", 2, "--quiet", "--out", tmp_path / "m.json")
    done = privclust("fit", tmp_path / "odd.parquet", "--bounds", bounds, *few)
    assert done.output == ""
    model = load(tmp_path / "m.json")
    assert model.feature_names_in_.tolist() == [name]
    assert model.cluster_centers_[0, 0] == pytest.approx(20.0, abs=3.0)
    assert model.privacy_statement_.bounds_origin == "public data"


def test_a_file_that_is_not_filled_in_is_refused(tmp_path: Path) -> None:
    text = written("visits.parquet", tmp_path / "b.toml")
    fit = ("fit", "visits.parquet", "--delta", 1e-6, "--bounds", tmp_path / "b.toml")
    blanks = "Not filled in: 'age' (lower, upper), 'weight' (lower, upper), 'who' (lower, upper)."
    error_message(privclust(*fit), 4, "must say where its bounds come from", blanks)
    (tmp_path / "b.toml").write_text(text.replace('""', '"public data"'))
    error_message(privclust(*fit), 4, "bounds are incomplete", blanks)


def test_a_file_that_exists_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "b.toml"
    out.write_text("mine")
    error_message(
        privclust("bounds", "init", "visits.parquet", "-o", out), 10, "b.toml", "overwrit"
    )
    assert out.read_text() == "mine"


def test_a_file_that_cannot_be_written() -> None:
    result = privclust("bounds", "init", "visits.parquet", "-o", "nowhere/b.toml")
    error_message(result, 10, "b.toml could not be written: there is no folder", "Make it")


@pytest.mark.parametrize(
    ("table", "cause"),
    [
        ("nowhere.parquet", "no Parquet, CSV, Excel or Arrow files"),
        ("cut.parquet", "'cut.parquet' cannot be read"),
        ("visits.txt", "none of the endings"),
    ],
)
def test_a_table_that_cannot_be_read(table: str, cause: str, tmp_path: Path) -> None:
    error_message(privclust("bounds", "init", table, "-o", tmp_path / "b.toml"), 7, cause)
    assert not (tmp_path / "b.toml").exists()


def test_a_file_without_a_line_of_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"{CANARY},7\n{CANARY},8\n")
    done = privclust("bounds", "init", tmp_path / "x.csv", "-o", tmp_path / "b.toml")
    error_message(done, 7, "Put a line of names before it")
    assert not (tmp_path / "b.toml").exists()


def test_file_says_what_to_declare_for_a_long_tail(tmp_path: Path) -> None:
    text = written("visits.parquet", tmp_path / "bounds.toml")
    assert 'transform = "log1p"  for amounts, counts and durations' in text


def test_file_says_how_to_declare_what_missing_cells_count_as(tmp_path: Path) -> None:
    text = written("visits.parquet", tmp_path / "bounds.toml")
    assert "missing = 25  or  missing = 2025-06-30" in text


# Checking ----------------------------------------------------------------------------------------


def test_checked_file_is_shown_and_what_it_leaves_out() -> None:
    done = privclust("bounds", "check", "visits.toml", "visits.csv")
    assert done.exit_code == 0, done.output
    assert "Not clustered, because no bounds name them: who, name." in done.stdout
    assert "visits.toml is complete and names columns of the table." in done.stdout
    with_unit = privclust("bounds", "check", "visits.toml", "visits.parquet", "--unit", "who")
    assert "no bounds name them: name." in with_unit.stdout
    alone = privclust("bounds", "check", "visits.toml").stdout
    assert "visits.toml is complete.\n" in alone


def test_checked_columns_are_listed_as_they_are_declared(tmp_path: Path) -> None:
    bounds = tmp_path / "b.toml"
    bounds.write_text(
        'bounds_origin = "public data"\n'
        '[columns.ward]\ntype = "category"\nlevels = ["A", "B"]\n'
        '[columns.seen]\ntype = "date"\nlower = 2020-01-01\nupper = 2029-12-31\nweight = 2\n'
        '[columns.income]\ntype = "number"\nlower = 0\nupper = 9000\ntransform = "log1p"\n'
        '[columns.at]\ntype = "number"\nlower = 1700000000\nupper = 1700086400\n'
    )
    shown = privclust("bounds", "check", bounds).stdout
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines()]
    assert ["ward", "category", "A, B", "", "", "1"] in lines
    assert ["seen", "date", "2020-01-01", "2029-12-31", "", "2"] in lines
    assert ["income", "number", "0", "9000", "log1p", "1"] in lines
    assert ["at", "number", "1700000000", "1700086400", "", "1"] in lines


def test_what_missing_cells_count_as_has_a_column_where_it_is_declared(tmp_path: Path) -> None:
    bounds = tmp_path / "b.toml"
    bounds.write_text(
        'bounds_origin = "public data"\n'
        '[columns.ward]\ntype = "category"\nlevels = ["A", "B"]\n'
        '[columns.seen]\ntype = "date"\nlower = 2020-01-01\nupper = 2029-12-31\n'
        "missing = 2024-02-29\n"
        '[columns.bmi]\ntype = "number"\nlower = 12\nupper = 60\nmissing = 25.5\n'
    )
    shown = privclust("bounds", "check", bounds).stdout
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.splitlines()]
    assert ["ward", "category", "A, B", "", "", "1", ""] in lines
    assert ["seen", "date", "2020-01-01", "2029-12-31", "", "1", "2024-02-29"] in lines
    assert ["bmi", "number", "12", "60", "", "1", "25.5"] in lines
    assert "missing as" in shown
    assert "missing as" not in privclust("bounds", "check", "visits.toml").stdout


@pytest.mark.parametrize(
    ("content", "table", "code", "cause"),
    [
        ("", "visits.csv", 4, "must say where its bounds come from"),
        ('bounds_origin = "public data"\n', "visits.csv", 4, "declares no column"),
        ("[columns.height]\nlower = 0\nupper = 3\ntype = 'number'", "visits.csv", 5, "'height'"),
        ("[columns.name]\nlower = 0\nupper = 3\ntype = 'number'", "visits.parquet", 6, "name"),
        ("[columns.age]\nlower = 3\nupper = 0\ntype = 'number'", "visits.parquet", 4, "Swap"),
    ],
)
def test_check_finds_what_a_fit_would_refuse(
    content: str, table: str, code: int, cause: str, tmp_path: Path
) -> None:
    bounds = tmp_path / "b.toml"
    origin = 'bounds_origin = "public data"\n' if content.startswith("[") else ""
    bounds.write_text(origin + content)
    checked = error_message(privclust("bounds", "check", bounds, table), code, cause)
    if content.startswith("["):
        fit = privclust("fit", table, "--bounds", bounds, "--delta", 1e-6)
        assert error_message(fit, code) == checked


@pytest.mark.parametrize("table", ["visits.parquet", "smashed.parquet"])
def test_check_reads_no_value(table: str) -> None:
    done = privclust("bounds", "check", "visits.toml", table)
    assert done.exit_code == 0, done.output
    intact = privclust("bounds", "check", "visits.toml", "visits.parquet").stdout
    assert done.stdout.replace(table, "visits.parquet") == intact
