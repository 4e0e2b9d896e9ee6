"""Merges of released clusters: SciPy reads them, and they are Ward's."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.cluster_models import made_up_model
from helpers.fitted_models import four_clusters
from scipy.cluster.hierarchy import is_monotonic, is_valid_linkage, ward

from privclust.errors import ParameterError
from privclust.models._canvas import new_axes
from privclust.models.hierarchy import hierarchy


def test_of_equal_sizes_merges_are_those_of_scipy() -> None:
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (12, 3))
    tree, expected = hierarchy(made_up_model(points, np.full(12, 50.0))), ward(points)
    np.testing.assert_array_equal(np.sort(tree.linkage[:, :2]), np.sort(expected[:, :2]))
    np.testing.assert_allclose(tree.linkage[:, 2], expected[:, 2] / np.sqrt(2 * 12))
    np.testing.assert_array_equal(tree.linkage[:, 3], expected[:, 3])


def test_small_clusters_merge_before_large_ones_that_are_nearer() -> None:
    points = [[0.0], [0.1], [0.5], [0.62]]
    assert hierarchy(made_up_model(points, [900, 900, 5, 5])).linkage[0, :2].tolist() == [2, 3]
    assert hierarchy(made_up_model(points, [9, 9, 9, 9])).linkage[0, :2].tolist() == [0, 1]


def test_a_cluster_without_rows_goes_to_the_nearest() -> None:
    tree = hierarchy(made_up_model([[0.0], [0.3], [0.31]], [100, 100, 0]))
    assert tree.linkage[0, :2].tolist() == [1, 2]


def test_merges_keep_rows_and_means() -> None:
    tree = hierarchy(made_up_model([[0.0, 0.2], [0.4, 0.0], [-0.2, 0.1]], [100, 200, 300]))
    assert tree.sizes[-1] == 600
    np.testing.assert_allclose(tree.centers[-1], [(80 - 60) / 600, (20 + 30) / 600])


def test_a_fitted_model_has_a_tree_that_scipy_accepts() -> None:
    tree = four_clusters().hierarchy()
    assert is_valid_linkage(tree.linkage)
    assert is_monotonic(tree.linkage)
    assert len(str(tree).splitlines()) == 4


def test_cut_numbers_groups_by_their_rows() -> None:
    tree = hierarchy(made_up_model([[0.0], [0.5], [0.52], [-0.6]], [10, 30, 30, 20]))
    assert tree.cut(4).tolist() == [3, 0, 1, 2]
    assert tree.cut(3).tolist() == [2, 0, 0, 1]
    assert tree.cut(1).tolist() == [0, 0, 0, 0]
    with pytest.raises(ParameterError, match="between 1 and 4"):
        tree.cut(5)


def test_one_cluster_merges_with_nothing() -> None:
    tree = hierarchy(made_up_model([[0.2]], [10]))
    assert tree.linkage.shape == (0, 4)
    assert tree.cut(1).tolist() == [0]
    assert tree.plot().get_xlabel() == "cluster, and its noisy size"


@pytest.mark.parametrize("k", [2, 100])
def test_trees_are_drawn(k: int) -> None:
    rng = np.random.default_rng(0)
    model = made_up_model(rng.uniform(-0.5, 0.5, (k, 2)), rng.uniform(10, 1000, k))
    tree = hierarchy(model)
    axes = new_axes(5, 4)[1]
    assert tree.plot(axes) is axes
    tops = sorted(float(np.max(line.get_ydata())) for line in axes.lines)
    assert tops == pytest.approx(sorted(tree.linkage[:, 2])), "one bracket a merge, at its height"
    assert len(axes.get_xticks()) == (k if k <= 64 else 0)


def test_trees_and_coresets_are_shown_in_a_line() -> None:
    model = four_clusters()
    assert repr(model.hierarchy()).startswith("Hierarchy of 4 clusters: 3 merges")
    shown = repr(model.coreset_)
    assert shown.startswith(f"Coreset of {len(model.coreset_.points)} points in 2 columns, for ab")
    assert "array" not in shown
    assert re.search(r"about 1[12],\d{3} rows$", shown)
