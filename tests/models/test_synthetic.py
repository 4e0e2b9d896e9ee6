"""Synthetic rows: in the user's units and bounds, with the shape of the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from helpers.fitted_models import fit_of, four_clusters, mixed_model, table

from privclust import PrivateKMeans, load, save
from privclust.errors import ParameterError
from privclust.models import synthetic
from privclust.models._coreset_cells import Cells, cells_of


def test_rows_have_the_moments_of_the_table() -> None:
    drawn = four_clusters().sample(20_000, random_state=0)
    assert drawn.shape == (20_000, 2)
    np.testing.assert_allclose(drawn.mean(axis=0), table().mean(axis=0), atol=2.0)
    np.testing.assert_allclose(drawn.std(axis=0), table().std(axis=0), rtol=0.1)


def test_rows_lie_within_bounds() -> None:
    rows = np.random.default_rng(0).normal(99.5, 3.0, (4000, 2))
    drawn = fit_of(np.clip(rows, 0, 100), k=2).sample(5000, random_state=0)
    assert drawn.min() >= 0
    assert drawn.max() <= 100


def test_a_seed_repeats_and_none_does_not() -> None:
    model = four_clusters()
    np.testing.assert_array_equal(model.sample(9, random_state=3), model.sample(9, random_state=3))
    assert (model.sample(9) != model.sample(9)).any()
    with pytest.raises(ParameterError, match="n_rows must be an integer"):
        model.sample(0)
    with pytest.raises(ParameterError, match="random_state"):
        model.sample(5, random_state=-1)


def test_sampling_reads_and_charges_nothing(tmp_path: Path) -> None:
    model = four_clusters()
    before = model.privacy_statement_.to_json(), model.releases_
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    for some in (model, loaded):
        some.hierarchy(), some.mixture()
    np.testing.assert_array_equal(loaded.sample(50, 1), model.sample(50, 1))
    np.testing.assert_array_equal(loaded.mixture().means, model.mixture().means)
    assert (model.privacy_statement_.to_json(), model.releases_) == before


def test_declared_columns_come_back_as_they_were_declared(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Seeded noise and seeded draws. A share of A of .9 among the old, .2 among the young."""
    model = mixed_model(tmp_path_factory.mktemp("bounds"))
    drawn = model.sample(4000, random_state=0)
    assert drawn.schema == pa.schema(
        [
            ("age", pa.float64()),
            ("income", pa.float64()),
            ("ward", pa.string()),
            ("visit", pa.date32()),
        ]
    )
    frame = drawn.to_pandas()
    old = frame["age"] > 50
    assert abs((frame["ward"][old] == "A").mean() - 0.9) < 0.1
    assert abs((frame["ward"][~old] == "A").mean() - 0.2) < 0.1
    assert 9_000 < frame["income"][old].median() < 11_500
    assert 90_000 < frame["income"][~old].median() < 115_000
    assert frame["age"].nunique() > 3900
    assert frame["visit"].min().year == frame["visit"].max().year == 2024
    again = PrivateKMeans(2, delta=1e-6, bounds=model.bounds, random_state=0).fit(drawn)
    assert again.cluster_centers_.shape == model.cluster_centers_.shape


@pytest.mark.parametrize("is_measured", [False, True])
def test_a_cell_that_noise_put_far_out_is_not_drawn_from(
    is_measured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the fit measured that rows lie so far from their centre."""
    model = four_clusters().model_
    assert model.quality is not None
    share = 0.1 if is_measured else None
    quality = replace(model.quality, far_share=share, far_share_stderr=share)
    model, cells = replace(model, quality=quality), cells_of(model)
    far = Cells(
        np.vstack([cells.points, [[0.7, 0.7]]]),
        np.append(cells.weights, 0.02 * cells.weights.sum()),
        np.append(cells.variance, 0.01),
    )
    corner = model.domain.to_units(far.points[-1:])[0] - 10.0
    monkeypatch.setattr("privclust.models.synthetic.cells_of", lambda _: far)
    drawn = synthetic.sample(model, 5000, np.random.default_rng(0))
    assert (np.asarray(drawn) > corner).all(axis=1).any() == is_measured
