"""What fits give on made-up and on public rows is measured as it was forecast."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privclust import forecast, simulate
from privclust.errors import CostError, ParameterError, TooManyClustersError
from privclust.testing import SeededNoise, noise_from


def test_what_is_measured_is_what_was_forecast() -> None:
    measured = simulate(3000, 2, 3, epsilon=2.0, delta=1e-6, repeats=2)
    assert forecast(3000, 2, 3, epsilon=2.0, delta=1e-6).ratio < 1.1
    assert len(measured.ratios) == 2
    assert measured.seconds > 0
    # Made-up clusters may touch; noise of this size moves the loss by less than a percent.
    assert 0.95 < measured.ratio < 1.5


def test_units_of_many_rows_have_the_noise_of_as_many() -> None:
    """Eight clusters of 100 units of ten rows each, and of 1000 rows: seeded, no false alarm."""
    with noise_from(SeededNoise(0)), pytest.warns(UserWarning, match="up to 10 of one unit"):
        by_unit = simulate(8000, 4, 8, max_rows_per_unit=10, epsilon=0.5, delta=1e-6, repeats=2)
    with noise_from(SeededNoise(0)):
        by_row = simulate(8000, 4, 8, epsilon=0.5, delta=1e-6, repeats=2)
    assert by_unit.ratio > 1.2 > by_row.ratio


def test_public_rows_are_measured_within_their_own_bounds(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ages = np.concatenate([rng.normal(middle, 1.0, 1000) for middle in (20.0, 60.0)])
    pq.write_table(pa.table({"age": ages}), tmp_path / "public.parquet")
    public = str(tmp_path / "public.parquet")
    measured = simulate(1, 1, 2, delta=1e-6, repeats=1, public=public)
    assert 0.95 < measured.ratio < 1.2


def test_a_simulation_of_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="repeats"):
        simulate(1000, 2, 2, delta=1e-6, repeats=0)
    with pytest.raises(ParameterError, match="rows"):
        simulate(0, 2, 2, delta=1e-6, repeats=1)
    with pytest.raises(TooManyClustersError):
        simulate(3, 2, 5, delta=1e-6, repeats=1)


def test_simulation_of_too_many_rows_is_refused() -> None:
    with pytest.raises(CostError, match="making up so many rows"):
        simulate(10**10, 100, delta=1e-6)
