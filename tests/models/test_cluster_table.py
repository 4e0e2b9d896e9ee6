"""The table of centres that pages and pictures show, and how dark a picture draws each."""

from __future__ import annotations

import numpy as np
from helpers.cluster_models import made_up_model

from privclust.kernels.grid import FloatArray
from privclust.models._cluster_table import ClusterTable


def relative(centers: list[list[float]], **found: object) -> FloatArray:
    return ClusterTable.of(made_up_model(centers, **found), 12).relative


def test_centres_that_differ_by_noise_alone_are_of_one_colour() -> None:
    """Days within a standard error of each other were drawn from the lightest to the darkest."""
    centers = [[0.1, 0.20], [0.2, 0.22], [0.5, 0.21]]
    apart = np.array([[0.0, 0.0], [0.25, 1.0], [1.0, 0.5]])
    errors = np.full((3, 2), 0.01)
    np.testing.assert_allclose(relative(centers, center_stderr=errors), apart * [1.0, 0.0])
    for known in (errors / 10, errors * 0, None):
        np.testing.assert_allclose(relative(centers, center_stderr=known), apart)


def test_a_cluster_that_is_not_reported_has_no_colour_and_sets_none() -> None:
    centers, sizes = [[0.1, 0.20], [0.2, 0.21], [0.9, 0.9]], [1e6, 1e6, 0.0]
    errors = {"center_stderr": np.full((3, 2), 0.01), "size_stderr": np.full(3, 10.0)}
    expected = np.array([[0.0, 0.0], [1.0, 0.0], [np.nan, np.nan]])
    np.testing.assert_allclose(relative(centers, sizes=sizes, **errors), expected)
