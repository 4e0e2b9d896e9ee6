"""Mixed tables: the same integers wherever the cells lie, and whatever they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.mixed import Mixed
from privclust.engines.base import Engine
from privclust.engines.federated.federation import Federation
from privclust.engines.memory import NumpyEngine
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.queries.clusters import ClusterSums
from privclust.queries.unit import ROW, Unit
from privclust.sources.frames import read_rows
from privclust.sources.streams import source_of

INCOME = NumberColumn("income", 1, 1e6, transform="log")
VISIT = DateColumn("visit", date(2020, 1, 1), date(2024, 12, 31))
LEVELS = (
    CategoryColumn("ward", ("A", "B", "other")),
    CategoryColumn("code", ("1", "2")),
    CategoryColumn("smokes", ("true", "false")),
)
MIXED = Mixed((INCOME, *LEVELS, VISIT))
FILLED = Mixed((replace(INCOME, missing=80.0), *LEVELS, replace(VISIT, missing=date(2023, 2, 28))))
"""The same columns, of which numbers and dates declare what missing cells count as."""
COLUMNS = [column.name for column in MIXED.columns]
UNIT = Unit("who", 2)


def table() -> Any:
    return pa.table(
        {
            "income": [5.0, None, 1e9, -3.0, 1234.5, 80.0] * 5,
            "ward": ["A", "B", "C", None, "", "other"] * 5,
            "code": pa.array([1, 2, 3, None, 1, 2] * 5, pa.int64()),
            "smokes": [True, False, None, True, True, False] * 5,
            "visit": [date(2020, 1, 1), None, date(1999, 1, 1), date(2022, 5, 5)] * 7
            + [date(2023, 2, 28), None],
            "who": ["ann", "ben", "ann", None, "eve", "eve"] * 5,
        }
    )


def query() -> ClusterSums:
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (3, MIXED.center.size))
    return ClusterSums(points, points, 2.0, 1.0)


def in_memory(convert: Callable[[Any], Any]) -> Callable[[Path, bool, Mixed], Engine]:
    def make(folder: Path, by_unit: bool, domain: Mixed) -> Engine:
        if by_unit:
            return NumpyEngine(convert(table()), domain, unit=UNIT)
        return NumpyEngine(convert(table().drop_columns(["who"])), domain)

    return make


def in_file(
    write: Callable[[Any, Path], object], name: str
) -> Callable[[Path, bool, Mixed], Engine]:
    def make(folder: Path, by_unit: bool, domain: Mixed) -> Engine:
        write(table(), folder / name)
        source = source_of(str(folder / name))
        assert source is not None
        if by_unit:
            return SpilledEngine(source, COLUMNS, domain, UNIT)
        return ArrowEngine(source, COLUMNS, domain)

    return make


def federated(folder: Path, by_unit: bool, domain: Mixed) -> Engine:
    places = [["ann", "ben"].count(who) for who in table().column("who").to_pylist()]
    pq.write_table(table().filter(pa.array([place == 0 for place in places])), folder / "0.parquet")
    tables = {
        "north": table().filter(pa.array([place == 1 for place in places])),
        "south": str(folder / "0.parquet"),
    }
    unit = UNIT if by_unit else ROW
    return Federation.in_process(tables, COLUMNS).open_engine(None, domain, unit)


def as_objects(rows: Any) -> Any:
    frame = rows.to_pandas()
    frame["ward"] = frame["ward"].astype(object)
    return frame


ENGINES: dict[str, Callable[[Path, bool, Mixed], Engine]] = {
    "pandas": in_memory(lambda rows: rows.to_pandas()),
    "pandas objects": in_memory(as_objects),
    "pandas categories": in_memory(
        lambda rows: rows.to_pandas().assign(ward=lambda frame: frame["ward"].astype("category"))
    ),
    "polars": in_memory(pl.from_arrow),
    "arrow in pieces": in_memory(
        lambda rows: pa.Table.from_batches(rows.to_batches(max_chunksize=7))
    ),
    "federation": federated,
    "Parquet": in_file(pq.write_table, "rows.parquet"),
    "CSV": in_file(pyarrow.csv.write_csv, "rows.csv"),
}


@pytest.mark.parametrize("domain", [MIXED, FILLED], ids=["middle", "declared"])
@pytest.mark.parametrize("by_unit", [False, True], ids=["rows", "units"])
@pytest.mark.parametrize("name", ENGINES)
def test_all_engines_give_the_integers_of_an_arrow_table(
    name: str, by_unit: bool, domain: Mixed, tmp_path: Path
) -> None:
    expected = in_memory(lambda rows: rows)(tmp_path, by_unit, domain).aggregate(query())
    assert ENGINES[name](tmp_path, by_unit, domain).aggregate(query()) == expected
    assert any(expected)


def test_gaps_are_added_up_as_cells_that_hold_what_is_declared() -> None:
    rows = table().drop_columns(["who"])
    typed = rows.set_column(0, "income", pc.fill_null(rows["income"], 80.0))
    typed = typed.set_column(4, "visit", pc.fill_null(rows["visit"], date(2023, 2, 28)))
    found, middle = (NumpyEngine(rows, one).aggregate(query()) for one in (FILLED, MIXED))
    assert found == NumpyEngine(typed, FILLED).aggregate(query()) != middle
    assert found == NumpyEngine(typed, MIXED).aggregate(query())


def rows_of(**cells: Any) -> Any:
    """Return two rows: a complete one, and one with other cells in some places."""
    complete = {"income": 80.0, "ward": "A", "code": 1, "smokes": True, "visit": date(2021, 5, 5)}
    return pa.table({name: [value, cells.get(name, value)] for name, value in complete.items()})


MISSING = {
    "a category": {"ward": None},
    "a category that is a number": {"code": None},
    "a truth value": {"smokes": None},
    "a day": {"visit": None},
    "a number": {"income": None},
    "a level that is not declared": {"code": 3},
}


@pytest.mark.parametrize("cells", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize(
    "convert", [lambda rows: rows, lambda rows: rows.to_pandas(), pl.from_arrow]
)
def test_what_is_missing_counts_as_the_middle_of_its_own_column_only(
    cells: dict[str, Any], convert: Callable[[Any], Any]
) -> None:
    whole, gap = MIXED.to_grid(read_rows(convert(rows_of(**cells)), 0, 2, MIXED))
    (gone,) = cells
    inside = np.array([name.split("=")[0] == gone for name in MIXED.coordinate_names(None)])
    assert not gap[inside].any()
    assert whole[inside].any()
    assert np.array_equal(whole[~inside], gap[~inside])


def test_a_level_that_is_not_declared_counts_as_other_where_that_is() -> None:
    strange, other = (rows_of(ward=level) for level in ("C", "other"))
    assert np.array_equal(read_rows(strange, 0, 2, MIXED), read_rows(other, 0, 2, MIXED))


@pytest.mark.parametrize("cell", ["soon", "", "2021-5-5", "05/05/2021", "2021-13-01"])
def test_a_text_that_is_no_day_is_missing(cell: str) -> None:
    texts = pa.array(["2021-05-05", cell])
    table = rows_of().set_column(4, "visit", texts)
    visit = read_rows(table, 0, 2, MIXED)[:, MIXED.coordinate_names(None).index("visit")]
    assert visit[0] == (date(2021, 5, 5) - date(1970, 1, 1)).days
    assert np.isnan(visit[1])
