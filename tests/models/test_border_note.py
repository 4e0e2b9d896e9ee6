"""What is said of borders that another fit may draw: nothing where clusters lie apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from helpers.fitted_models import fit_of, four_clusters

from privclust import PrivateKMeans
from privclust.models._border_note import border_note
from privclust.models._soft_borders import soft_borders
from privclust.testing import SeededNoise, noise_from


def test_nothing_is_said_where_fits_agree_and_where_a_fit_warned() -> None:
    assert border_note(four_clusters().model_) is None
    rows = np.random.default_rng(0).normal(50, 12, (20_000, 2))
    model = fit_of(rows, 5, bounds=(0, 100)).model_
    assert border_note(model) is not None
    assert border_note(replace(model, fit_warning="few rows")) is None
    assert border_note(replace(model, coreset=None)) is None


def test_amounts_are_in_the_units_of_their_columns() -> None:
    rng = np.random.default_rng(0)
    bounds: dict[str, Any] = {
        "age": (0, 100),
        "seen": {"type": "date", "lower": "2024-01-01", "upper": "2024-12-31"},
        "ward": {"type": "category", "levels": ["A", "B"], "weight": 0.3},
    }
    days = np.datetime64("2024-01-01") + rng.integers(0, 366, 9000)
    cells = {"age": rng.uniform(0, 100, 9000), "seen": days, "ward": rng.choice(["A", "B"], 9000)}
    with noise_from(SeededNoise(0)):
        estimator = PrivateKMeans(5, delta=1e-6, bounds=bounds, random_state=0)
        model = estimator.fit(pa.table(cells)).model_
    borders, said = soft_borders(model), str(border_note(model))
    assert borders is not None
    assert f"(stability {int(100 * borders.stability) / 100:.2f})" in said
    assert " days in 'seen'" in said
    assert " % in 'ward=" in said
    assert said.endswith("± leaves that out.")
