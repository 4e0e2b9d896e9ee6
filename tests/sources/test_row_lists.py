"""Lists and series as tables: fitted like arrays, each row by itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pytest

from privclust import PrivateKMeans
from privclust.sources.row_lists import RowList, as_table, row_list
from privclust.testing import SeededNoise, noise_from

ROWS = np.random.default_rng(0).normal(50.0, 20.0, (1000, 2))


def centers(X: Any) -> Any:
    with noise_from(SeededNoise(0)):
        return PrivateKMeans(2, delta=1e-6, bounds=(0, 100), random_state=0).fit(X).cluster_centers_


@pytest.mark.parametrize(
    "X",
    [
        ROWS.tolist(),
        list(map(tuple, ROWS.tolist())),
        tuple(ROWS.tolist()),
        list(ROWS),
        pd.Series(ROWS.tolist()),
        pl.Series(ROWS.tolist()),
    ],
    ids=["lists", "tuples", "tuple of lists", "arrays", "pandas", "Polars"],
)
def test_rows_in_a_list_are_fitted_like_an_array(X: Any) -> None:
    assert np.array_equal(centers(X), centers(ROWS))


@pytest.mark.parametrize("library", [pd, pl])
def test_series_of_numbers_is_one_column(library: Any) -> None:
    age = library.Series(name="age", **{"data" if library is pd else "values": ROWS[:, 0]})
    model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 100)}).fit(age)
    assert model.feature_names_in_.tolist() == ["age"]
    assert len(model.predict(age)) == len(ROWS)


def test_labels_of_a_list_are_those_of_the_array() -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds=(0, 100)).fit(ROWS)
    assert np.array_equal(model.predict(ROWS.tolist()), model.predict(ROWS))


def test_each_row_is_read_by_itself() -> None:
    odd = [[1, 2.5], (np.float32(3), "4"), [5], [6, 7, 8], "nine", None, [{}, True], [10**400, -1]]
    found = row_list(odd).numbers(0, len(odd))
    nan = np.nan
    first = np.array([[1, 2.5], [3, 4], [5, nan], [6, 7]])
    last = np.array([[nan, nan], [nan, nan], [nan, 1], [nan, -1]])
    assert np.array_equal(found, np.vstack([first, last]), equal_nan=True)
    for place, row in enumerate(odd):
        alone = RowList([row], 2).numbers(0, 1)
        assert np.array_equal(alone, found[place : place + 1], equal_nan=True)


class Visit(NamedTuple):
    """A row as `itertuples` of pandas gives it."""

    age: float
    costs: float


class Hostile(list[float]):
    """A row and a cell that do what they like."""

    def __getitem__(self, place: Any) -> Any:
        raise RuntimeError

    def __float__(self) -> float:
        raise SystemExit


@pytest.mark.attack
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (np.array(5.0), [np.nan, np.nan]),
        (np.zeros((1, 2)), [np.nan, np.nan]),
        (Hostile([7.0, 8.0]), [7, 8]),
        ([Hostile(), 2], [np.nan, 2]),
        (Visit(7, 8), [7, 8]),
    ],
)
def test_no_row_makes_the_others_unreadable(row: Any, expected: list[float]) -> None:
    found = row_list([[1.0, 2.0], row, [3.0, 4.0]]).numbers(0, 3)
    assert found[[0, 2]].tolist() == [[1, 2], [3, 4]]
    assert np.array_equal(found[1], expected, equal_nan=True)


@pytest.mark.parametrize("X", [[], [1.0, 2.0], [[]], [[[1.0]]], ["A"], [None], pd.Series(["A"])])
def test_list_that_begins_with_no_row_is_refused_with_what_would_do(X: Any) -> None:
    with pytest.raises(ValueError, match=r"Give a list of rows, for instance \[\[40.0, 1.5\]"):
        as_table(X)
