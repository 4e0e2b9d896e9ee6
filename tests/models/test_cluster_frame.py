"""Clusters as a DataFrame."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.cluster_models import made_up_model

from privclust import PrivateKMeans
from privclust.testing import SeededNoise, noise_from


def test_frame_has_sizes_centres_and_errors_in_the_users_units() -> None:
    table = pd.DataFrame(
        {
            "age": np.repeat([30.0, 70.0], [3000, 5000]),
            "ward": np.repeat(["A", "B"], [3000, 5000]),
            "day": np.repeat(["2025-03-01", "2025-09-01"], [3000, 5000]),
        }
    )
    bounds: dict[str, Any] = {
        "age": (0, 120),
        "ward": {"type": "category", "levels": ["A", "B"]},
        "day": {"type": "date", "lower": "2025-01-01", "upper": "2025-12-31"},
    }
    model = PrivateKMeans(2, delta=1e-6, epsilon=8.0, bounds=bounds, random_state=0)
    with noise_from(SeededNoise(0)):
        frame = model.fit(table).to_frame()
    names = ["cluster_size", "age", "ward=A", "ward=B", "day"]
    assert list(frame) == [part for name in names for part in (name, f"{name}_stderr")]
    assert frame.index.name == "cluster"
    assert (frame["cluster_size"] == model.cluster_sizes_).all()
    assert (frame["age_stderr"] == model.center_stderr_[:, 0]).all()
    assert frame["ward=B"].round(1).tolist() == [1.0, 0.0]
    assert abs(frame["day"] - pd.to_datetime(["2025-09-01", "2025-03-01"])).max().days <= 3


def test_errors_that_a_model_does_not_know_are_left_out() -> None:
    frame = made_up_model([[0.1, 0.2], [0.3, 0.4]]).to_frame()
    assert list(frame) == ["cluster_size", "column 0", "column 1"]
    assert frame["column 1"].tolist() == [0.2, 0.4]


def test_columns_called_like_an_error_are_kept_apart() -> None:
    model = replace(
        made_up_model([[0.1, 0.2]], center_stderr=np.array([[0.01, 0.02]])),
        feature_names_in=("age", "age_stderr"),
    )
    assert model.to_frame().iloc[0, 1:].tolist() == [0.1, 0.01, 0.2, 0.02]


def test_without_pandas_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        made_up_model([[0.1]]).to_frame()
