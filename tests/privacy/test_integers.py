"""One rule says which parameters are integers, wherever one is typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privclust import (
    FedDPKMeans,
    Ledger,
    PEMeans,
    PrivateKMeans,
    forecast,
    simulate,
)
from privclust.errors import ParameterError

ROWS = np.zeros((50, 2))


def add(periods: Any) -> None:
    ledger = Ledger.in_memory()
    ledger.add("table", 1.0, 1e-6, periods=periods)
    assert type(ledger.dataset("table").periods) is int


def fit(kind: type[Any], **given: Any) -> None:
    kind(**{"n_clusters": 2, "delta": 1e-6, "radius": 1.0, "n_rows": 50, **given}).fit(ROWS)


TAKES: dict[str, Callable[[Any], object]] = {
    "n_clusters": lambda value: fit(PEMeans, n_clusters=value),
    "n_rows": lambda value: fit(PEMeans, n_rows=value, n_clusters=1),
    "random_state": lambda value: fit(PEMeans, random_state=value),
    "max_clusters": lambda value: fit(PrivateKMeans, n_clusters=1, max_clusters=value),
    "rounds": lambda value: fit(FedDPKMeans, server_data=ROWS, rounds=value),
    "forecast": lambda value: forecast(value, 2, 1, delta=1e-6),
    "simulate": lambda value: simulate(100, value, 1, delta=1e-6),
    "periods": add,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("kind", [int, np.int32, np.uint8])
def test_integers_of_numpy_are_integers(name: str, kind: Callable[[int], Any]) -> None:
    TAKES[name](kind(1))


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("value", [True, np.True_, 1.0, "1", -1])
def test_truth_values_decimals_and_texts_are_none(name: str, value: object) -> None:
    """True was a seed, and a number of rows of a forecast."""
    with pytest.raises(ParameterError, match="integer"):
        TAKES[name](value)


def test_small_integers_of_numpy_do_not_overflow() -> None:
    assert repr(forecast(np.uint8(200), np.uint8(50), np.uint8(4), delta=1e-6)) == repr(  # type: ignore[arg-type]
        forecast(200, 50, 4, delta=1e-6)
    )
