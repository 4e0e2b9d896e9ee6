"""Errors can be told apart, are what they were before they had names, and show no rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from privclust import errors
from privclust.errors import shown

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
def test_what_could_hold_rows_is_shown_as_its_type(value: object) -> None:
    assert shown(value) == f"a value of type {type(value).__name__}"


def test_plain_values_are_shown_and_long_ones_cut() -> None:
    plain = (None, True, 3, 0.5, "1e-6", np.int64(3))
    assert [shown(value) for value in plain] == [repr(value) for value in plain]
    assert len(shown("x" * 1000)) == 81
    assert shown(10**1000) == "a number of about 1,001 digits"
