"""What a fit would cost is known before anything is charged, and too much is refused."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.kinds import EVERY_KIND

import privclust
from privclust import FedDPKMeans, Ledger, PrivateKMeans, limits
from privclust.algorithms import private_kmeans
from privclust.algorithms._cost import Cost
from privclust.algorithms.seeded_kmeans import start_cost
from privclust.domains.ball import Ball
from privclust.errors import CostError, ParameterError, TooManyClustersError
from privclust.estimators import _derived_cost, _fit
from privclust.estimators._cost_check import beyond_limits, check_cost
from privclust.kernels.grid import FloatArray
from privclust.models.cost_limits import MEMORY_VARIABLE, MINUTES_VARIABLE
from privclust.models.formatting import spoken, spoken_memory
from privclust.privacy.accounting import Budget
from privclust.queries.unit import COORDINATES_MAX
from privclust.testing import SeededNoise, noise_from

DELTA = 1e-6
BUDGET = Budget(1.0, DELTA)
QUICK = 1.0
"""Seconds of CPU."""


def few_rows(n_columns: int, n_rows: int = 10) -> FloatArray:
    return np.random.default_rng(0).normal(0, 0.1, (n_rows, n_columns))


@pytest.fixture(scope="module", autouse=True)
def loaded_loops() -> None:
    """Load compiled loops, which takes seconds in each process and is no part of a refusal."""
    Ball(np.zeros(1), 1.0).to_grid(np.zeros((1, 1)))


@pytest.fixture
def place(tmp_path: Path) -> str:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=50.0, delta=DELTA)
    return place


def assert_nothing_is_reserved(place: str) -> None:
    assert Ledger.open(place).runs("table") == ()


def assert_refused_at_once(model: Any, rows: Any, place: str) -> str:
    model.set_params(ledger=place, dataset="table", delta=DELTA)
    start = time.process_time()
    with pytest.raises(CostError) as caught:
        model.fit(rows)
    assert time.process_time() - start < QUICK
    assert_nothing_is_reserved(place)
    return str(caught.value)


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("n_clusters", [10**6, 10**9])
def test_too_many_clusters_to_compute_are_refused_before_the_charge(
    kind: Any, n_clusters: int, place: str
) -> None:
    message = assert_refused_at_once(kind(n_clusters, bounds=(-1, 1)), few_rows(20), place)
    assert "The limit is 10 minutes" in message
    assert f"{MINUTES_VARIABLE}=" in message
    assert "privclust.limits(minutes=" in message


@pytest.mark.attack
def test_hundred_thousand_clusters_of_ten_rows_are_refused(place: str) -> None:
    assert_refused_at_once(PrivateKMeans(10**5, bounds=(-1, 1)), few_rows(2), place)
    assert_refused_at_once(PrivateKMeans(2, max_clusters=10**7, radius=1.0), few_rows(2), place)


@pytest.mark.attack
def test_forty_thousand_clusters_are_refused_for_the_time_that_merging_takes(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise on all cells takes four minutes, k-means on them three hours."""
    monkeypatch.setattr(_fit, "recording", _stop)
    assert_refused_at_once(PrivateKMeans(40_000, bounds=(-1, 1)), few_rows(2), place)


def test_fifty_thousand_columns_are_forecast_before_the_charge(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise on four million numbers takes more than a minute, which a warning says first."""
    monkeypatch.setattr(_fit, "recording", _stop)
    with (
        pytest.warns(UserWarning, match=r"about \d\d seconds .* 2 GiB"),
        pytest.raises(ReachedLedgerError),
    ):
        PrivateKMeans(8, delta=DELTA, radius=1.0, ledger=place, dataset="table").fit(
            few_rows(50_000)
        )
    assert_nothing_is_reserved(place)
    message = assert_refused_at_once(FedDPKMeans(8, radius=1.0), few_rows(50_000), place)
    assert f"{MEMORY_VARIABLE}=" in message
    with limits(minutes=1):
        assert_refused_at_once(PrivateKMeans(8, radius=1.0), few_rows(50_000), place)


class ReachedLedgerError(Exception):
    """The fit went on to its ledger."""


def _stop(*given: object) -> None:
    raise ReachedLedgerError


@pytest.mark.attack
def test_wide_results_of_units_are_refused_before_the_charge(place: str) -> None:
    """The Curator refuses them one by one, when others have been paid for."""
    columns = {f"c{number}": few_rows(1)[:, 0] for number in range(1200)}
    table = pa.table({"who": [str(number) for number in range(10)], **columns})
    model = PrivateKMeans(300, bounds=dict.fromkeys(columns, (-1, 1)), unit="who")
    message = assert_refused_at_once(model, table, place)
    assert f"{COORDINATES_MAX:,}" in message


def test_too_few_rows_for_the_clusters_are_noticed_first() -> None:
    with pytest.raises(TooManyClustersError):
        PrivateKMeans(10**9, delta=DELTA, radius=1.0, n_rows=10).fit(few_rows(2))
    with pytest.raises(ParameterError, match=r"at most 2\^53, got a number of about 5,001 digits"):
        PrivateKMeans(10**5000, delta=DELTA, radius=1.0).fit(few_rows(2))


def test_start_that_takes_too_long_to_merge_is_refused(place: str) -> None:
    with limits(minutes=0.01):
        model = PrivateKMeans(100, radius=1.0, init=few_rows(2, 3000))
        message = assert_refused_at_once(model, few_rows(2), place)
    assert message.startswith("merging the points of init")
    assert start_cost(10**6, 10**5, 100).seconds > start_cost(10**5, 10**5, 100).seconds


def test_profile_beyond_the_limits_is_refused_before_the_charge(place: str) -> None:
    table = pa.table({"age": np.full(500, 40.0), "ward": ["A"] * 500})
    model = PrivateKMeans(2, delta=DELTA, bounds={"age": (0, 120)}).fit(table.select(["age"]))
    levels = {"ward": {"type": "category", "levels": [str(level) for level in range(1000)]}}
    with limits(memory="300 kB"), pytest.raises(CostError, match="this profile would take"):
        model.profile(table, ["ward"], bounds=levels, epsilon=1.0, ledger=place, dataset="table")
    assert_nothing_is_reserved(place)


# Limits ------------------------------------------------------------------------------------------


def test_raised_limit_is_what_the_message_says() -> None:
    cost = private_kmeans.plan(10**5, 2, BUDGET).cost()
    message = beyond_limits(cost)
    assert message is not None
    minutes = float(message.split("minutes=")[1].split(")")[0])
    with limits(minutes=minutes):
        assert beyond_limits(cost) is None
    with limits(minutes=0.8 * minutes):
        assert beyond_limits(cost) is not None


# What benchmarks fit ---------------------------------------------------------------------------

BENCHMARKS = [
    ("PrivateKMeans", 256, 1000, None),
    ("PrivateKMeans", 256, 384, 10**8),
    ("PrivateKMeans", 1000, 1000, None),
    ("PrivateKMeans", 100, 10_000, None),
    ("PrivateKMeans", 64, 784, None),
    ("PEMeans", 100, 3, 100_000),
    ("PEMeans", 64, 16, 20_000),
    ("HDPEMeans", 10, 784, 60_000),
    ("HDPEMeans", 64, 128, 20_000),
    ("LSHCoreset", 100, 784, 60_000),
    ("LSHCoreset", 64, 500, 50_000),
    ("BalcanKMeans", 64, 784, 50_000),
    ("DPLloyd", 64, 784, 60_000),
    ("FastLloyd", 100, 500, 50_000),
    ("FedDPKMeans", 10, 784, None),
    ("FedDPKMeans", 100, 100, None),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "k", "d", "n_rows"), BENCHMARKS)
def test_what_benchmarks_fit_is_within_the_limits(
    name: str, k: int, d: int, n_rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fit, "recording", _stop)
    model = getattr(privclust, name)(k, delta=DELTA, epsilon=4.0, bounds=(-1, 1), n_rows=n_rows)
    with pytest.raises(ReachedLedgerError):
        model.fit(few_rows(d))


def test_long_fit_is_announced_and_short_one_is_not(recwarn: pytest.WarningsRecorder) -> None:
    check_cost(Cost(30.0, 1e-6, 1e6, 1e3, 1e3))
    assert not recwarn
    with pytest.warns(UserWarning, match="this fit may take about 5 minutes of computing"):
        check_cost(Cost(300.0, 1e-6, 1e6, 1e3, 1e3))


@pytest.mark.parametrize("seconds", [99.6, 5976.0, 358_560.0, 8_640_000.0, 3.15e9])
def test_times_are_written_in_plain_numbers(seconds: float) -> None:
    assert "e+" not in spoken(seconds)


def test_hundred_minutes_are_hours() -> None:
    assert spoken(100 * 60) == "1.7 hours"


@pytest.mark.parametrize("size", [1.0, 1013.0 * 2**10, 99.6 * 2**20, 1023 * 2**20, 1e14])
def test_memory_is_written_in_plain_numbers(size: float) -> None:
    assert re.fullmatch(r"[\d,.]+ [KMG]iB", spoken_memory(size))


# What a model gives beside ----------------------------------------------------------------------


def test_derived_things_beyond_the_limits_are_refused() -> None:
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(4, delta=DELTA, radius=1.0, random_state=0).fit(few_rows(2, 2000))
    with pytest.raises(CostError, match=r"this sample would take about .* years of computing"):
        model.sample(10**15)
    with limits(minutes=1e-9):
        for derive in (model.k_path, model.hierarchy, model.mixture, lambda: model.refit(2)):
            with pytest.raises(CostError, match="The limit is 1e-09 minutes"):
                derive()
    assert len(model.sample(100)) == 100
    assert model.k_path().choices


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        (_derived_cost.refit_cost(100, 8, 4), _derived_cost.refit_cost(100, 16, 4)),
        (_derived_cost.k_path_cost(100, 8, 4), _derived_cost.k_path_cost(100, 16, 8)),
        (_derived_cost.hierarchy_cost(8, 4), _derived_cost.hierarchy_cost(16, 4)),
        (_derived_cost.mixture_cost(100, 8, 4), _derived_cost.mixture_cost(100, 8, 40)),
        (_derived_cost.sample_cost(100, 4), _derived_cost.sample_cost(1000, 4)),
    ],
)
def test_derived_costs_grow(smaller: Cost, larger: Cost) -> None:
    assert smaller.seconds < larger.seconds
    assert smaller.memory <= larger.memory
