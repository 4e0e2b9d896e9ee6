"""Model files become the estimators that made them, also those of users."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans

from privclust import DPLloyd, PrivateKMeans, load, save
from privclust.errors import ModelFileError, ParameterError
from privclust.estimators import _load
from privclust.models.model_file import read_model
from privclust.models.report import to_html
from privclust.testing import SeededNoise, noise_from


class MyKMeans(DPLloyd):
    """An estimator of a user's own, with a parameter of its own."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Any = None,
        radius: float | None = None,
        scale: str | None = None,
        n_rows: int | None = None,
        unit: str | None = None,
        max_rows_per_unit: int = 1,
        ledger: str | None = None,
        dataset: str | None = None,
        random_state: int | None = None,
        warmth: float = 0.5,
    ) -> None:
        super().__init__(
            n_clusters,
            epsilon=epsilon,
            delta=delta,
            bounds=bounds,
            radius=radius,
            scale=scale,
            n_rows=n_rows,
            unit=unit,
            max_rows_per_unit=max_rows_per_unit,
            ledger=ledger,
            dataset=dataset,
            random_state=random_state,
        )
        self.warmth = warmth


@pytest.fixture
def file(tmp_path: Path) -> Path:
    with noise_from(SeededNoise(0)):
        model = MyKMeans(2, delta=1e-6, radius=1.0, warmth=0.75).fit(np.zeros((500, 2)))
    save(model, tmp_path / "mine.json")
    return tmp_path / "mine.json"


def test_estimator_of_a_user_is_loaded_as_its_own_class(file: Path, tmp_path: Path) -> None:
    loaded = load(file, estimators=[MyKMeans])
    assert type(loaded) is MyKMeans
    assert loaded.warmth == 0.75
    assert loaded.predict(np.zeros((3, 2))).shape == (3,)
    save(loaded, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == file.read_bytes()


def test_unknown_estimator_is_refused_with_what_to_do(file: Path) -> None:
    with pytest.raises(ModelFileError, match=r"'MyKMeans'.*load\(path, estimators=\[MyKMeans\]\)"):
        load(file)


def test_registered_estimator_is_known_without_being_given(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = EntryPoint("MyKMeans", "somewhere:MyKMeans", "privclust.estimators")
    monkeypatch.setattr(EntryPoint, "load", lambda self: MyKMeans)
    searched = []

    def entry_points(**given: str) -> list[EntryPoint]:
        searched.append(given)
        return [registered]

    monkeypatch.setattr(_load, "entry_points", entry_points)
    assert type(load(file)) is MyKMeans
    assert searched == [{"group": "privclust.estimators", "name": "MyKMeans"}]


def test_estimators_that_a_file_makes_up_are_refused(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    for name in ("load", "__all__", "annotations", "os"):
        content["estimator"] = name
        content["statement"]["estimator"] = content["statement"]["run"]["estimator"] = name
        file.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(ModelFileError, match="which is not one of privclust"):
            load(file, estimators=[MyKMeans])


def test_parameter_that_the_estimator_does_not_take_is_refused(file: Path) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    content["parameters"]["self"] = 1
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ModelFileError, match="'self', which MyKMeans does not take"):
        load(file, estimators=[MyKMeans])


@pytest.mark.parametrize("given", [["MyKMeans"], [MyKMeans()]])
def test_estimators_are_given_as_classes(given: list[Any], file: Path) -> None:
    with pytest.raises(ParameterError, match="estimators must be classes"):
        load(file, estimators=given)


def test_report_needs_no_class(file: Path) -> None:
    assert "MyKMeans" in to_html(read_model(file))


@pytest.mark.parametrize("given", [dict, type("MyKMeans", (), {}), KMeans])
def test_classes_that_are_no_estimators_of_privclust_are_refused(given: Any, file: Path) -> None:
    with pytest.raises(ParameterError, match="subclasses of PrivateClusterer"):
        load(file, estimators=[given])


def test_registered_class_that_is_no_estimator_is_refused(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered = EntryPoint("MyKMeans", "somewhere:MyKMeans", "privclust.estimators")
    monkeypatch.setattr(_load, "entry_points", lambda **given: [registered])
    for found in (dict, "MyKMeans"):
        monkeypatch.setattr(EntryPoint, "load", lambda self, found=found: found)
        with pytest.raises(ModelFileError, match=r"'somewhere:MyKMeans'.*PrivateClusterer"):
            load(file)


@pytest.mark.parametrize(
    ("bounds", "scale"),
    [
        ({"age": (0, 120), "visits": (0, 9)}, None),
        ({"age": (0, 120), "visits": (0, 9)}, "none"),
        (
            {"age": (0, 120), "visits": {"type": "number", "lower": 0, "upper": 9, "weight": 2}},
            None,
        ),
        (
            {
                "age": (0, 120),
                "ward": {"type": "category", "levels": ["A", "B"], "weight": 0.5},
                "day": {"type": "date", "lower": "2025-01-01", "upper": "2025-12-31"},
            },
            None,
        ),
    ],
)
def test_loaded_estimator_is_fitted_to_the_same_table_again(
    bounds: Any, scale: str | None, tmp_path: Path
) -> None:
    columns = {"visits": [1.0, 7.0], "day": ["2025-03-01", "2025-08-01"], "ward": ["A", "B"]}
    table = pd.DataFrame({**columns, "age": [30.0, 70.0]} | {"note": ["x", "y"]})
    table = pd.concat([table] * 1000, ignore_index=True)
    file = tmp_path / "model.json"
    model = PrivateKMeans(2, delta=1e-6, bounds=bounds, scale=scale, random_state=0)
    with noise_from(SeededNoise(0)):
        model.fit(table)
    save(model, file)
    loaded = load(file)
    with noise_from(SeededNoise(0)):
        again = clone(loaded).fit(table)
    assert again.domain_.to_dict() == model.domain_.to_dict()
    assert (again.cluster_centers_ == model.cluster_centers_).all()


def test_origin_of_bounds_is_loaded_with_them(tmp_path: Path) -> None:
    declared = 'bounds_origin = "public data"\n[columns.age]\ntype = "number"\nlower = 0\nupper = 9'
    (tmp_path / "bounds.toml").write_text(declared, encoding="utf-8")
    table = pd.DataFrame({"age": np.arange(1000) % 9.0})
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=str(tmp_path / "bounds.toml")).fit(table)
        save(model, tmp_path / "model.json")
        again = clone(load(tmp_path / "model.json")).fit(table)
    assert again.privacy_statement_.bounds_origin == "public data"


def test_weights_that_a_fit_measured_are_not_loaded_as_bounds(tmp_path: Path) -> None:
    table = pd.DataFrame({"age": np.arange(1000) % 9.0, "visits": np.arange(1000) % 2.0})
    bounds = {"age": (0, 9), "visits": (0, 9)}
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=bounds, scale="private").fit(table)
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").bounds is None
