"""Lifting: where centres found in a projection are lifted from."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.algorithms._lift import ProjectedCenters
from privclust.kernels.grid import GRID, to_grid
from privclust.kernels.projection import gaussian_projection

AROUND = np.full(40, 0.02)


def projected(variance: float) -> ProjectedCenters:
    rng = np.random.default_rng(0)
    projection = gaussian_projection(40, 8, rng)
    return ProjectedCenters(rng.normal(0.0, 0.05, (5, 8)), np.full(5, variance), projection)


def test_preimages_are_projected_to_the_centres() -> None:
    known = projected(0.0)
    found = known.preimages(AROUND)
    back = known.projection(to_grid(found)) / GRID
    np.testing.assert_allclose(back, known.centers, atol=1e-6)


def test_no_other_points_that_are_projected_there_are_nearer() -> None:
    known = projected(0.0)
    moves = known.preimages(AROUND) - AROUND
    hidden = np.linalg.svd(known.projection.directions)[2][8:]
    np.testing.assert_allclose(moves @ hidden.T, 0.0, atol=1e-6)


def test_the_noisier_centres_are_the_nearer_their_preimages_stay() -> None:
    lengths = [
        np.linalg.norm(projected(variance).preimages(AROUND) - AROUND, axis=1)
        for variance in (0.0, 0.001, 1.0)
    ]
    assert (lengths[1] < lengths[0]).all()
    assert lengths[2] == pytest.approx(np.zeros(5))
