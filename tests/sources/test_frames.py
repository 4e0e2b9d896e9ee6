"""Arrays and frames give the same numbers, and only their schema is looked at beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.engines.memory import NumpyEngine
from privclust.queries.clusters import ClusterSums
from privclust.sources.frames import read_rows, schema_of
from privclust.sources.schema import Schema
from privclust.sources.streams import source_of

COLUMNS = {"age": [30, 40, 50], "ill": [True, False, True], "income": [1.5, None, float("inf")]}
FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas nullable": pd.DataFrame(COLUMNS).astype(
        {"age": "Int64", "ill": "boolean", "income": "Float64"}
    ),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "arrow in chunks": pa.concat_tables(
        [pa.table(COLUMNS).slice(0, 1), pa.table(COLUMNS).slice(1)]
    ),
}
EXPECTED = np.array([[30, 1, 1.5], [40, 0, np.nan], [50, 1, np.inf]])


@pytest.mark.parametrize("library", FRAMES)
def test_frames_are_read_as_numbers_and_gaps_as_missing(library: str) -> None:
    frame = FRAMES[library]
    assert schema_of(frame) == Schema(("age", "ill", "income"), ("integer", "number", "number"))
    np.testing.assert_array_equal(read_rows(frame, 0, 3, Ball([0.0], 1.0)), EXPECTED)
    np.testing.assert_array_equal(read_rows(frame, 1, 9, Ball([0.0], 1.0)), EXPECTED[1:])


@pytest.mark.attack
@pytest.mark.parametrize("library", FRAMES)
def test_frames_give_the_same_integers_as_arrays(library: str) -> None:
    domain = Box([0, 0, 0], [100, 1, 10])
    query = ClusterSums(np.zeros((1, 3)), np.zeros((1, 3)), 1.0, 1.0)
    exact = NumpyEngine(EXPECTED, domain).aggregate(query)
    assert NumpyEngine(FRAMES[library], domain).aggregate(query) == exact


@pytest.mark.parametrize("index", [["x", "y", "z"], [7, 5, 3]])
def test_the_index_of_a_pandas_frame_is_no_column(index: list[Any]) -> None:
    frame = pd.DataFrame({"age": [30.0, 40.0, 50.0]}, index=index)
    np.testing.assert_array_equal(read_rows(frame, 0, 3, Ball([0.0], 1.0)), [[30], [40], [50]])
    np.testing.assert_array_equal(
        read_rows(frame[frame["age"] > 30], 0, 9, Ball([0.0], 1.0)), [[40], [50]]
    )


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_an_empty_frame_adds_up_to_zero(library: str) -> None:
    empty = FRAMES[library].iloc[:0] if library == "pandas" else FRAMES[library].slice(0, 0)
    query = ClusterSums(np.zeros((1, 3)), np.zeros((1, 3)), 1.0, 1.0)
    assert NumpyEngine(empty, Box([0, 0, 0], [1, 1, 1])).aggregate(query) == [0] * 4


def test_names_that_are_not_text_are_no_names() -> None:
    assert schema_of(pd.DataFrame(np.zeros((2, 2)))) == Schema(None, ("number", "number"))


@pytest.mark.parametrize("table", [np.zeros(3), np.zeros((2, 2, 2))])
def test_arrays_have_two_dimensions(table: Any) -> None:
    with pytest.raises(ValueError, match="Reshape your data"):
        schema_of(table)


def test_a_lazy_frame_is_not_a_table_in_memory() -> None:
    lazy = pl.DataFrame(COLUMNS).lazy()
    with pytest.raises(TypeError, match="must be a NumPy array, a pandas"):
        schema_of(lazy)
    assert source_of(lazy) is not None
    assert source_of(pl.DataFrame(COLUMNS)) is None


@pytest.mark.attack
def test_a_column_cannot_hide_behind_another_of_its_name() -> None:
    """Or one cell of a column of texts would decide whether reading fails."""
    texts, numbers = pa.array(["7"] * 19 + ["x"]), pa.array(np.arange(20.0))
    with pytest.raises(ValueError, match="names that differ"):
        schema_of(pa.table([texts, numbers], names=["a", "a"]))
    frame = pd.DataFrame({1: np.array(["7"] * 20, dtype=object), "1": np.arange(20.0)})
    with pytest.raises(ValueError, match="names that differ"):
        schema_of(frame)
    with pytest.raises(ValueError, match="names that differ"):
        schema_of(pa.table([numbers, numbers], names=["a", "a"]))


def test_array_of_ragged_rows_is_refused_with_what_to_give_instead() -> None:
    ragged = np.empty(2, object)
    ragged[:] = [[1.0, 2.0], [3.0]]
    with pytest.raises(ValueError, match="Give the list of rows itself"):
        schema_of(ragged)
