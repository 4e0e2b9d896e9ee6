"""A start is kept but for centres that serve better elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privclust.algorithms._swap import swapped
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Coreset, Precision

MIDDLES = np.array([[-0.5, 0.0], [0.0, 0.5], [0.5, 0.0], [0.0, -0.5]])


ASIDE = np.array([[0.0, 0.0], [-0.03, 0.0], [0.03, 0.0]])


def coreset_of(middles: FloatArray) -> Coreset:
    points = (middles[:, None] + ASIDE).reshape(-1, 2)
    same = np.ones(len(points))
    return Coreset(points, 100 * same, Precision(0 * same, same, 0.05 * same))


def test_a_start_that_serves_is_kept_as_it_is() -> None:
    start = MIDDLES + 0.005
    np.testing.assert_array_equal(swapped(coreset_of(MIDDLES), start), start)


def test_a_centre_that_is_not_needed_goes_where_one_is() -> None:
    start = np.vstack([MIDDLES[:3], MIDDLES[:1] + 0.02])
    found = swapped(coreset_of(MIDDLES), start)
    changed = (found != start).any(axis=1)
    assert changed.tolist() in ([True, False, False, False], [False, False, False, True])
    np.testing.assert_allclose(found[changed], MIDDLES[3:], atol=0.05)


def test_cells_without_rows_attract_nothing() -> None:
    coreset = coreset_of(MIDDLES)
    coreset.weights[-3:] = -5.0
    start = np.vstack([MIDDLES[:3], MIDDLES[:1] + 0.02])
    np.testing.assert_array_equal(swapped(coreset, start), start)


def test_one_centre_stays_in_the_middle_of_its_cells() -> None:
    np.testing.assert_array_equal(swapped(coreset_of(MIDDLES[:1]), MIDDLES[:1]), MIDDLES[:1])


def test_what_noise_may_explain_moves_no_centre() -> None:
    coreset = coreset_of(MIDDLES)
    start = np.vstack([MIDDLES[:3], MIDDLES[:1] + 0.02])
    for stderr, stays in ((1.0, False), (100.0, True)):
        precision = replace(coreset.precision, size_stderr=np.full(12, stderr))
        found = swapped(replace(coreset, precision=precision), start)
        assert np.array_equal(found, start) == stays
