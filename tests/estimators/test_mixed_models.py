"""Models of mixed tables: what they are called, kept as, and used for."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.kinds import EVERY_KIND
from helpers.mixed_rows import BOUNDS, FEATURES, mixed_model, mixed_rows
from sklearn.metrics import adjusted_rand_score

from privclust import FedDPKMeans, PrivateKMeans, load, save
from privclust.errors import ModelFileError
from privclust.models.model_file import to_json
from privclust.testing import SeededNoise, noise_from

KINDS = [kind for kind in EVERY_KIND if kind is not FedDPKMeans]
"""All that fit one table."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_names_what_its_centres_have(kind: Any, tmp_path: Path) -> None:
    model = mixed_model(kind)
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == ["age", "income", "ward", "visit"]
    assert model.center_names_.tolist() == FEATURES
    assert model.cluster_centers_.shape == (3, len(FEATURES))
    shares = model.cluster_centers_[:, 2:5]
    assert shares.sum(axis=1) == pytest.approx(1.0)
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.center_names_.tolist() == FEATURES
    rows = mixed_rows(300, seed=1)
    assert np.array_equal(loaded.predict(rows), model.predict(rows))


def test_a_file_whose_columns_are_not_those_it_declares_is_refused(tmp_path: Path) -> None:
    content = json.loads(to_json(mixed_model()))
    content["columns"][0] = "height"
    (tmp_path / "model.json").write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match="not those it declares"):
        load(tmp_path / "model.json")


def test_another_number_of_clusters_keeps_the_names() -> None:
    assert mixed_model().refit(2).center_names_.tolist() == FEATURES


def test_columns_without_names_cannot_be_told_apart() -> None:
    with pytest.raises(TypeError, match="found by their names"):
        mixed_model().predict(np.zeros((5, 4)))


@pytest.mark.parametrize("in_memory", [True, False])
def test_mapping_declares_columns_as_a_bounds_file_does(in_memory: bool, tmp_path: Path) -> None:
    (tmp_path / "bounds.toml").write_text(BOUNDS)
    table = mixed_rows(3000)
    if not in_memory:
        pq.write_table(table, tmp_path / "rows.parquet")
        table = str(tmp_path / "rows.parquet")
    centers = []
    for bounds in (str(tmp_path / "bounds.toml"), tomllib.loads(BOUNDS)["columns"]):
        with noise_from(SeededNoise(0)):
            model = PrivateKMeans(3, delta=1e-6, bounds=bounds, random_state=0).fit(table)
        centers.append(model.cluster_centers_)
    assert np.array_equal(centers[0], centers[1])


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_estimator_takes_what_python_types(kind: Any, tmp_path: Path) -> None:
    typed = {
        "age": (0, 120),
        "ward": {"type": "category", "levels": ("A & <B>", "it's", "other")},
        "visit": {"type": "date", "lower": "2020-01-01", "upper": "2025-12-31"},
    }
    named = {name: one for name, one in tomllib.loads(BOUNDS)["columns"].items() if name in typed}
    centers = []
    for bounds in (typed, named):
        with noise_from(SeededNoise(0)):
            model = kind(3, delta=1e-6, bounds=bounds, random_state=0).fit(mixed_rows(2000))
        centers.append(model.cluster_centers_)
    assert np.array_equal(centers[0], centers[1])


def test_logarithms_of_long_tails_find_groups_that_raw_columns_mix() -> None:
    """The raw fit mostly gives no warning, and others find most of it again: docs/bounds.md."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 6000)
    paid = 10 ** rng.normal(np.array([1.0, 2.5, 4.0])[kind], 0.25)
    visits = 10 ** rng.normal(np.array([2.0, 0.7, 1.4])[kind], 0.2)
    table = pa.table({"paid": paid, "visits": visits})
    together = {}
    for transform in ("none", "log1p"):
        number = {"type": "number", "lower": 0, "transform": transform}
        bounds = {"paid": {**number, "upper": 10**7}, "visits": {**number, "upper": 10**5}}
        with noise_from(SeededNoise(0)):
            model = PrivateKMeans(3, delta=1e-6, bounds=bounds, random_state=0).fit(table)
        together[transform] = adjusted_rand_score(kind, model.predict(table))
        assert transform == "none" or model.fit_warning_ is None
        assert model.k_path().choices[2].stability > 0.7
    assert together["none"] < 0.6
    assert together["log1p"] > 0.99
