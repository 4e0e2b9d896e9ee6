"""Cells of pandas columns that hold anything: each is read alone, and none ends a fit."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains._category_column import CategoryColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.mixed import Mixed
from privclust.engines.federated.federation import Federation
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import UNIT
from privclust.queries.base import Count
from privclust.queries.unit import ROW, Unit
from privclust.sources.cells import ids
from privclust.sources.frames import read_ids, read_rows

cheap = settings(deadline=None, derandomize=True, database=None, max_examples=100)
WARD = Mixed((CategoryColumn("ward", ("a", "1", "2", "other")),))


class Failing:
    """Fails whatever is done with it."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __str__(self) -> str:
        raise self.error

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        raise self.error

    __hash__ = object.__hash__


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


ODD: dict[str, Callable[[], Any]] = {
    "too many digits": lambda: 10**5000,
    "a signalling NaN": lambda: Decimal("sNaN"),
    "a deep list": lambda: nested(100_000),
    "an error": lambda: Failing(ValueError),
    "no memory": lambda: Failing(MemoryError),
}


def objects(*cells: Any) -> Any:
    """Return a column of dtype object with these cells, whatever they are."""
    column = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        column[place] = cell
    return pd.DataFrame({"ward": pd.Series(column, dtype=object)})


@pytest.mark.attack
@pytest.mark.parametrize("name", ODD)
def test_a_cell_that_cannot_be_read_is_missing_and_no_other_is(name: str) -> None:
    beside = ["a", None, 1, 2.0, "x", ["y"], np.nan, pd.NA, pd.NaT, Decimal("NaN"), b"a", True]
    alone = read_ids(objects(*beside), "ward").to_pylist()
    for place in (0, 5, len(beside)):
        found = read_ids(objects(*beside[:place], ODD[name](), *beside[place:]), "ward").to_pylist()
        assert found == [*alone[:place], None, *alone[place:]]


@pytest.mark.attack
@pytest.mark.parametrize("name", ["too many digits", "an error", "no memory"])
def test_a_level_that_cannot_be_read_is_missing(name: str) -> None:
    levels = pd.Index([ODD[name](), "a"], dtype=object)
    column = pd.Categorical.from_codes([0, 1, -1], levels)
    assert read_ids(pd.DataFrame({"ward": column}), "ward").to_pylist() == [None, b"a", None]


@pytest.mark.attack
@pytest.mark.parametrize("name", ODD)
def test_no_cell_ends_a_fit_or_a_federation(name: str) -> None:
    table = objects(*["a"] * 5, ODD[name]())
    assert NumpyEngine(table, WARD).aggregate(Count()) == [6 * UNIT]
    engine = Federation.in_process({"n": table, "s": objects("a")}, ["ward"]).open_engine(
        None, WARD, ROW
    )
    with contextlib.closing(engine):
        assert engine.aggregate(Count()) == [7 * UNIT]


@pytest.mark.attack
def test_an_id_that_cannot_be_read_is_missing() -> None:
    def counted(cell: Any) -> list[int]:
        who = objects("ann", cell, None, "ann").rename(columns={"ward": "who"})
        domain = Mixed((NumberColumn("age", 0, 9),))
        engine = NumpyEngine(who.assign(age=[1.0] * 4), domain, unit=Unit("who", 1))
        return list(engine.aggregate(Count()))

    assert counted(10**5000) == counted(None) != counted("eve")


@pytest.mark.attack
@pytest.mark.parametrize(
    ("declared", "cell"),
    [(pa.date32(), 2**31 - 1), (pa.timestamp("s"), 2**62), (pa.string(), b"\xff")],
    ids=str,
)
def test_cells_that_python_cannot_hold_are_missing_or_bytes(declared: Any, cell: Any) -> None:
    """Columns of Arrow's types in pandas fail where a cell is made an object."""
    odd = pa.array([b"a", cell], pa.binary()).view(pa.string()) if declared == pa.string() else None
    if odd is None:
        width = pa.int32() if declared == pa.date32() else pa.int64()
        odd = pa.array([0, cell], width).cast(declared)
    column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([odd])))
    found = read_rows(pd.DataFrame({"ward": column}), 0, 2, WARD)
    alone = read_rows(pd.DataFrame({"ward": column[:1]}), 0, 1, WARD)
    np.testing.assert_array_equal(found[:1], alone)
    assert found.shape == (2, 4)


# Numbers among other things ----------------------------------------------------------------------


@pytest.mark.attack
def test_a_text_among_whole_floats_leaves_them_the_levels_they_are() -> None:
    floats = pd.DataFrame({"ward": [1.0, 2.0, np.nan, -0.0]})
    with warnings.catch_warnings(action="ignore"):
        mixed = pd.concat([floats, pd.DataFrame({"ward": ["x"]})], ignore_index=True)
    assert mixed["ward"].dtype == object
    expected = read_rows(floats, 0, 4, WARD)
    np.testing.assert_array_equal(read_rows(mixed, 0, 5, WARD)[:4], expected)


def test_one_id_is_one_however_the_number_is_written() -> None:
    found = read_ids(objects(1, 1.0, np.float32(1), np.int8(1), "1", b"1"), "ward")
    assert set(found.to_pylist()) == {b"1"}


NUMBERS = st.floats() | st.floats(width=32).map(np.float32) | st.integers(-(2**63), 2**63 - 1)


@pytest.mark.attack
@given(st.lists(st.floats(), max_size=5), st.lists(NUMBERS | st.text() | st.dates(), max_size=5))
@cheap
def test_a_float_is_read_alike_in_a_column_of_its_type_and_beside_anything(
    floats: list[float], others: list[int | float | str | date]
) -> None:
    found = read_ids(objects(*others, *floats), "ward")[len(others) :]
    assert found.to_pylist() == ids(pa.array(floats, pa.float64(), from_pandas=True)).to_pylist()
