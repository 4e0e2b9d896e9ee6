"""Refining: what it says of how wide clusters are."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.algorithms import private_kmeans
from privclust.algorithms._refine import _widths
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.testing import SeededNoise, noise_from


def equal_and_wide() -> FloatArray:
    """Return 19,000 equal rows, and seven blobs of 400 whose width is .05."""
    rng = np.random.default_rng(0)
    angles = 2 * np.pi * np.repeat(np.arange(7), 400) / 7
    blobs = 0.6 * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([np.zeros((19_000, 2)), blobs + rng.normal(0.0, 0.05 / 2**0.5, (2800, 2))])


@pytest.mark.parametrize("seed", range(3))
def test_widths_are_those_of_the_rows_where_most_rows_are_equal(seed: int) -> None:
    """Seeded. In 0.1.0 clips that narrow from step to step made them a tenth of that."""
    plan = private_kmeans.plan(8, 2, Budget(2.0, 1e-6))
    with noise_from(SeededNoise(seed)):
        engine = NumpyEngine(equal_and_wide(), Ball(np.zeros(2), 1.0))
        curator = Curator.open(engine, plan.spending)
        found = private_kmeans.run(curator, plan, np.random.default_rng(seed))
    assert found.precision is not None
    wide = found.precision.radii[found.sizes < 10_000]
    assert len(wide) == 7
    assert 0.03 < np.median(wide) < 0.08


@pytest.mark.parametrize("d", [1, 2, 16])
@pytest.mark.parametrize("factor", [0.7, 1.0, 2.0])
def test_widths_follow_the_rows_as_far_as_clips_tell(d: int, factor: float) -> None:
    """What a cluster of a hundred thousand rows shows, without noise to speak of."""
    rng = np.random.default_rng(0)
    width = 0.1
    rows = rng.normal(0.0, width / d**0.5, (100_000, d))
    clips = np.array([factor * width])
    squares = np.minimum((rows**2).sum(axis=1), clips**2).sum(keepdims=True) / clips**2
    found = _widths(np.array([0.13]), squares, np.array([1e5]), 1.0, clips, d)
    seen = squares[0] / 1e5 < 0.9
    assert found[0] == pytest.approx(width if seen else 0.13, rel=0.02)


def test_widths_stay_where_noise_may_explain_what_was_measured() -> None:
    known, clips, counts = np.array([0.1]), np.array([0.1]), np.array([50.0])
    expected = 50.0 * 0.63  # of a Gaussian cluster in two columns, clipped at its width
    for off in (-90.0, 0.0, 90.0):
        assert _widths(known, np.array([expected + off]), counts, 100.0, clips, 2) == known
