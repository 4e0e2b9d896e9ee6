"""One number of rows needed, in two forms of warning, for rows and for units of many rows."""

from __future__ import annotations

import math
import re
import warnings
from itertools import product
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from privclust import PrivateKMeans, forecast
from privclust.algorithms import private_kmeans
from privclust.algorithms._enough_rows import (
    DOUBT,
    HIDDEN,
    advice_on_sizes,
    rows_needed,
    total_rows_needed,
)
from privclust.algorithms._private_kmeans_plan import SIZE_SHARE, PrivateKMeansPlan
from privclust.algorithms.seeded_kmeans import SeededPlan
from privclust.domains.ball import Ball
from privclust.errors import FitWarning, Message
from privclust.estimators._fit_task import Task
from privclust.privacy.accounting import Budget
from privclust.queries.unit import ROW, Unit
from privclust.testing import SeededNoise, noise_from

BUDGET = Budget(1.0, 1e-6)
HARDLY = "can hardly be found"


def plan(k: int = 8, d: int = 4, budget: Budget = BUDGET, **given: int) -> PrivateKMeansPlan:
    return private_kmeans.plan(k, d, budget, **given)


def sigma_of(planned: PrivateKMeansPlan) -> float:
    """Return the standard error that a fit's sizes have."""
    return 1 / (planned.mu * math.sqrt(SIZE_SHARE))


def said_of(n_rows: float, planned: PrivateKMeansPlan) -> Message | None:
    """Return what is said of a fit whose noisy sizes are equal and add up to so many rows."""
    sizes = np.full(planned.n_clusters, n_rows / planned.n_clusters)
    return advice_on_sizes(sizes, sigma_of(planned), planned)


def fitted(X: Any, k: int = 8, seed: int = 0, **given: Any) -> tuple[PrivateKMeans, list[str]]:
    """Fit with seeded noise; return the model and its warnings."""
    model = PrivateKMeans(k, delta=1e-6, random_state=0, **given)
    with noise_from(SeededNoise(seed)), warnings.catch_warnings(record=True, action="always") as w:
        model.fit(X)
    return model, [str(one.message) for one in w]


# How many ----------------------------------------------------------------------------------------


def test_rows_needed_at_epsilon_one() -> None:
    mu = plan().spending.reserve.mu
    needed = [math.floor(rows_needed(d, mu)) for d in (2, 4, 16, 64, 128)]
    assert needed == [144, 168, 253, 422, 562]


@pytest.mark.parametrize("rows", [2, 50, 1024])
def test_units_of_many_rows_need_as_many_times_the_rows(rows: int) -> None:
    assert rows_needed(4, 0.25, rows) == rows * rows_needed(4, 0.25)
    assert plan(rows_per_unit=rows).mu == plan().mu / rows
    assert plan(rows_per_unit=rows).signal(rows * 700) == pytest.approx(plan().signal(700))


def test_forecast_and_warning_name_the_same_numbers() -> None:
    for d, k, epsilon, rows in product((1, 4, 128), (1, 8), (0.25, 1.0), (1, 50)):
        planned = plan(k, d, Budget(epsilon, 1e-6), rows_per_unit=rows)
        few = max(1, total_rows_needed(planned) // 3)
        expected = forecast(few, d, k, epsilon=epsilon, delta=1e-6, max_rows_per_unit=rows)
        assert expected.rows_needed == total_rows_needed(planned)
        assert expected.smallest == math.ceil(rows_needed(d, planned.spending.reserve.mu, rows))
        advice = said_of(few, planned)
        assert advice is not None
        assert f" {expected.rows_needed:,} rows or epsilon=" in advice
        in_words = re.search(r"or epsilon ([0-9.]+)", str(expected))
        assert in_words
        assert f" or epsilon={in_words[1]}" in advice


@pytest.mark.parametrize("rows", [1, 50])
def test_a_fit_warns_where_the_forecast_expects_no_clusters(rows: int) -> None:
    half = HIDDEN * total_rows_needed(plan(rows_per_unit=rows))
    for n_rows in (int(half) - 1, int(half) + 1):
        expected = forecast(n_rows, 4, 8, delta=1e-6, max_rows_per_unit=rows)
        with warnings.catch_warnings(record=True, action="always") as given:
            plan(n_rows=n_rows, rows_per_unit=rows)
        assert bool(given) is not expected.found
    assert forecast(int(half) + 1, 4, 8, delta=1e-6, max_rows_per_unit=rows).found


# Final sizes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 50])
def test_sizes_must_lie_two_standard_errors_above_what_noise_hides(rows: int) -> None:
    planned = plan(rows_per_unit=rows)
    stderr = sigma_of(planned) * math.sqrt(planned.n_clusters)
    enough = HIDDEN * total_rows_needed(planned) + DOUBT * stderr
    assert said_of(0.99 * enough, planned) is not None
    assert said_of(1.01 * enough, planned) is None


def test_tables_of_twenty_rows_are_never_taken_for_enough() -> None:
    """The chance that noise on the sizes silences the warning, for any table and one fit."""
    worst = 0.0
    for d, k, epsilon in product((1, 2, 4, 16, 128), (2, 3, 8, 64), (0.1, 0.25, 0.5, 1.0)):
        planned = plan(k, d, Budget(epsilon, 1e-6))
        stderr = sigma_of(planned) * math.sqrt(k)
        enough = HIDDEN * total_rows_needed(planned) + DOUBT * stderr
        worst = max(worst, NormalDist().cdf((20 - enough) / stderr))
    assert worst < 1e-5


@pytest.mark.parametrize("n_rows", [0, 1, 5, 20])
@pytest.mark.parametrize(("k", "d"), [(1, 2), (2, 2), (8, 4), (3, 40)])
def test_every_fit_of_twenty_rows_warns_once(n_rows: int, k: int, d: int) -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.2, (n_rows, d))
    for seed in range(3):
        _, given = fitted(rows, k, seed, radius=1.0)
        assert [HARDLY in text for text in given] == [True]


def test_twenty_thousand_rows_in_eight_clusters_are_enough() -> None:
    rows = make_blobs(20_000, 4, centers=8, random_state=2)[0]
    assert fitted(rows, bounds=(-15, 15))[1] == []


def test_a_typed_number_that_is_far_too_large_silences_nothing() -> None:
    rows = np.random.default_rng(0).normal(0.0, 0.2, (100, 4))
    (given,) = fitted(rows, radius=1.0, n_rows=10**6)[1]
    assert HARDLY in given


def test_without_noise_nothing_is_hidden() -> None:
    assert said_of(3.0, plan(budget=Budget(64.0, 1e-6))) is None


def test_what_was_paid_for_is_kept_if_warnings_are_errors() -> None:
    model = PrivateKMeans(8, delta=1e-6, radius=1.0)
    with warnings.catch_warnings(), noise_from(SeededNoise(0)):
        warnings.simplefilter("error")
        with pytest.raises(FitWarning, match=HARDLY):
            model.fit(np.zeros((5, 2)))
    assert model.cluster_centers_.shape == (8, 2)


# Units -------------------------------------------------------------------------------------------


def visits(n_users: int, each: int) -> pd.DataFrame:
    rows = make_blobs(n_users * each, 4, centers=8, center_box=(-10, 10), random_state=4)[0]
    return pd.DataFrame(rows, columns=list("abcd")).assign(who=np.arange(len(rows)) // each)


BOUNDS = dict.fromkeys("abcd", (-15, 15))


@pytest.mark.parametrize("n_rows", [None, 20_000])
def test_four_hundred_users_of_fifty_rows_are_too_few(n_rows: int | None) -> None:
    given: dict[str, Any] = {
        "unit": "who",
        "max_rows_per_unit": 50,
        "bounds": BOUNDS,
        "n_rows": n_rows,
    }
    for seed in range(3):
        (text,) = fitted(visits(400, 50), seed=seed, **given)[1]
        assert HARDLY in text
        assert "rows, up to 50 of one unit, at epsilon=1" in text
        assert "it takes about 68,000 rows or epsilon=" in text


def test_as_many_users_of_one_row_are_too_few_as_well() -> None:
    (text,) = fitted(visits(400, 50), unit="who", bounds=BOUNDS)[1]
    assert "it takes about 1,400 rows" in text


def test_enough_users_are_not_warned_of() -> None:
    table = visits(6_000, 3)
    assert fitted(table, unit="who", max_rows_per_unit=3, bounds=BOUNDS)[1] == []


@pytest.mark.parametrize(
    ("unit", "rows"),
    [
        (ROW, 1),
        (Unit("who", 7), 7),
        (Unit("patient", 3, clients=2), 6),
        (Unit("client", 20, clients=1, whole=True), 20),
    ],
)
@pytest.mark.parametrize(
    "given", [{}, {"scale": "private"}, {"init": np.zeros((8, 4))}], ids=["", "scale", "init"]
)
def test_every_plan_knows_the_unit(unit: Unit, rows: int, given: dict[str, Any]) -> None:
    task = Task(8, 4, BUDGET, None, Ball(np.zeros(4), 1.0), unit, None)
    planned = PrivateKMeans(8, delta=1e-6, radius=1.0, **given).plan(task)
    if isinstance(planned, SeededPlan):
        planned = planned.private_kmeans
    assert planned.rows_per_unit == rows


@pytest.mark.parametrize("rows", [1, 3, 20])
def test_standard_errors_grow_with_the_rows_of_a_unit(rows: int) -> None:
    """Sizes have a fixed share of the budget, so that the figure is certain."""
    model, _ = fitted(visits(2_000, 3), 2, unit="who", max_rows_per_unit=rows, bounds=BOUNDS)
    expected = forecast(6_000, 4, 2, delta=1e-6, max_rows_per_unit=rows)
    assert model.size_stderr_ == pytest.approx(expected.size_stderr, rel=1e-3)


# In words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d"), [(10, 4), (20, 4), (8, 40)])
def test_the_warning_names_rows_epsilon_and_clusters_that_would_do(k: int, d: int) -> None:
    n_rows = 500
    with pytest.warns(FitWarning, match=f"^{k} cluster.s. {HARDLY} among about 500 rows") as w:
        plan(k, d, n_rows=n_rows)
    pattern = r"about ([0-9,]+) rows or epsilon=([0-9.]+) or n_clusters=(\d+)\.$"
    advice = re.search(pattern, str(w[0].message))
    assert advice
    rows, epsilon, clusters = int(advice[1].replace(",", "")), float(advice[2]), int(advice[3])
    for better in (
        forecast(rows, d, k, delta=1e-6),
        forecast(n_rows, d, k, epsilon=epsilon, delta=1e-6),
        forecast(n_rows, d, clusters, delta=1e-6),
    ):
        assert better.found
        assert better.ratio < 1.1


@pytest.mark.parametrize("k", [1, 16])
def test_the_warning_gives_no_advice_that_cannot_be_followed(k: int) -> None:
    with pytest.warns(FitWarning, match=HARDLY) as caught:
        plan(k, n_rows=2)
    assert str(caught[0].message).endswith(" rows.")
    advice = advice_on_sizes(np.full(k, -30.0), 30.0, plan(k))
    assert advice is not None
    assert "among about 0 rows at epsilon=1" in advice
    assert advice.endswith(" rows.")
