"""Files: found where they lie, opened by their schema alone, and read cell by cell."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import source, streamed, write_arrow, write_csv, write_parquet

from privclust import PrivateKMeans
from privclust.domains.box import Box
from privclust.engines.streaming import ArrowEngine
from privclust.errors import ColumnError, EngineError, UnreadableFileError
from privclust.estimators._input import open_table
from privclust.kernels.grid import UNIT
from privclust.queries.base import Count
from privclust.queries.unit import Unit
from privclust.sources.cells import numbers
from privclust.sources.files import is_path, list_files, open_files
from privclust.sources.schema import Schema

ONE = Box([0], [100])


def cells(table: Any, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    """Read all rows of files as they are."""
    batches = list(source(table).batches(columns))
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def values(table: Any, column: str = "a") -> list[float]:
    return [
        value
        for batch in source(table).batches([column])
        for value in numbers(batch.column(column)).tolist()
    ]


def csv_file(folder: Path, content: bytes | str, name: str = "x.csv") -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def numbered(file: Path, *found: float) -> Path:
    return write_parquet(pa.table({"a": pa.array(found, pa.float64())}), file)


# Where files lie ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ending", ["parquet", "pq", "arrow", "feather", "csv", "csv.gz", "PARQUET"]
)
def test_ending_of_its_name_says_the_format(ending: str, tmp_path: Path) -> None:
    table, file = pa.table({"a": [1.5, 2.5]}), tmp_path / f"x.{ending}"
    if ending in ("arrow", "feather"):
        write_arrow(table, file)
    elif ending.startswith("csv"):
        write_csv(table, file)
    else:
        write_parquet(table, file)
    assert values(file) == [1.5, 2.5]


def test_a_gzipped_file_may_shout_its_name(tmp_path: Path) -> None:
    """Or its bytes would pass for the names of columns, which errors show."""
    file = tmp_path / "X.CSV.GZ"
    file.write_bytes(gzip.compress(b"a\n1.5\n"))
    assert source(file).schema.names == ("a",)
    assert values(file) == [1.5]


def test_a_file_of_unknown_ending_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("a\n1\n")
    with pytest.raises(
        ValueError, match=r"'notes\.txt' has none of the endings \.parquet, .*Rename"
    ):
        source(tmp_path)


@pytest.mark.parametrize("path", ["missing.parquet", "miss*.parquet", "empty", "s3://bucket/x"])
def test_where_nothing_is_an_error_says_what_to_give(path: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no Parquet, .* files at .*Give a file"):
        source(str(tmp_path / path))


def test_folders_are_read_in_the_order_of_names_without_hidden_files(tmp_path: Path) -> None:
    numbered(tmp_path / "b" / "1.parquet", 3.0)
    numbered(tmp_path / "a" / "2.parquet", 2.0)
    numbered(tmp_path / "a" / "1.parquet", 1.0)
    for hidden in ("_SUCCESS", ".1.parquet.crc", "_temporary/0.parquet", ".tmp/9.parquet"):
        (tmp_path / hidden).parent.mkdir(exist_ok=True)
        (tmp_path / hidden).write_text("not data")
    assert values(tmp_path) == [1.0, 2.0, 3.0]
    assert values(f"{tmp_path}/*/1.parquet") == [1.0, 3.0]
    assert values([tmp_path / "b", str(tmp_path / "a" / "1.parquet")]) == [3.0, 1.0]
    (tmp_path / "a" / "2.parquet").rename(tmp_path / "odd [1].parquet")
    assert values(tmp_path / "odd [1].parquet") == [2.0]


@pytest.mark.attack
@pytest.mark.parametrize("again", ["1.parquet", "../visits/1.parquet", "*.parquet", ""])
def test_a_file_named_twice_is_read_once(again: str, tmp_path: Path) -> None:
    """Or each of its rows would count double, and the noise be half of what it must be."""
    file = numbered(tmp_path / "visits" / "1.parquet", 1.0, 2.0)
    assert values([file, f"{tmp_path}/visits/{again}"]) == [1.0, 2.0]


def test_only_paths_name_files(tmp_path: Path) -> None:
    assert is_path("x.csv")
    assert is_path([tmp_path, "x.csv"])
    for other in ([], (), None, 5, b"x.csv", ["x.csv", 5], np.zeros((2, 2)), {"a": 1}):
        assert not is_path(other)


# Keys of folders ---------------------------------------------------------------------------------


def test_keys_of_folders_are_columns_of_texts_to_be_read_as_declared(tmp_path: Path) -> None:
    for key in ("year=2020/ward=5", "year=2021/ward=B%20%2F1", "year=2021/ward="):
        numbered(tmp_path / key / "x.parquet", 1.0)
    numbered(tmp_path / "year=2022/ward=__HIVE_DEFAULT_PARTITION__/x.parquet", 1.0)
    assert source(tmp_path).schema == Schema(("a", "year", "ward"), ("number", "cell", "cell"))
    found = set(cells(tmp_path, ["ward", "year", "a"]))
    assert found == {
        ("5", "2020", 1.0),
        ("B /1", "2021", 1.0),
        ("", "2021", 1.0),
        (None, "2022", 1.0),
    }
    np.testing.assert_array_equal(sorted(values(tmp_path, "year")), [2020, 2021, 2021, 2022])
    assert np.isnan(values(tmp_path, "ward")).sum() == 3


def test_a_column_of_the_file_comes_before_a_key_of_its_name(tmp_path: Path) -> None:
    numbered(tmp_path / "a=7" / "x.parquet", 1.0)
    assert source(tmp_path).schema.names == ("a",)
    assert values(tmp_path) == [1.0]


def test_a_key_may_be_the_unit(tmp_path: Path) -> None:
    for ward in (5, 6):
        numbered(tmp_path / f"ward={ward}" / "x.parquet", *range(20))
    engine = streamed(tmp_path, ["a"], ONE, Unit("ward"))
    assert engine.aggregate(Count())[0] == pytest.approx(2 * UNIT, rel=1e-6)


@pytest.mark.parametrize("given", ["", "x.parquet", "*.parquet"])
def test_folders_above_what_was_given_are_no_columns(given: str, tmp_path: Path) -> None:
    """Where a table lies must not decide what it is: it would be another one as 'x.parquet'."""
    folder = tmp_path / "run=5" / "visits"
    numbered(folder / "x.parquet", 1.0)
    assert source(f"{folder}/{given}").schema.names == ("a",)


# Opening -----------------------------------------------------------------------------------------


@pytest.mark.attack
def test_opening_reads_names_and_types_and_no_rows(tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(5000.0), "b": [f"t{place}" for place in range(5000)]})
    file = write_parquet(table, tmp_path / "x.parquet")
    content = file.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    file.write_bytes(content[:4] + b"\xff" * (footer - 4) + content[footer:])
    assert open_files(file)[0] == Schema(("a", "b"), ("number", "text"))
    engine = streamed(file, ["a"], ONE)
    with pytest.raises(EngineError):
        engine.aggregate(Count())


def test_columns_are_those_of_the_first_file_and_others_may_lack_them(tmp_path: Path) -> None:
    files = [
        write_parquet(pa.table({"a": [1.0], "b": [2]}), tmp_path / "1.parquet"),
        write_parquet(pa.table({"b": [3], "c": [4]}), tmp_path / "2.parquet"),
        write_parquet(pa.table({"c": [5, 6]}), tmp_path / "3.parquet"),
        csv_file(tmp_path, "b,c\n7,8\n", "4.csv"),
        csv_file(tmp_path, "c\n9\n", "5.csv"),
    ]
    schema = source(files).schema
    assert (schema.names, schema.kinds) == (("a", "b"), ("number", "integer"))
    expected = [(1.0, 2), (None, 3), (None, None), (None, None), (None, b"7"), (None, None)]
    assert cells(files, ["a", "b"]) == expected


@pytest.mark.attack
def test_each_file_is_read_by_its_own_types(tmp_path: Path) -> None:
    """No common type, to which only some values could be converted."""
    columns = [
        pa.array([1, None], pa.int32()),
        pa.array([2.5, float("nan")], pa.float64()),
        pa.array([2**64 - 1], pa.uint64()),
        pa.array(["3.5", "three", None], pa.string()),
        pa.array([True], pa.bool_()),
        pa.nulls(1),
    ]
    expected = [1, np.nan, 2.5, np.nan, 2.0**64, 3.5, np.nan, np.nan, 1, np.nan]
    files = [
        write_parquet(pa.table({"a": column}), tmp_path / f"{place}.parquet")
        for place, column in enumerate(columns)
    ]
    np.testing.assert_array_equal(values(files), expected)
    np.testing.assert_array_equal(np.sort(values(files[::-1])), np.sort(expected))


# CSV ---------------------------------------------------------------------------------------------


@pytest.mark.attack
def test_types_are_never_inferred_from_values(tmp_path: Path) -> None:
    """10^5 rows look like integers, then others do not."""
    rest = ["2.5", "text", "", "1e3", '"7"', "true", "2020-01-01", "0x1F", "-inf", "\xff"]
    file = csv_file(tmp_path, "a,b\n" + "1,2\n" * 100_000 + "\n".join(f"{x},3" for x in rest))
    found = values(file)
    assert found[:100_000] == [1.0] * 100_000
    nan = np.nan
    expected = [2.5, nan, nan, 1000, 7, nan, nan, nan, -np.inf, nan]
    np.testing.assert_array_equal(found[100_000:], expected)


@pytest.mark.attack
def test_a_row_of_too_many_or_too_few_cells_is_left_out_and_raises_nothing(tmp_path: Path) -> None:
    lines = ["a,b", "1,2", "3", "4,5,6", ",,,,,", "  ", "7,8", "9"]
    assert values(csv_file(tmp_path, "\n".join(lines))) == [1.0, 7.0]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"\xef\xbb\xbfa,b\r\n1,x\r\n", [(b"1", b"x")], id="from Windows"),
        pytest.param(b'"a","b"\n"1","x,y"\n', [(b"1", b"x,y")], id="quoted"),
        pytest.param(b'a,b\n1,"x""y"""\n2,z\n', [(b"1", b'x"y"'), (b"2", b"z")], id="two quotes"),
        pytest.param(b"a,b\n1,x", [(b"1", b"x")], id="no line end"),
        pytest.param(b'a,b\n,\n1,""\n', [(None, None), (b"1", b"")], id="empty and missing"),
        pytest.param(b"a,b\nNA,null\n", [(b"NA", b"null")], id="words stay words"),
        pytest.param(b"a,b\n\xff\x00,2\n", [(b"\xff\x00", b"2")], id="bytes that are no text"),
        pytest.param(b'a,b\n1,2"x\n', [(b"1", b'2"x')], id="a quote inside"),
        pytest.param(b"a,b\n", [], id="no rows"),
        pytest.param(b"a,b\n1,x\n\n", [(b"1", b"x"), (None, None)], id="a blank line is a row"),
        pytest.param(b"a,b\n1\n1,x,y\n1,x\n", [(b"1", b"x")], id="too few or too many cells"),
    ],
)
def test_cells_are_read_as_bytes(
    content: bytes, expected: list[tuple[bytes, bytes]], tmp_path: Path
) -> None:
    assert cells(csv_file(tmp_path, content), ["a", "b"]) == expected
    assert cells(csv_file(tmp_path, gzip.compress(content), "x.csv.gz"), ["a", "b"]) == expected


def test_names_may_hold_commas_quotes_and_nothing(tmp_path: Path) -> None:
    file = csv_file(tmp_path, 'größe,"a ""b"", c", d,"e\x0bf",\n1,2,3,4,5\n')
    names = ("größe", 'a "b", c', " d", "e\x0bf", "")
    assert source(file).schema.names == names
    assert cells(file, names) == [(b"1", b"2", b"3", b"4", b"5")]


@pytest.mark.attack
def test_a_missing_value_alone_on_its_line_is_still_a_row(tmp_path: Path) -> None:
    file = csv_file(tmp_path, "a\n1\n\n3\n")
    np.testing.assert_array_equal(values(file), [1.0, np.nan, 3.0])


@pytest.mark.attack
@pytest.mark.parametrize("rows", ["", "\n1,2\n"], ids=["no rows", "a row"])
def test_a_header_without_line_end_fails_no_more_than_with_rows(rows: str, tmp_path: Path) -> None:
    assert values(csv_file(tmp_path, f"a,b{rows}")) == [1.0] * (rows != "")


@pytest.mark.attack
def test_an_empty_file_among_others_has_no_rows(tmp_path: Path) -> None:
    """As some writers leave for a part without rows: whether there are any must not be seen."""
    csv_file(tmp_path, "a\n1\n", "0.csv")
    csv_file(tmp_path, "", "1.csv")
    csv_file(tmp_path, "a\n2\n", "2.csv")
    assert values(tmp_path) == [1.0, 2.0]


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(b'a,b\n1,2\n3,"4\n' + b"5,6\n" * (5 * 2**20), id="a quote never closed"),
    ],
)
def test_what_cannot_be_read_as_csv_fails_without_a_word_about_it(
    tmp_path: Path, rows: bytes
) -> None:
    """docs/scale.md names this limit: such a row makes itself known, by the failure alone."""
    found = source(csv_file(tmp_path, rows))
    with pytest.raises(EngineError, match="Why is withheld"):
        ArrowEngine(found, ["a"], ONE).aggregate(Count())


@pytest.mark.attack
@pytest.mark.parametrize("name", ["x.csv.gz", "x.parquet", "x.arrow"])
def test_a_file_that_is_not_what_its_ending_says_shows_nothing_of_itself(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableFileError) as refused:
        open_files(csv_file(tmp_path, b"4217,zoe\n", name))
    assert "42" not in str(refused.value)
    assert "zoe" not in str(refused.value)


@pytest.mark.attack
@pytest.mark.parametrize(
    "row", [b"50,\"5'11 tall\n", b'50,x"y,"z\n', b'"50\n50",x\n', b'50,"x"y"\n']
)
@pytest.mark.parametrize("place", [0, 500])
def test_no_row_decides_how_many_others_there_are(row: bytes, place: int, tmp_path: Path) -> None:
    """A quote that a line does not close would swallow the lines after it, up to the next quote."""
    lines = [b'1,"a"\n'] * 1000
    lines.insert(place, row)
    found = source(csv_file(tmp_path, b"a,b\n" + b"".join(lines)))
    try:
        (count,) = ArrowEngine(found, ["a"], ONE).aggregate(Count())
    except EngineError:
        return
    assert count // UNIT in (1000, 1001)


@pytest.mark.attack
def test_a_header_that_is_never_closed_shows_no_row(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError) as refused:
        open_files(csv_file(tmp_path, b'a,"b\n0,CANARY\n1,CANARY\n'))
    assert "CANARY" not in str(refused.value)


@pytest.mark.attack
def test_first_row_of_a_file_without_a_header_is_not_published(tmp_path: Path) -> None:
    schema, _ = open_files(csv_file(tmp_path, b"1,CANARY\n2,bob\n"))
    for refused in (partial(schema.features, "who"), partial(schema.features, None, ["age"])):
        with pytest.raises(ColumnError) as error:
            refused()
        assert "CANARY" not in str(error.value)


@pytest.mark.attack
@pytest.mark.parametrize("declared", [{"radius": 9.0}, {"bounds": ([0, 0], [9, 9])}])
def test_a_first_row_is_not_published_as_names(declared: dict[str, Any], tmp_path: Path) -> None:
    """A model shows its columns' names, and here nobody but the file says what they are."""
    file = csv_file(tmp_path, b"7.25,CANARY\n1,2\n")
    with pytest.raises(ColumnError, match="first line of the CSV file holds a value") as refused:
        open_table(PrivateKMeans(1, delta=1e-6, **declared), file)
    assert "7.25" not in str(refused.value)
    assert "CANARY" not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [{"bounds": {"2019": (0, 9), "2020": (0, 9)}}, {"radius": 9.0, "unit": "who"}],
)
def test_numbers_may_be_names_if_somebody_named_a_column(
    given: dict[str, Any], tmp_path: Path
) -> None:
    file = csv_file(tmp_path, b"who,2019,2020\n7,1,2\n")
    schema = open_table(PrivateKMeans(1, delta=1e-6, **given), file).schema
    assert schema.names == ("2019", "2020")


@pytest.mark.attack
def test_the_last_row_is_read_like_any_other(tmp_path: Path) -> None:
    rows = b'a,b\n1,x\n"5",'
    assert cells(csv_file(tmp_path, rows), ["b"]) == cells(csv_file(tmp_path, rows + b"\n"), ["b"])


def test_links_to_files_are_followed_and_others_refused(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "visits", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    file = write_parquet(pa.table({"a": [1.0]}), elsewhere / "x.parquet")
    (folder / "x.parquet").symlink_to(file)
    (folder / "same.parquet").symlink_to(file)
    schema, files = list_files(folder)
    assert schema.names == ("a",)
    assert len(files) == 1  # its rows count once
    for name, target in {"year=2025": elsewhere, "y.parquet": tmp_path / "nothing"}.items():
        link = folder / name
        link.symlink_to(target)
        with pytest.raises(UnreadableFileError, match=f"'{name}' in the folder 'visits' is a link"):
            list_files(folder)
        link.unlink()
    (folder / "_kept").symlink_to(elsewhere)
    assert len(list_files(folder)[1]) == 1  # such names are never read
