"""``init=``: a public start, at no charge and with no other query than those planned."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.fitted_models import MIDDLES, fit_of, table
from sklearn.base import clone
from sklearn.cluster import KMeans

from privclust import Ledger, PrivateKMeans, load, save
from privclust.algorithms.seeded_kmeans import _directions_of, start_from
from privclust.errors import ParameterError
from privclust.kernels.grid import FloatArray
from privclust.testing import SeededNoise, noise_from

APART = MIDDLES[1:]


def nearest_gaps(model: Any, middles: FloatArray) -> FloatArray:
    squares = ((model.cluster_centers_[:, None] - middles) ** 2).sum(axis=2)
    return np.asarray(np.sqrt(squares.min(axis=0)))


@pytest.fixture(scope="module")
def last() -> Any:
    return fit_of(table(APART), 3)


@pytest.mark.parametrize("form", ["model", "loaded", "centres"])
def test_all_forms_of_a_start_are_taken(form: str, last: Any, tmp_path: Path) -> None:
    save(last, tmp_path / "last.json")
    forms = {
        "model": last,
        "loaded": load(tmp_path / "last.json"),
        "centres": last.cluster_centers_,
    }
    model = fit_of(table(APART + 1, seed=1), 3, seed=1, init=forms[form], epsilon=0.5)
    assert (nearest_gaps(model, APART + 1) < 0.5).all()
    assert {"start", "split", "sizes"} <= {release.slot for release in model.releases_}
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").init is None


def test_guarantee_is_that_of_a_fit_without_a_start(last: Any) -> None:
    statement = fit_of(table(APART), 3, init=last).privacy_statement_
    assert (statement.run.epsilon, statement.run.delta) == (1.0, 1e-6)
    assert abs(sum(line.share for line in statement.releases) - 1) < 1e-9


@pytest.mark.attack
@pytest.mark.real_noise
def test_no_guarantee_is_built_on_a_model_without_noise(last: Any) -> None:
    """Its exact centres would come back with a statement that says private."""
    given: dict[str, Any] = {"delta": 1e-6, "bounds": ([0, 0], [100, 100])}
    exact = PrivateKMeans(3, epsilon=math.inf, **given).fit(table(APART, rows=20))
    for model in (exact, last):
        with pytest.raises(ParameterError, match="init is NOT PRIVATE"):
            PrivateKMeans(3, epsilon=0.01, init=model, **given).fit(table(APART, rows=20))
    PrivateKMeans(3, epsilon=math.inf, init=exact, **given).fit(table(APART, rows=20))
    frame = pd.DataFrame(table(APART, rows=20), columns=["x", "y"])
    seeded = fit_of(frame, 3)
    with pytest.raises(ParameterError, match="to profile is NOT PRIVATE"):
        seeded.profile(frame, ["x"], bounds={"x": (0, 100)}, epsilon=1)


def test_the_statement_names_the_start(last: Any) -> None:
    statement = fit_of(table(APART), 3, init=last).privacy_statement_
    assert [(one.role, one.run) for one in statement.dependencies] == [
        ("start", last.privacy_statement_.run)
    ]
    assert "all else follows from these and the other runs" in str(statement)
    statement = (model := fit_of(table(APART), 3, init=APART)).privacy_statement_
    assert "Public by the user's word: 3 points (init)." in str(statement)
    assert "whether the points that the user calls public are public" in statement.not_covered
    assert model.refit(2).privacy_statement_.public_points == statement.public_points
    assert fit_of(table(APART), 3).privacy_statement_.public_points == ()


def test_a_cluster_that_came_since_is_found(last: Any) -> None:
    later = np.vstack([APART[:2], [[10.0, 90.0]]])
    model = fit_of(table(later, seed=1), 3, seed=1, init=last)
    assert (nearest_gaps(model, later) < 0.5).all()


def test_same_seed_gives_other_directions_from_another_start() -> None:
    """A cluster that one week's directions hide is not hidden for good."""
    draws = [
        _directions_of(start_from(points, 3, np.random.default_rng(0)), np.random.default_rng(0))
        for points in (APART, APART, APART + 1)
    ]
    first, again, other = (rng.random() for rng in draws)
    assert first == again != other


@pytest.mark.parametrize("k", [2, 5])
def test_another_number_of_clusters_may_start_there_too(k: int, last: Any) -> None:
    assert fit_of(table(APART), k, init=last).cluster_centers_.shape == (k, 2)


def test_many_public_points_are_a_start(last: Any) -> None:
    public = np.random.default_rng(0).uniform(0, 100, (500, 2))
    model = fit_of(table(APART), 3, init=public)
    assert (nearest_gaps(model, APART) < 0.5).all()


def test_large_tables_and_many_columns_start_so_too() -> None:
    rng = np.random.default_rng(0)
    middles = rng.uniform(-0.5, 0.5, (3, 40))
    rows = middles[rng.integers(0, 3, 9000)] + rng.normal(0, 0.05, (9000, 40))
    given: dict[str, Any] = {"bounds": (np.full(40, -1.0), np.full(40, 1.0))}
    model = fit_of(rows, 3, init=middles + 0.02, **given)
    assert (nearest_gaps(model, middles) < 0.1).all()


@pytest.mark.parametrize(
    ("init", "cause"),
    [
        ("last.json", "a fitted model of privclust or an array"),
        (PrivateKMeans(), "a fitted model of privclust or an array"),
        (KMeans(2, n_init=1).fit(APART), "which made no guarantee"),
        (np.zeros((2, 3)), "init must have 2 columns"),
        (np.full((2, 2), np.nan), "init has missing or infinite numbers; give finite ones"),
        (np.zeros(2), "init must have 2 columns"),
    ],
)
def test_what_is_no_start_is_refused(init: Any, cause: str) -> None:
    with pytest.raises(ParameterError, match=cause):
        fit_of(table(APART), 3, init=init)


def test_a_model_of_other_names_is_refused() -> None:
    bounds = {"age": (0, 100), "weight": (0, 100)}
    frame = pd.DataFrame(table(APART), columns=["age", "weight"])
    model = fit_of(frame, 3, bounds=bounds)
    other = frame.rename(columns={"age": "height"})
    with pytest.raises(ParameterError, match="other names"):
        fit_of(other, 3, bounds={"height": (0, 100), "weight": (0, 100)}, init=model)


@pytest.mark.attack
def test_a_resumed_fit_must_start_where_it_started(last: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    given: dict[str, Any] = {"ledger": place, "dataset": "table"}
    model = fit_of(table(APART), 3, init=last, **given)
    run = model.privacy_statement_.run.name
    with noise_from(SeededNoise(0)):
        again = clone(model).set_params(init=last).fit(table(APART), resume=run)
    np.testing.assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    with pytest.raises(Exception, match="init was"):
        clone(model).set_params(init=last.cluster_centers_ + 1).fit(table(APART), resume=run)
