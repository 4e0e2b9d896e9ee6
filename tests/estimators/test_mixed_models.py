"""Models of mixed tables: what they are called, kept as, and used for."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from helpers.kinds import EVERY_KIND
from helpers.mixed_rows import BOUNDS, FEATURES, mixed_model, mixed_rows
from sklearn.metrics import adjusted_rand_score

from privclust import FedDPKMeans, PrivateKMeans, load, save
from privclust.errors import ModelFileError
from privclust.models._fit_notes import columns_of
from privclust.models._model_differences import differences
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


FILLED: dict[str, Any] = {
    **tomllib.loads(BOUNDS)["columns"],
    "age": {"type": "number", "lower": 0, "upper": 120, "missing": 33},
    "visit": {
        "type": "date",
        "lower": "2020-01-01",
        "upper": "2025-12-31",
        "missing": "2021-03-04",
    },
}


def with_gaps(n_rows: int) -> Any:
    """Return the rows of a mixed table; every third lacks its age and every fifth its visit."""
    rows, place = mixed_rows(n_rows), np.arange(n_rows)
    gaps = {"age": place % 3 == 0, "visit": place % 5 == 0}
    for name, gap in gaps.items():
        column = rows.column_names.index(name)
        rows = rows.set_column(column, name, pc.if_else(pa.array(gap), None, rows[name]))
    return rows


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_estimator_counts_missing_cells_as_declared(kind: Any) -> None:
    rows = with_gaps(2000)
    typed = rows.set_column(0, "age", pc.fill_null(rows["age"], 33.0))
    typed = typed.set_column(3, "visit", pc.fill_null(rows["visit"], date(2021, 3, 4)))
    models = []
    for table in (rows, typed):
        with noise_from(SeededNoise(0)):
            models.append(kind(3, delta=1e-6, bounds=FILLED, random_state=0).fit(table))
    assert np.array_equal(models[0].cluster_centers_, models[1].cluster_centers_)
    assert np.array_equal(models[0].predict(rows), models[1].predict(typed))


@pytest.mark.parametrize("scale", [None, "none", "private"])
def test_centre_lies_where_missing_cells_are_declared_to_count(scale: str | None) -> None:
    """Half of the cells are gone; their middle, 36, would pull the mean of 24 up to 30."""
    rng = np.random.default_rng(0)
    bmi = np.where(rng.random(20_000) < 0.5, np.nan, rng.normal(24.0, 1.0, 20_000))
    rows = pa.table({"bmi": bmi, "age": rng.normal(np.repeat([30.0, 80.0], 10_000), 3.0)})
    bounds: dict[str, Any] = {
        "bmi": {"type": "number", "lower": 12, "upper": 60, "missing": 25},
        "age": (0, 120),
    }
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=bounds, scale=scale, random_state=0).fit(rows)
    assert model.cluster_centers_[:, 0] == pytest.approx([24.5, 24.5], abs=0.1)
    columns = columns_of(model.model_)
    assert [column.missing_text for column in columns] == ["25", None]
    unlike = PrivateKMeans(2, delta=1e-6, bounds={**bounds, "bmi": (12, 60)}, scale=scale)
    with noise_from(SeededNoise(0)):
        unlike.fit(rows)
    assert unlike.cluster_centers_[:, 0] == pytest.approx([30.0, 30.0], abs=0.1)
    found = differences(model.model_, unlike.model_)
    assert "missing of 'bmi' is 25.0 and not declared." in " ".join(found)


def test_table_without_names_cannot_declare_missing_cells() -> None:
    bmi = {"type": "number", "lower": 12, "upper": 60, "missing": 25}
    model = PrivateKMeans(2, delta=1e-6, bounds={"bmi": bmi})
    with pytest.raises(TypeError, match="a table with column names"):
        model.fit(np.zeros((100, 1)))


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
