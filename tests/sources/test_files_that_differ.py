"""Files whose types differ: whether they can be read together follows from types, not from rows."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from helpers.conformance import source, write_parquet

from privclust import PrivateKMeans
from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.base import Domain
from privclust.domains.columns import Column
from privclust.domains.mixed import Mixed
from privclust.domains.reader import Use
from privclust.domains.sphere import Sphere
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.errors import ColumnTypeError
from privclust.kernels.grid import UNIT
from privclust.queries.base import Count
from privclust.queries.unit import Unit
from privclust.sources.schema import Schema

SINGLE: dict[str, Any] = {
    "double": pa.array([1.5]),
    "integers": pa.array([1]),
    "truth values": pa.array([True]),
    "texts": pa.array(["1"]),
    "a dictionary": pa.array(["1"]).dictionary_encode(),
    "days": pa.array([date(2020, 1, 1)]),
    "times": pa.array([0], pa.timestamp("ms", "UTC")),
    "times of no known zone": pa.array([0], pa.timestamp("s", "Mars/Olympus")),
    "vectors of 2": pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2)),
    "vectors of 3": pa.array([[1.0, 2.0, 3.0]], pa.list_(pa.float32(), 3)),
    "lists": pa.array([[1.0]]),
    "nothing": pa.nulls(1),
}
COLUMNS: dict[Use, Column] = {
    "number": NumberColumn("v", 0, 10),
    "category": CategoryColumn("v", ("1", "2")),
    "date": DateColumn("v", date(2019, 1, 1), date(2021, 1, 1)),
}


def written(folder: Path, first: Any, second: Any | None, n_rows: int) -> list[Path]:
    """Write a file with one row, and another with so many, which may lack the column."""
    other = {"w": pa.array([7])} if second is None else {"v": second, "w": pa.array([7])}
    return [
        write_parquet(pa.table({"v": first, "w": pa.array([7])}), folder / "1.parquet"),
        write_parquet(pa.table(other).slice(0, n_rows), folder / "2.parquet"),
    ]


def outcome(files: list[Path], use: Use) -> int | str:
    """Return how many rows are counted, or what is refused when the columns are looked at."""
    found = source(files)
    try:
        schema = found.schema.features(None, ["v"], {"v": use})
    except ColumnTypeError as error:
        return str(error)
    (count,) = ArrowEngine(found, ["v"], domain_of(use, schema)).aggregate(Count())
    return count // UNIT


def domain_of(use: Use, schema: Schema) -> Domain:
    if use == "vector":
        return Sphere(dict(schema.lengths)["v"], "v")
    return Mixed((COLUMNS[use],))


@pytest.mark.attack
@pytest.mark.parametrize("use", ["number", "category", "date", "vector"])
@pytest.mark.parametrize("first", SINGLE)
def test_no_row_decides_whether_files_can_be_read(first: str, use: Use, tmp_path: Path) -> None:
    for second in (*SINGLE.values(), None):
        without = outcome(written(tmp_path, SINGLE[first], second, 0), use)
        one_more = outcome(written(tmp_path, SINGLE[first], second, 1), use)
        if isinstance(without, str):
            assert one_more == without
        else:
            assert (without, one_more) == (1, 2)


@pytest.mark.attack
@pytest.mark.parametrize("second", [*SINGLE, None])
def test_no_row_decides_whether_ids_can_be_read(second: str | None, tmp_path: Path) -> None:
    other = None if second is None else SINGLE[second]

    def counted(n_rows: int) -> int | None:
        found = source(written(tmp_path, pa.array(["1"]), other, n_rows))
        with suppress(ColumnTypeError):
            found.schema.features("v", ["w"])
            engine = SpilledEngine(found, ["w"], Mixed((NumberColumn("w", 0, 9),)), Unit("v", 1))
            return engine.aggregate(Count())[0] // UNIT
        return None

    assert (counted(0) is None) == (counted(1) is None)


@pytest.mark.attack
@pytest.mark.parametrize(
    "second",
    [
        pa.array([7.0]),
        pa.array([2.0**53 + 2], pa.float32()),
        pa.array(["7"]).cast(pa.decimal128(12, 2)),
        pa.array([True]),
    ],
    ids=lambda second: str(second.type),
)
def test_ids_that_another_file_writes_otherwise_make_nobody_two(
    second: Any, tmp_path: Path
) -> None:
    """Here 7 and there 7.00: one person would count twice what the statement says."""
    found = source(written(tmp_path, pa.array([7]), second, 1))
    with pytest.raises(ColumnTypeError, match=r"unit='v' of the file '2\.parquet' holds neither"):
        found.schema.features("v", ["w"])


@pytest.mark.parametrize(
    ("first", "second", "use"),
    [
        ("double", "days", "number"),
        ("days", "double", "date"),
        ("texts", "integers", "date"),
        ("vectors of 2", "vectors of 3", "vector"),
        ("vectors of 2", "double", "vector"),
        ("texts", "lists", "category"),
    ],
)
def test_a_refusal_names_the_column_the_file_and_what_it_should_hold(
    first: str, second: str, use: Use, tmp_path: Path
) -> None:
    refused = outcome(written(tmp_path, SINGLE[first], SINGLE[second], 0), use)
    assert isinstance(refused, str)
    for part in ("column 'v'", "'2.parquet'", "first file", "Convert it"):
        assert part in refused


@pytest.mark.parametrize("gone", [pa.nulls(1), None], ids=["of nothing", "not there"])
@pytest.mark.parametrize("use", ["number", "category", "date", "vector"])
def test_a_column_that_a_file_lacks_is_missing_there(use: Use, gone: Any, tmp_path: Path) -> None:
    first = {
        "number": SINGLE["double"],
        "category": SINGLE["texts"],
        "date": SINGLE["days"],
        "vector": SINGLE["vectors of 2"],
    }[use]
    assert outcome(written(tmp_path, first, gone, 1), use) == 2


def test_columns_that_are_not_used_may_differ_in_any_way(tmp_path: Path) -> None:
    found = source(written(tmp_path, SINGLE["double"], SINGLE["lists"], 1))
    assert found.schema.features(None, ["w"]).names == ("w",)
    with pytest.raises(ColumnTypeError):
        found.schema.features(None, ["v", "w"])


def test_a_csv_file_holds_no_vectors(tmp_path: Path) -> None:
    files = [write_parquet(pa.table({"v": SINGLE["vectors of 2"]}), tmp_path / "1.parquet")]
    files.append(tmp_path / "2.csv")
    files[1].write_text("v\n")
    assert "'2.csv'" in str(outcome(files, "vector"))


@pytest.mark.attack
def test_a_fit_refuses_before_it_charges(tmp_path: Path) -> None:
    files = written(tmp_path, SINGLE["double"], SINGLE["days"], 1)
    model = PrivateKMeans(1, delta=1e-6, bounds={"v": (0, 10)}, ledger=str(tmp_path / "no.db"))
    with pytest.raises(ColumnTypeError):
        model.fit(files)
    assert not (tmp_path / "no.db").exists()
