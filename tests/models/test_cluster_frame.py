"""Clusters as a DataFrame."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.cluster_models import made_up_model

from privclust import PrivateKMeans, compare
from privclust.models._cluster_frame import comparison_frame
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


def profiled(**columns: Any) -> Any:
    """Profile columns of two clusters of 3000 and 5000 rows, each given as cells and bounds."""
    ages = np.repeat([30.0, 70.0], [3000, 5000])
    table = pd.DataFrame({"age": ages} | {name: cells for name, (cells, _) in columns.items()})
    bounds = {name: given for name, (_, given) in columns.items()}
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds={"age": (0, 120)}, random_state=0).fit(table)
        return model.profile(table, list(bounds), bounds=bounds, epsilon=8.0)


def test_frame_of_a_profile_has_means_and_shares_with_their_intervals() -> None:
    profile = profiled(
        cost=(np.repeat([10.0, 90.0], [3000, 5000]), (0, 100)),
        ward=(np.repeat(["A", "B"], [3000, 5000]), {"type": "category", "levels": ["A", "B"]}),
        day=(
            np.repeat(["2025-03-01", "2025-09-01"], [3000, 5000]),
            {"type": "date", "lower": "2025-01-01", "upper": "2025-12-31"},
        ),
    )
    frame = profile.to_frame()
    assert frame.index.name == "cluster"
    assert list(frame)[:6] == [
        *("cluster_size", "cluster_size_lower", "cluster_size_upper"),
        *("cost", "cost_lower", "cost_upper"),
    ]
    assert (frame["cost_upper"] == profile["cost"].means.upper).all()
    assert (frame["ward=A"] == profile["ward"].shares.values[:, 0]).all()
    assert frame["ward=B_lower"].round(1).tolist() == [1.0, 0.0]
    assert abs(frame["day"] - pd.to_datetime(["2025-09-01", "2025-03-01"])).max().days <= 3
    labels = [label for one in profile.columns for label in one.labels]
    assert frame.shape == (2, 3 * (1 + 2 + len(labels)))


def test_frame_of_a_comparison_has_shifts_with_their_errors() -> None:
    known: dict[str, Any] = {"center_stderr": np.full((2, 2), 0.01), "size_stderr": np.ones(2)}
    before = made_up_model([[0.1, 0.2], [0.5, 0.6]], [900, 800], **known)
    after = made_up_model([[0.5, 0.6], [0.1, 0.3]], [700, 950], **known)
    found = compare(before, after)
    frame = comparison_frame(found)
    assert frame.index.name == "pair"
    assert list(frame)[:4] == ["before", "after", "moved", "distance"]
    assert frame[["before", "after"]].to_numpy().tolist() == found.pairs.tolist()
    assert frame["column 1_shift"].round(9).tolist() == [0.1, 0.0]
    assert (frame["column 1_shift_stderr"] == found.errors[:, 1]).all()
    assert frame["size_shift"].tolist() == [50.0, -100.0]


def test_without_pandas_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        made_up_model([[0.1]]).to_frame()
