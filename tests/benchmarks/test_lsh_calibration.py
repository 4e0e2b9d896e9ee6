"""The published calibration gives the published noise, and the Gaussian form a little less."""

from __future__ import annotations

import math

import pytest

from benchmarks.lsh_calibration import (
    COUNT_MULTIPLIER,
    gaussian_alpha,
    our_alpha,
    published_alpha,
)
from privclust.algorithms.lsh_coreset import DEPTH, LEVEL_NOISE, WEIGHT

VECTORS = {
    (20_000, 0.25): (13.0559, 0.003830),
    (20_000, 0.5): (6.9267, 0.007218),
    (20_000, 1.0): (3.6855, 0.013567),
    (20_000, 2.0): (1.9770, 0.025291),
    (20_000, 4.0): (1.0766, 0.046442),
    (150, 0.25): (6.6089, 0.007566),
    (150, 0.5): (3.8481, 0.012993),
    (150, 1.0): (2.2217, 0.022505),
    (150, 2.0): (1.2843, 0.038932),
    (150, 4.0): (0.7514, 0.066539),
}
"""Rows and epsilon, at delta = rows^-1.1: noise on sums, and the parameter of that on counts."""


@pytest.mark.long
@pytest.mark.parametrize(("n_rows", "epsilon"), VECTORS)
def test_the_published_noise(n_rows: int, epsilon: float) -> None:
    alpha, parameter = VECTORS[n_rows, epsilon]
    found = published_alpha(epsilon, n_rows**-1.1)
    assert found == pytest.approx(alpha, rel=1e-3)
    assert 1 / (COUNT_MULTIPLIER * found) == pytest.approx(parameter, rel=1e-3)
    assert 0.97 < gaussian_alpha(epsilon, n_rows**-1.1) / found < 1


def test_our_noise_on_sums_pays_for_better_counts() -> None:
    delta = 20_000**-1.1
    dearer = (1 + WEIGHT**2 + DEPTH / LEVEL_NOISE**2) / (1 + 21 / (2 * COUNT_MULTIPLIER**2))
    ratio = our_alpha(1.0, delta) / gaussian_alpha(1.0, delta)
    assert ratio == pytest.approx(math.sqrt(dearer), rel=1e-6)
