"""How CSV files are written shows in their line of names and in what is typed, nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from privclust import Files, PrivateKMeans
from privclust.errors import ParameterError, UnreadableFileError
from privclust.sources._reading import side_by_side
from privclust.sources.cells import ids
from privclust.sources.files import describe_dialects, list_files, read_files
from privclust.sources.streams import source_of


def matrix(files: object, columns: list[str]) -> list[list[float]]:
    _, found = list_files(files)
    parts = [side_by_side(batch.column, columns) for batch in read_files(found, columns)]
    return np.concatenate(parts).tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_names_show_what_separates_cells(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text(mark.join(["age", '"in, ; | all"', "weight"]) + "\n" + mark.join("123") + "\n")
    schema, _ = list_files(str(file))
    assert schema.names == ("age", "in, ; | all", "weight")
    assert matrix(str(file), ["age", "weight"]) == [[1, 3]]


def test_only_the_line_of_names_counts(tmp_path: Path) -> None:
    rows = "1;2,3;4,5,6,7\n" * 50
    (tmp_path / "x.csv").write_text("a,b\n" + rows)
    assert list_files(str(tmp_path / "x.csv"))[0].names == ("a", "b")
    (tmp_path / "y.csv").write_text("a;b\n" + rows)
    assert list_files(str(tmp_path / "y.csv"))[0].names == ("a", "b")


def test_names_that_show_two_ways_are_refused_until_one_is_typed(tmp_path: Path) -> None:
    file = str(tmp_path / "x.csv")
    Path(file).write_text("a;b,c\n1;2,5\n", encoding="utf-8")
    with pytest.raises(UnreadableFileError, match=r"semicolons or by commas.*--delimiter ';'"):
        list_files(file)
    assert list_files(Files(file, delimiter=";"))[0].names == ("a", "b,c")
    assert matrix(Files(file, ";", ","), ["a", "b,c"]) == [[1, 2.5]]


def test_comma_marks_decimals_where_it_is_typed(tmp_path: Path) -> None:
    file = str(tmp_path / "x.csv")
    Path(file).write_text("a;b\n1,5;x\n-2,25e1;1,5\n1.5;1.5\n1.234,5;y\n7;\n", encoding="utf-8")
    found = matrix(Files(file, decimal=","), ["a"])
    assert np.array_equal(
        found, np.array([[1.5], [-22.5], [np.nan], [np.nan], [7]]), equal_nan=True
    )
    plain = matrix(file, ["a"])
    assert np.array_equal(
        plain, np.array([[np.nan], [np.nan], [1.5], [np.nan], [7]]), equal_nan=True
    )
    # Texts stay what they are.
    _, files = list_files(Files(file, decimal=","))
    (batch,) = read_files(files, ["b"])
    assert ids(batch.column("b")).to_pylist() == [b"x", b"1,5", b"1.5", b"y", None]


def test_quoted_cells_may_hold_what_separates(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(b'a;b\n"1;5";2\n3;"4"\n\xff;5\n6;7;8\n')
    found = matrix(str(file), ["b"])
    assert found == [[2], [4], [5]]


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"delimiter": "#"}, "delimiter must be one of"),
        ({"decimal": "'"}, "marks no decimals: it must be one of '.', ','.$"),
        ({"decimal": ";"}, "decimal=';' marks .* separates cells is said by delimiter=';'"),
        ({"delimiter": ",", "decimal": ","}, "separated by commas"),
    ],
)
def test_impossible_ways_are_refused(given: dict[str, str], cause: str) -> None:
    with pytest.raises(ParameterError, match=cause):
        Files("x.csv", **given)


def test_commas_cannot_mean_both(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ParameterError, match=r"cells of 'x\.csv' are separated by commas"):
        list_files(Files(str(tmp_path / "x.csv"), decimal=","))


def test_every_way_but_the_usual_is_stated_once(tmp_path: Path) -> None:
    for name, text in (("a.csv", "x,y\n"), ("b.csv", "x;y\n"), ("c.csv", "x;y\n")):
        (tmp_path / name).write_text(text)
    stated = describe_dialects(list_files(str(tmp_path / "*.csv"))[1])
    assert stated == [
        "b.csv: cells are separated by semicolons, decimals of numbers are marked by points. "
        "What is written otherwise counts as missing.",
    ]


def test_estimators_take_files_as_they_take_paths(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal([20.0, 60.0], 1.0, (600, 2))
    lines = [";".join(f"{cell:.3f}".replace(".", ",") for cell in row) for row in rows]
    (tmp_path / "x.csv").write_text("\n".join(["a;b", *lines]) + "\n")
    files = Files(str(tmp_path / "x.csv"), decimal=",")
    bounds = {"a": (0, 100), "b": (0, 100)}
    model = PrivateKMeans(1, delta=1e-6, bounds=bounds, max_clusters=2, epsilon=8.0).fit(files)
    assert model.cluster_centers_[0] == pytest.approx([20, 60], abs=2)
    assert model.predict(files).tolist() == [0] * 600
    source = source_of(files)
    assert source is not None
    empty = next(iter(source.empty(["a"])))
    assert isinstance(empty, pa.RecordBatch)
    assert empty.num_rows == 0
