"""Noisy histograms of distances: whatever noise does, radii stay finite, positive and in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privclust.algorithms._distances import EDGES, Distances
from privclust.kernels.grid import FloatArray

BINS = len(EDGES) + 1
any_votes = arrays(np.float64, BINS, elements=st.floats(-1e6, 1e6))
any_noise = st.floats(0.0, 1e6)
repeatable = settings(deadline=None, derandomize=True, database=None)


def histogram(votes: dict[int, float], sigma: float = 10.0) -> Distances:
    table = np.zeros(BINS)
    table[list(votes)] = list(votes.values())
    return Distances(table, sigma)


def test_edges_are_octaves_around_the_radius() -> None:
    assert EDGES[0] == 0.5
    assert EDGES[-1] == 128
    np.testing.assert_allclose(EDGES[1:] / EDGES[:-1], 2)


@repeatable
@given(any_votes, any_noise, any_noise)
def test_more_noise_never_asks_for_a_larger_clip(
    votes: FloatArray, one: float, other: float
) -> None:
    found = Distances(votes, 10.0)
    less, more = sorted([one, other])
    assert found.best_clip(more) <= found.best_clip(less)


@repeatable
@given(any_votes, st.floats(0.0, 1e3), st.floats(0.0, 1.0), st.floats(0.0, 1.0), any_noise)
def test_quantiles_rise_with_their_level_and_clips_lie_between_the_edges(
    votes: FloatArray, sigma: float, one: float, other: float, noise: float
) -> None:
    found = Distances(votes, sigma)
    low, high = sorted([one, other])
    assert 0 < found.quantile(low) <= found.quantile(high) * (1 + 1e-12)
    assert found.quantile(high) <= EDGES[-1]
    assert EDGES[0] / 2 <= found.best_clip(noise) <= EDGES[-1]


@pytest.mark.parametrize("votes", [np.zeros(BINS), np.full(BINS, -5.0), np.full(BINS, -1e300)])
def test_without_a_vote_radii_are_finite_and_positive(votes: FloatArray) -> None:
    found = Distances(votes, 1.0)
    for radius in (found.quantile(0.5), found.best_clip(0.0), found.best_clip(1e9)):
        assert np.isfinite(radius)
        assert radius > 0
    assert np.isfinite(found.root_mean_square)


def test_bins_that_noise_may_have_filled_are_ignored() -> None:
    clean, noisy = histogram({4: 900.0}), histogram({4: 900.0, 8: 29.0, 1: -40.0})
    assert noisy.parts.tolist() == clean.parts.tolist()
    for level in (0.1, 0.5, 0.999):
        assert noisy.quantile(level) == clean.quantile(level)
    assert noisy.best_clip(0.001) == clean.best_clip(0.001)


def test_where_noise_may_have_filled_all_bins_the_votes_above_zero_count() -> None:
    assert histogram({4: 15.0, 5: 5.0, 6: -9.0}).parts[[4, 5, 6]].tolist() == [0.75, 0.25, 0.0]


@pytest.mark.parametrize("bin_", [0, 1, 5, BINS - 2])
def test_a_quantile_lies_in_the_bin_that_holds_it(bin_: int) -> None:
    found = histogram({bin_: 100.0})
    assert found.quantile(1e-9) == pytest.approx(EDGES[bin_] / 2)
    assert found.quantile(0.5) == pytest.approx(EDGES[bin_] / np.sqrt(2))
    assert found.quantile(1.0) == pytest.approx(EDGES[bin_])


def test_rows_beyond_the_last_edge_count_as_on_it() -> None:
    assert histogram({BINS - 1: 100.0}).quantile(0.5) == EDGES[-1]


def test_root_mean_square_is_that_of_the_bins() -> None:
    middles = EDGES[[2, 6]] / np.sqrt(2)
    found = histogram({2: 9000.0, 6: 1000.0}).root_mean_square
    assert found == pytest.approx(np.sqrt([0.9, 0.1] @ middles**2))


def test_the_clip_cuts_few_far_rows_off_when_noise_is_large() -> None:
    found = histogram({2: 9000.0, 6: 1000.0})
    assert found.best_clip(0.0) >= EDGES[6]
    assert found.best_clip(10.0) <= EDGES[2]
