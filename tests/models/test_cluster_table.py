"""The table of centres that pages and pictures show, and how dark a picture draws each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from helpers.cluster_models import made_up_model

from privclust import PrivateKMeans
from privclust.kernels.grid import FloatArray
from privclust.models._cluster_table import ClusterTable
from privclust.testing import NoNoise, noise_from


def relative(centers: list[list[float]], **found: object) -> FloatArray:
    return ClusterTable.of(made_up_model(centers, **found), 12).relative


def test_centres_that_differ_by_noise_alone_are_of_one_colour() -> None:
    """Days within a standard error of each other were drawn from the lightest to the darkest."""
    centers = [[0.1, 0.20], [0.2, 0.22], [0.5, 0.21]]
    apart = (np.array(centers) - np.mean(centers, axis=0)) / (0.5 - 0.8 / 3)
    errors = np.full((3, 2), 0.01)
    np.testing.assert_allclose(relative(centers, center_stderr=errors), apart * [1.0, 0.0])
    for known in (errors / 10, errors * 0, None):
        np.testing.assert_allclose(relative(centers, center_stderr=known), apart)


def test_a_cluster_that_is_not_reported_has_no_colour_and_sets_none() -> None:
    centers, sizes = [[0.1, 0.20], [0.2, 0.21], [0.9, 0.9]], [1e6, 1e6, 0.0]
    errors = {"center_stderr": np.full((3, 2), 0.01), "size_stderr": np.full(3, 10.0)}
    expected = np.array([[-1.0, 0.0], [1.0, 0.0], [np.nan, np.nan]])
    np.testing.assert_allclose(relative(centers, sizes=sizes, **errors), expected)


def test_a_column_on_logarithms_is_drawn_on_them() -> None:
    """Centres at 100, 1,000 and 10,000 were drawn as 0, .09 and 1."""
    spent = np.repeat([100.0, 1_000.0, 10_000.0], 2_000)
    drawn = on_logarithms({"spent": spent}).relative
    np.testing.assert_allclose(np.sort(drawn[:, 0]), [-1.0, 0.0, 1.0], atol=0.01)


def test_columns_on_logarithms_are_called_means_of_logarithms() -> None:
    """Only a note elsewhere said that the centre of such a column is no mean."""
    table = on_logarithms({"ward": "A", "spent": [100.0, 900.0] * 3_000, "age": 40.0})
    assert table.names == ["ward=A", "ward=B", "spent", "age"]
    assert table.headers == table.names
    assert [one.mark for one in table.headers] == ["", "", "(mean of logarithms)", ""]


def on_logarithms(columns: dict[str, Any]) -> ClusterTable:
    """Return the table of a model in which spending counts by its logarithm."""
    declared: dict[str, Any] = {
        "ward": {"type": "category", "levels": ["A", "B"]},
        "spent": {"type": "number", "lower": 10, "upper": 1e5, "transform": "log"},
        "age": (0, 120),
    }
    bounds = {name: declared[name] for name in columns}
    model = PrivateKMeans(3, epsilon=8, delta=1e-6, bounds=bounds, random_state=0)
    with noise_from(NoNoise()):
        return ClusterTable.of(model.fit(pd.DataFrame(columns, range(6_000))).model_, 12)


def test_columns_share_one_scale_and_larger_clusters_count_more() -> None:
    """A column that hardly differed was drawn from the lightest to the darkest."""
    drawn = relative([[-0.2, 0.10], [0.8, 0.11]], sizes=[3e6, 1e6])
    np.testing.assert_allclose(drawn, [[-1 / 3, -1 / 300], [1.0, 0.01]], atol=1e-9)


def test_a_column_of_half_the_weight_is_half_as_dark() -> None:
    rows = pd.DataFrame({name: np.repeat([2.0, 8.0], 2_000) for name in ("x", "y")})
    bounds = {
        name: {"type": "number", "lower": 0, "upper": 10, "weight": weight}
        for name, weight in (("x", 1.0), ("y", 0.5))
    }
    model = PrivateKMeans(2, epsilon=8, delta=1e-6, bounds=bounds, random_state=0)
    with noise_from(NoNoise()):
        drawn = ClusterTable.of(model.fit(rows).model_, 12).relative
    np.testing.assert_allclose(np.abs(drawn), [[1.0, 0.5], [1.0, 0.5]], atol=0.01)
