"""What is done with a model file: labels in order, a query, a page; and nothing is lost."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.command_line import assert_silent_about_cells, error_message, lay_out, privclust
from helpers.databases import opened
from numpy.typing import NDArray

from privclust import PrivateKMeans, load, save
from privclust.cli._kept_columns import KeptColumns
from privclust.cli._pages import file_hash
from privclust.cli.table_files import Write
from privclust.models.report import PageHeading, to_html
from privclust.models.sql_export import to_sql
from privclust.sources.dialects import Files
from privclust.testing import SeededNoise, noise_from


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, and a model of them."""
    place = lay_out(tmp_path_factory.mktemp("tables"))
    model = PrivateKMeans(
        2, delta=1e-6, bounds=str(place / "visits.toml"), max_clusters=4, random_state=0
    )
    with noise_from(SeededNoise(0)):
        save(model.fit(str(place / "visits.parquet")), place / "model.json")
    return place


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def labels(out: Path) -> NDArray[np.int64]:
    table = pq.read_table(out)
    assert table.schema == pa.schema([("cluster", pa.int32())])
    found: NDArray[np.int64] = table["cluster"].to_numpy().astype(np.int64)
    return found


# Labels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tables",
    [
        ("visits.parquet",),
        ("visits.csv",),
        ("parts",),
        ("parts/b.parquet", "parts/a.parquet"),
        ("parts/b.parquet", "visits.csv", "parts/a.parquet"),
    ],
    ids=" ".join,
)
def test_labels_are_those_of_predict_in_the_order_of_the_files(
    tables: tuple[str, ...], tmp_path: Path
) -> None:
    out = tmp_path / "labels.parquet"
    done = privclust("predict", "model.json", *tables, "-o", out)
    assert done.exit_code == 0, done.output
    assert "show them only to people who may see the rows" in done.stdout
    assert_silent_about_cells(done.output)
    model = load("model.json")
    expected = np.concatenate([model.predict(table) for table in tables])
    assert len(np.unique(expected)) == 2
    assert labels(out).tolist() == expected.tolist()


@pytest.mark.parametrize("table", ["visits.csv", "visits.xlsx"])
def test_labels_are_written_as_the_ending_says(table: str, tmp_path: Path) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    rows = pq.read_table("visits.parquet")
    for row in (rows.column_names, *(row.values() for row in rows.to_pylist())):
        sheet.append([*row])
    book.save("visits.xlsx")
    expected = load("model.json").predict("visits.parquet").tolist()
    for ending in (".parquet", ".csv", ".xlsx"):
        out = tmp_path / f"labels{ending}"
        done = privclust("predict", "model.json", table, "-o", out)
        assert done.exit_code == 0, done.output
        assert out.stat().st_mode & 0o777 == 0o600
    assert labels(tmp_path / "labels.parquet").tolist() == expected
    as_text = (tmp_path / "labels.csv").read_text().splitlines()
    assert as_text == ['"cluster"', *map(str, expected)]
    written = openpyxl.load_workbook(tmp_path / "labels.xlsx").worksheets[0].values
    assert [*written] == [("cluster",), *((label,) for label in expected)]


@pytest.mark.parametrize("table", ["visits.csv", "visits.parquet"])
def test_columns_are_kept_beside_labels(table: str, tmp_path: Path) -> None:
    out = tmp_path / "labels.parquet"
    keep = ("--keep", "who", "--keep", "age")
    done = privclust("predict", "model.json", table, table, *keep, "-o", out)
    assert done.exit_code == 0, done.output
    rows, written = pq.read_table("visits.parquet"), pq.read_table(out)
    assert written.column_names == ["who", "age", "cluster"]
    once = [None if one is None else str(one) for one in rows["who"].to_pylist()]
    found = [one or None for one in written["who"].to_pylist()]
    assert found == once  # a file that is named twice is one file
    assert written["cluster"].to_pylist() == load("model.json").predict("visits.parquet").tolist()
    for name in ("nobody", "__index_level_0__"):
        done = privclust("predict", "model.json", table, "--keep", name, "-o", out, "--force")
        error_message(done, 5, f"no column '{name}'", "There are: ")


def test_kept_numbers_are_numbers_in_excel(tmp_path: Path) -> None:
    """A text that would be written otherwise as a number stays a text, such as 007."""
    ids = ["17", "007", "1234567890123456", "north", "-2.5", "=1+1", "1E5"]
    lines = ["id,age,weight", *(f"{one},30,70" for one in ids)]
    (tmp_path / "few.csv").write_text("\n".join(lines))
    out = tmp_path / "labels.xlsx"
    done = privclust("predict", "model.json", tmp_path / "few.csv", "--keep", "id", "-o", out)
    assert done.exit_code == 0, done.output
    rows = [*openpyxl.load_workbook(out).worksheets[0].values]
    expected = [17, "007", "1234567890123456", "north", -2.5, "=1+1", "1E5"]
    assert [row[0] for row in rows[1:]] == expected
    typed = ("visits.parquet", "--keep", "age", "--keep", "name", "--keep", "who")
    assert privclust("predict", "model.json", *typed, "-o", out, "--force").exit_code == 0
    rows, table = [*openpyxl.load_workbook(out).worksheets[0].values], pq.read_table(typed[0])
    assert [row[0] for row in rows[1:]] == pytest.approx(table["age"].to_pylist(), rel=1e-14)
    assert {type(row[2]) for row in rows[1:]} == {int}
    assert {type(row[1]) for row in rows[1:]} == {str}


def test_kept_columns_are_cut_where_labels_are(tmp_path: Path) -> None:
    ids = [f"{number}" for number in range(10_000)]
    for place, part in enumerate((ids[:3000], ids[3000:])):
        lines = ["who,age", *(f"{one},{int(one) % 90}" for one in part)]
        (tmp_path / f"{place}.csv").write_bytes("\n".join(lines).encode() + b"\n\xff\xfe,1\n")
    kept = KeptColumns(opened(Files(str(tmp_path))), ["who"])
    taken = [kept.take(count)[0].to_pylist() for count in (1, 2999, 1, 2, 6999)]
    assert kept.take(0)[0].to_pylist() == []
    assert taken == [
        ids[:1],
        ids[1:3000],
        ["\ufffd\ufffd"],
        ids[3000:3002],
        [*ids[3002:], "\ufffd\ufffd"],
    ]
    assert KeptColumns(opened(Files(str(tmp_path))), []).take(5) == []


@pytest.mark.parametrize(
    "words", [("predict", "model.json", "visits.parquet"), ("report", "model.json")]
)
def test_what_is_there_is_kept_unless_forced(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privclust.models.report.to_html", lambda *given: "a page")
    out = tmp_path / ("page.html" if words[0] == "report" else "labels.csv")
    out.write_text("older")
    error_message(privclust(*words, "-o", out), 10, "exists already", "--force")
    assert out.read_text() == "older"
    assert privclust(*words, "-o", out, "--force").exit_code == 0
    assert out.read_text() != "older"


def test_more_rows_than_a_sheet_has_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("privclust.cli.table_files.ROWS_MAX", 100)
    out = tmp_path / "labels.xlsx"
    done = privclust("predict", "model.json", "visits.parquet", "-o", out)
    error_message(done, 3, "a sheet of Excel has 100 rows", ".csv or .parquet")
    assert not out.exists()


def test_strange_cells_are_labelled_as_predict_does(tmp_path: Path) -> None:
    strange = [np.nan, np.inf, -np.inf, -5.0, 1e9, 60.0, None]
    table = pa.table({"weight_": [1] * 7, "age": strange, "weight": strange[::-1]})
    pq.write_table(table, tmp_path / "strange.parquet")
    out = tmp_path / "labels.parquet"
    assert (
        privclust("predict", "model.json", tmp_path / "strange.parquet", "-o", out).exit_code == 0
    )
    ages = np.array([np.nan if cell is None else cell for cell in strange])
    rows = np.column_stack([ages, ages[::-1]])
    assert labels(out).tolist() == load("model.json").predict(rows).tolist()


def test_a_table_without_rows_has_no_labels(tmp_path: Path) -> None:
    pq.write_table(pq.read_table("visits.parquet").slice(0, 0), tmp_path / "none.parquet")
    out = tmp_path / "labels.parquet"
    assert privclust("predict", "model.json", tmp_path / "none.parquet", "-o", out).exit_code == 0
    assert labels(out).tolist() == []


@pytest.mark.parametrize(
    ("words", "code", "cause"),
    [
        (
            ("nowhere.json", "visits.parquet"),
            12,
            "'nowhere.json', which should hold a model, cannot be read",
        ),
        (("visits.toml", "visits.parquet"), 12, "'visits.toml' is not a model"),
        (("model.json", "nowhere.parquet"), 7, "no Parquet, CSV, Excel or Arrow files"),
        (("model.json", "visits.txt"), 7, "none of the endings"),
        (("model.json", "cut.parquet"), 7, "'cut.parquet' cannot be read"),
        (("model.json", "smashed.parquet"), 7, "the rows could not be read"),
        (("model.json", "ages.parquet"), 5, "weight"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_impossible_labels_are_one_message_and_leave_what_was_there(
    words: tuple[str, ...], code: int, cause: str, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"age": [20.0]}), "ages.parquet")
    out = tmp_path / "labels.parquet"
    error_message(privclust("predict", *words, "-o", out), code, cause)
    assert not out.exists()  # half of the labels would pass for all
    out.write_text("older labels")
    error_message(privclust("predict", *words, "-o", out, "--force"), code, cause)
    assert out.read_text() == "older labels"


@pytest.mark.parametrize(
    ("out", "cause", "remedy"),
    [
        ("full", "No space left on device", "Free some space"),
        ("nowhere/labels.parquet", "there is no folder", "Make it"),
        ("empty", "Is a directory", "Choose a place"),
    ],
)
def test_labels_that_cannot_be_written(out: str, cause: str, remedy: str) -> None:
    result = privclust("predict", "model.json", "visits.parquet", "-o", out)
    error_message(result, 10, f"{Path(out).name} could not be written", cause, remedy)


def test_no_row_is_labelled_after_labels_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All other rows were still read and labelled, which can take hours."""
    parts = 0

    @contextmanager
    def writing_to_a_full_disk(*given: object) -> Iterator[Write]:
        def write(table: pa.Table) -> None:
            nonlocal parts
            parts += 1
            raise OSError(errno.ENOSPC, "No space left on device")

        yield write

    module = sys.modules["privclust.cli.predict"]  # the package has the command by that name
    monkeypatch.setattr(module, "writing_table", writing_to_a_full_disk)
    result = privclust("predict", "model.json", "parts/*.parquet", "-o", tmp_path / "l.csv")
    error_message(result, 10, "l.csv could not be written", "No space left", "Free some space")
    assert parts == 1
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("table", ["visits.parquet", "parts", "parts/*.parquet"])
def test_labels_never_replace_the_rows(table: str, tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    given = place / table
    out = given if given.is_file() else place / "parts" / "b.parquet"
    before = out.read_bytes()
    assert privclust("predict", "model.json", given, "-o", out).exit_code != 0
    assert out.read_bytes() == before


def test_labels_may_lie_beside_the_rows(tmp_path: Path) -> None:
    place = lay_out(tmp_path) / "parts"
    out = place / "labels.parquet"
    done = privclust("predict", "model.json", place / "*.parquet", "-o", out)
    assert done.exit_code == 0, done.output
    assert len(labels(out)) == 601


# Queries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_the_query_is_printed_and_nothing_else(dialect: str) -> None:
    done = privclust("export", "model.json", "--sql", dialect, "--table", "visits")
    assert done.exit_code == 0
    assert done.stdout == to_sql(load("model.json"), dialect, "visits") + "\n"  # type: ignore[arg-type]
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("words", "code", "cause"),
    [
        (("model.json", "--sql", "oracle"), 3, "one of duckdb, postgres, spark, got 'oracle'"),
        (("visits.csv", "--sql", "duckdb"), 12, "'visits.csv' is not a model"),
    ],
)
def test_a_query_that_cannot_be_made(words: tuple[str, ...], code: int, cause: str) -> None:
    error_message(privclust("export", *words), code, cause)


# Pages -------------------------------------------------------------------------------------------


def test_the_page_is_that_of_python(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = privclust("report", "model.json", "-o", out)
    assert done.stdout == "wrote page.html; open page.html in a browser.\n"
    heading = PageHeading(None, date.today().isoformat(), file_hash(Path("model.json")))
    assert out.read_text() == to_html(load("model.json"), heading=heading)
    assert_silent_about_cells(out.read_text())


@pytest.mark.parametrize("out", ["full", "nowhere/page.html", "empty"])
def test_a_page_that_cannot_be_written(out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privclust.models.report.to_html", lambda *given: "a page")
    error_message(privclust("report", "model.json", "-o", out), 10, "could not be written")


def test_a_page_of_no_model(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    error_message(privclust("report", "visits.csv", "-o", out), 12, "'visits.csv' is not a model")
    assert not out.exists()


def test_a_page_never_replaces_its_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privclust.models.report.to_html", lambda *given: "a page")
    before = Path("model.json").read_text(encoding="utf-8")
    try:
        assert privclust("report", "model.json", "-o", "model.json").exit_code != 0
        assert Path("model.json").read_text(encoding="utf-8") == before
    finally:
        Path("model.json").write_text(before, encoding="utf-8")


def test_a_page_needs_an_extra_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "privclust.models.report", None)
    error_message(privclust("report", "model.json"), 13, 'pip install ".[report]"')
