"""What refits follow from: cells around released centres, and centres that have no cell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.cluster_models import made_up_model

from privclust.kernels.grid import FloatArray
from privclust.models._refit_points import (
    around_centers,
    inherited_stderr,
    refit_cells,
    refit_centers,
)
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Coreset, Precision
from privclust.models.quality import Quality

CELLS = [[-0.52, 0.0], [-0.48, 0.1], [0.4, 0.0], [0.5, 0.0]]
WEIGHTS = [100.0, 300.0, 200.0, 200.0]
CENTERS, SIZES = [[-0.5, 0.0], [0.5, 0.0], [0.0, 0.9]], [390.0, 410.0, 6.0]


def coreset(points: Any = CELLS, weights: Any = WEIGHTS, radius: float = 0.02) -> Coreset:
    count = len(points)
    errors = Precision(np.full(count, 0.001), np.full(count, 5.0), np.full(count, radius))
    return Coreset(np.array(points), np.array(weights), errors)


def model(**changed: Any) -> ClusterModel:
    known = {
        "coreset": coreset(),
        "center_stderr": np.full((3, 2), 0.003),
        "size_stderr": np.full(3, 9.0),
        "cluster_radii": np.full(3, 0.1),
    }
    return made_up_model(CENTERS, SIZES, **{**known, **changed})


def centers_for(given: ClusterModel, k: int) -> FloatArray:
    points = around_centers(given, refit_cells(given))
    return refit_centers(given, points, k, np.random.default_rng(0))


def test_a_centre_that_no_cell_is_near_is_a_point_of_its_own() -> None:
    cells = refit_cells(model())
    assert cells.points.tolist() == [*CELLS, CENTERS[2]]
    assert cells.weights.tolist() == [*WEIGHTS, SIZES[2]]
    last = [part[-1] for part in vars(cells.precision).values()]
    assert last == pytest.approx([0.003, 9.0, 0.1])


def test_cells_without_weight_are_near_to_no_centre() -> None:
    given = model(coreset=coreset([*CELLS, [0.0, 0.8]], [*WEIGHTS, -3.0]))
    cells = refit_cells(given)
    assert cells.weights.tolist() == [*WEIGHTS, 0.0, SIZES[2]]


def test_cells_have_as_many_rows_as_the_released_clusters() -> None:
    twice = refit_cells(model(coreset=coreset(weights=[2 * weight for weight in WEIGHTS])))
    assert twice.weights.tolist() == [*WEIGHTS, SIZES[2]]
    assert twice.precision.size_stderr.tolist() == [2.5] * 4 + [9.0]
    none = refit_cells(model(coreset=coreset(weights=[-1.0] * 4)))
    assert none.weights.tolist() == [0.0] * 4 + SIZES
    hidden = replace(model(), cluster_sizes=np.array([-3.0, 0.0, 6.0]))
    assert refit_cells(hidden).weights.tolist() == [*WEIGHTS, 6.0]


def test_cells_have_the_released_centres_as_their_means() -> None:
    points = around_centers(model(), refit_cells(model()))
    first = np.average(points.points[:2], axis=0, weights=WEIGHTS[:2])
    second = np.average(points.points[2:4], axis=0, weights=WEIGHTS[2:])
    assert np.array([first, second, points.points[4]]) == pytest.approx(np.array(CENTERS))
    assert points.weights.tolist() == [*WEIGHTS, SIZES[2]]


QUALITY = Quality(0.5, 0.02, 0.001, 0.03, 0.001)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, 0.1**2),
        ({"quality": QUALITY}, QUALITY.loss),
        ({"quality": replace(QUALITY, loss_stderr=0.02)}, QUALITY.capped_loss),
        ({"quality": QUALITY, "coreset": coreset(radius=0.4)}, QUALITY.loss),
    ],
    ids=["radii", "loss", "loss that noise blurs", "cells too wide"],
)
def test_cells_have_the_loss_of_the_fit(changed: dict[str, Any], expected: float) -> None:
    given = model(**changed)
    points = around_centers(given, refit_cells(given))
    apart = ((points.points - np.array(CENTERS)[[0, 0, 1, 1, 2]]) ** 2).sum(axis=1)
    mean_square = np.average(apart + points.precision.radii**2, weights=points.weights)
    assert mean_square == pytest.approx(expected)


def test_cells_that_lie_too_far_apart_become_points() -> None:
    given = model(quality=Quality(0.5, 1e-9, 1e-12, 1e-9, 1e-12))
    assert not around_centers(given, refit_cells(given)).precision.radii.any()


def test_the_number_of_the_fit_gives_the_released_centres() -> None:
    assert centers_for(model(), 3).tolist() == CENTERS


def test_more_clusters_keep_centres_that_have_no_cell() -> None:
    """k-means on the cells alone would spend no centre there."""
    found = centers_for(replace(model(), cluster_sizes=np.array([390.0, 410.0, 0.0])), 4)
    assert np.linalg.norm(found - CENTERS[2], axis=1).min() < 1e-9


def test_fewer_clusters_merge_the_nearest() -> None:
    found = centers_for(model(cluster_radii=None), 2)
    assert np.sort(found[:, 0]).round(1).tolist() == [-0.5, 0.5]


def test_a_refit_has_the_points_of_its_fit() -> None:
    fit = model()
    other = replace(
        fit, cluster_centers=np.zeros((1, 2)), cluster_sizes=np.ones(1), refit_from=fit.fitted
    )
    assert refit_cells(other).points.tolist() == refit_cells(fit).points.tolist()


def test_centres_inherit_errors_by_their_shares() -> None:
    points = around_centers(model(), refit_cells(model()))
    whole = inherited_stderr(model(), points, np.array([[0.0, 0.0]]))
    shares = np.array([400.0, 400.0, 6.0]) / 806
    assert whole == pytest.approx(0.003 * np.sqrt((shares**2).sum()))


def test_models_that_say_nothing_of_errors_have_points_too() -> None:
    bare = model(center_stderr=None, size_stderr=None, cluster_radii=None)
    cells = refit_cells(bare)
    assert [part[-1] for part in vars(cells.precision).values()] == [0.0, 0.0, 0.0]
    assert np.isfinite(centers_for(bare, 2)).all()
