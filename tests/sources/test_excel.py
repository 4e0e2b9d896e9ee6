"""Excel files give the rows that the same table gives as CSV, and no error shows a cell."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import openpyxl
import pytest

from privclust import Files, PrivateKMeans
from privclust.errors import EngineError, UnreadableFileError
from privclust.sources._reading import side_by_side
from privclust.sources.cells import ids
from privclust.sources.dates import days
from privclust.sources.excel import BATCH_ROWS
from privclust.sources.files import list_files, read_files

SECRET = "Ada Canary"


def written(file: Path, rows: list[list[Any]], title: str = "rows") -> str:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(title)
    for row in rows:
        sheet.append(row)
    book.save(file)
    return str(file)


def cells(file: object, column: str) -> Any:
    _, files = list_files(file)
    (batch,) = read_files(files, [column])
    return batch.column(column)


def change_sheet(file: Path, change: Callable[[bytes], bytes]) -> None:
    with ZipFile(file) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    changed = change(parts[sheet])
    assert changed != parts[sheet]
    with ZipFile(file, "w") as new:
        for part, content in {**parts, sheet: changed}.items():
            new.writestr(part, content)


def test_cells_are_read_as_a_csv_file_would_have_them(tmp_path: Path) -> None:
    day = datetime(2024, 1, 31, 12)
    given = [40, 2.5, "7", None, True, day, date(2024, 2, 1), "#N/A", 3.0, SECRET, time(1, 2)]
    file = written(tmp_path / "x.xlsx", [["a", "b"], *([cell, 1] for cell in given)])
    schema, _ = list_files(file)
    assert (schema.names, set(schema.kinds)) == (("a", "b"), {"cell"})
    column = cells(file, "a")
    assert ids(column).to_pylist() == [
        *(b"40", b"2.5", b"7", None, b"true", b"2024-01-31T12:00:00", b"2024-02-01T00:00:00"),
        *(None, b"3", SECRET.encode(), b"01:02:00"),
    ]
    assert days(column)[5:7].tolist() == [19753.0, 19754.0]
    numbers = np.concatenate([side_by_side(lambda _: column, ["a"])])[:, 0]
    assert numbers[[0, 1, 2, 8]].tolist() == [40, 2.5, 7, 3]
    assert np.isnan(numbers[[3, 4, 5, 6, 7, 9, 10]]).all()


def test_formulas_count_by_what_excel_last_computed(tmp_path: Path) -> None:
    file = tmp_path / "x.xlsx"
    written(file, [["a", "b"], ["=1+1", 1], ["=1+2", 1]])
    assert cells(str(file), "a").to_pylist() == [None, None]  # nothing was computed yet
    with ZipFile(file) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    name = "xl/worksheets/sheet1.xml"
    assert b"<f>1+1</f><v" in parts[name]
    parts[name] = parts[name].replace(b"<f>1+1</f><v />", b"<f>1+1</f><v>2</v>")
    parts[name] = parts[name].replace(b"<f>1+1</f><v/>", b"<f>1+1</f><v>2</v>")
    with ZipFile(file, "w") as new:
        for part, content in parts.items():
            new.writestr(part, content)
    assert cells(str(file), "a").to_pylist() == [b"2", None]


def test_rows_without_cells_are_none_and_short_ones_have_gaps(tmp_path: Path) -> None:
    file = written(tmp_path / "x.xlsx", [["a", "b", None], [1], [], [None, 2, 9], [3, 4]])
    assert list_files(file)[0].names == ("a", "b")
    assert cells(file, "a").to_pylist() == [b"1", None, b"3"]
    assert cells(file, "b").to_pylist() == [None, b"2", b"4"]


def test_many_rows_come_in_batches(tmp_path: Path) -> None:
    n = BATCH_ROWS + 5
    file = written(tmp_path / "x.xlsx", [["a"], *([row] for row in range(n))])
    _, files = list_files(file)
    batches = list(read_files(files, ["a"]))
    assert [batch.num_rows for batch in batches] == [BATCH_ROWS, 5]


def test_sheet_is_the_first_or_the_one_that_is_named(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["first"])
    book.create_sheet("2026").append(["second"])
    file = tmp_path / "x.xlsx"
    book.save(file)
    assert list_files(str(file))[0].names == ("first",)
    assert list_files(Files(str(file), sheet="2026"))[0].names == ("second",)
    with pytest.raises(UnreadableFileError, match=r"no sheet '2025'. It has 'Sheet', '2026'"):
        list_files(Files(str(file), sheet="2025"))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 " + SECRET.encode(), SECRET.encode()])
def test_damaged_file_is_refused_without_a_cell(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.xlsx"
    file.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=r"'x\.xlsx' cannot be read") as raised:
        list_files(str(file))
    assert SECRET not in str(raised.value)


def test_damaged_rows_fail_without_a_cell(tmp_path: Path) -> None:
    file = tmp_path / "x.xlsx"
    written(file, [["a", "b"], *([1, 2] for _ in range(5000)), [1, SECRET]])
    change_sheet(file, lambda sheet: sheet[:-30])
    bounds = {"a": (0, 10), "b": (0, 10)}
    with pytest.raises(EngineError, match="Why is withheld") as raised:
        PrivateKMeans(1, delta=1e-6, bounds=bounds, max_clusters=2).fit(str(file))
    assert SECRET not in str(raised.value)


@pytest.mark.attack
@pytest.mark.parametrize("number", [b"1", b"19", b"3000000", b"canary"])
def test_no_row_removes_another_by_its_number(number: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.xlsx"
    written(file, [["a"], *([row] for row in range(2, 22))])
    change_sheet(file, lambda sheet: sheet.replace(b'<row r="5"', b'<row r="%b"' % number))
    assert ids(cells(str(file), "a")).to_pylist() == [b"%d" % row for row in range(2, 22)]


@pytest.mark.attack
@pytest.mark.parametrize(
    "cell",
    [
        *(b'r="A5"><v>inf</v>', b'r="A5"><v>5,5</v>', b'r="A5"><v>%b</v>' % (b"9" * 5000)),
        *(b'r="A5" t="b"><v>true</v>', b'r="A5" t="s"><v>99999</v>', b'r="A5" s="x"><v>4</v>'),
        *(b'r="canary"><v>4</v>', b'r="A5" t="d"><v>canary</v>'),
    ],
)
def test_a_cell_that_cannot_be_read_is_missing(cell: bytes, tmp_path: Path) -> None:
    file = tmp_path / "x.xlsx"
    written(file, [["a", "b"], *([row, row] for row in range(2, 22))])
    change_sheet(file, lambda sheet: re.sub(rb'r="A5"[^>]*><v>\d+</v>', lambda _: cell, sheet))
    column = side_by_side(lambda _: cells(str(file), "a"), ["a"])[:, 0]
    expected = np.arange(2.0, 22.0)
    expected[3] = np.nan
    assert np.array_equal(column, expected, equal_nan=True)


@pytest.mark.attack
def test_a_sheet_without_names_is_refused_in_silence(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    file = tmp_path / "x.xlsx"
    written(file, [["a"], [date(2024, 1, 1)]])

    def change(sheet: bytes) -> bytes:
        sheet = re.sub(rb'<row r="1".*?</row>', b"", sheet)
        return re.sub(rb"<v>45292</v>", b"<v>777123777</v>", sheet)

    change_sheet(file, change)
    with pytest.raises(UnreadableFileError, match="does not begin with a row of column names"):
        list_files(str(file))
    assert not recwarn.list


def test_excel_needs_an_extra_and_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "x.xlsx", [["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[excel\]"'):
        list_files(file)
