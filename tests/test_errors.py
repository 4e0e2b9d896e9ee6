"""Errors can be distinguished, are what they were before they had names, and show no rows."""

from __future__ import annotations

import pickle
from typing import get_args

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privclust import PrivateKMeans, errors
from privclust.errors import (
    FailedClientError,
    FailedNodeError,
    Message,
    Parameter,
    ParameterError,
    SnapshotCause,
    SnapshotError,
    TooFewClientsError,
    safe_repr,
)

CANARY = 73.19283746501928


@pytest.mark.parametrize(
    ("kind", "older"),
    [
        (errors.BoundsError, ValueError),
        (errors.ColumnError, ValueError),
        (errors.ColumnTypeError, TypeError),
        (errors.ParameterError, ValueError),
        (errors.TooManyClustersError, errors.ParameterError),
        (errors.ModelFileError, ValueError),
    ],
)
def test_every_error_is_caught_as_what_it_is_a_case_of(
    kind: type[Exception], older: type[Exception]
) -> None:
    with pytest.raises(older):
        raise kind


@pytest.mark.parametrize(
    "value",
    [
        np.full(3, CANARY),
        pd.DataFrame({"age": [CANARY]}),
        pl.Series([CANARY]),
        pa.table({"age": [CANARY]}),
        [CANARY],
        (CANARY,),
        {"age": CANARY},
        {CANARY},
        str(CANARY).encode(),
        complex(CANARY),
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_that_could_hold_rows_is_written_as_its_type(value: object) -> None:
    assert safe_repr(value) == f"a value of type {type(value).__name__}"


def test_plain_values_are_written_and_long_ones_cut() -> None:
    plain = (None, True, 3, 0.5, "1e-6", np.int64(3))
    assert [safe_repr(value) for value in plain] == [repr(value) for value in plain]
    assert len(safe_repr("x" * 1000)) == 81
    assert safe_repr(10**1000) == "a number of about 1,001 digits"


@pytest.mark.parametrize(
    ("given", "parameter"),
    [
        ({"epsilon": -1.0}, "epsilon"),
        ({"delta": 2.0}, "delta"),
        ({"delta": None}, "delta"),
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_rows": 0}, "n_rows"),
        ({"max_rows_per_unit": 0}, "max_rows_per_unit"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_error_carries_its_parameter(given: dict[str, object], parameter: str) -> None:
    model = PrivateKMeans(2, delta=1e-6, radius=1.0).set_params(**given)
    with pytest.raises(ParameterError, match=parameter) as caught:
        model.fit(np.zeros((9, 2)))
    assert caught.value.parameter == parameter


def test_error_without_a_parameter_has_none() -> None:
    assert ParameterError().parameter is None
    assert ParameterError("plain text").parameter is None


@pytest.mark.parametrize(
    "error",
    [
        *(SnapshotError(cause) for cause in get_args(SnapshotCause)),
        TooFewClientsError(1, 3, 2),
        FailedClientError(),
        FailedNodeError("clinic"),
    ],
    ids=lambda error: str(error)[:30],
)
def test_pickled_error_says_the_same(error: Exception) -> None:
    """Workers of other processes hand them on."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_pickled_error_keeps_its_parameter() -> None:
    error = ParameterError(Message(Parameter("n_rows", 3), " is {few}."))
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.parameter) == (str(error), "n_rows")
    assert (
        again.args[0].render(lambda parameter: f"--rows {parameter.value}") == "--rows 3 is {few}."
    )
