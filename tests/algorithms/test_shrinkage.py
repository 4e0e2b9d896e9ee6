"""How far a noisy mean is followed: never past it, and less the noisier it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privclust.algorithms._shrinkage import sampling_variance, weigh
from privclust.kernels.grid import FloatArray

sizes = st.floats(0.0, 1e6).map(lambda value: value if value > 1e-6 else 0.0)
offsets_of_four = arrays(np.float64, (3, 4), elements=st.floats(-1e3, 1e3))
noises = arrays(np.float64, 3, elements=sizes)


@settings(deadline=None, derandomize=True, database=None)
@given(offsets_of_four, noises, noises)
def test_a_centre_moves_along_its_offset_and_never_past_it(
    offsets: FloatArray, noise: FloatArray, variance: FloatArray
) -> None:
    step = weigh(offsets, noise, variance)
    assert (np.abs(step.moves) <= np.abs(offsets)).all()
    assert (step.moves * offsets >= 0).all()
    assert (step.variance >= 0).all()
    assert (step.variance <= noise).all()


def test_without_noise_a_mean_is_followed_all_the_way() -> None:
    offsets = np.array([[3.0, -4.0], [1e-9, 0.0]])
    step = weigh(offsets, np.zeros(2))
    np.testing.assert_allclose(step.moves, offsets)
    assert step.variance.tolist() == [0.0, 0.0]


def test_nothing_known_and_nothing_measured_is_no_move() -> None:
    step = weigh(np.zeros((1, 2)), np.zeros(1))
    assert (step.moves.tolist(), step.variance.tolist()) == ([[0.0, 0.0]], [0.0])


def test_two_measurements_of_equal_noise_have_half_the_variance_and_meet_halfway() -> None:
    step = weigh(np.array([[0.5, -0.5, 0.0, 0.1]]), np.array([2.0]), np.array([2.0]))
    assert step.variance == pytest.approx([1.0])
    assert step.moves == pytest.approx(np.array([[0.25, -0.25, 0.0, 0.05]]))


@pytest.mark.parametrize("known", [0.01, 1.0, 100.0])
def test_the_variance_left_is_that_of_an_inverse_variance_mean(known: float) -> None:
    step = weigh(np.zeros((1, 8)), np.array([3.0]), np.array([known]))
    assert step.variance == pytest.approx([1 / (1 / 3.0 + 1 / known)])


def test_an_offset_longer_than_both_explain_is_followed_further() -> None:
    far = np.full((1, 16), 10.0)
    step = weigh(far, np.array([1.0]), np.array([1.0]))
    assert step.moves == pytest.approx(far * 0.99)


@pytest.mark.parametrize("sampling_exponent", [1, 3])
def test_means_of_samples_vary_about_that_of_all_rows_as_computed(sampling_exponent: int) -> None:
    """Seeded: 2000 samples of 1000 rows have a variance known to 3 percent."""
    rng = np.random.default_rng(0)
    rows = rng.normal(0.0, [1.0, 2.0, 3.0], (1000, 3)) + 5.0
    offsets = rows - rows.mean(axis=0)
    drawn = rng.random((2000, 1000)) < 0.5**sampling_exponent
    means = (drawn @ offsets) / drawn.sum(axis=1, keepdims=True)
    radius = np.sqrt((offsets**2).sum(axis=1).mean(keepdims=True))
    expected = sampling_variance(radius, np.array([1000.0]), 3, sampling_exponent)
    assert (means**2).mean() == pytest.approx(expected[0], rel=0.1)


def test_all_rows_have_no_variance_of_sampling_and_few_rows_a_finite_one() -> None:
    radii, counts = np.ones(3), np.array([100.0, 0.0, -7.0])
    assert sampling_variance(radii, counts, 4, 0).tolist() == [0.0, 0.0, 0.0]
    assert sampling_variance(radii, counts, 4, 2).tolist() == [0.0075, 0.75, 0.75]
