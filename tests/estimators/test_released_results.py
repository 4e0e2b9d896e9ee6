"""Everything a fitted estimator holds is on a list, and no cell or exact count is in it."""

from __future__ import annotations

import dataclasses
import gc
import pickle
import struct
import weakref
from collections.abc import Iterator
from html import escape
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.kinds import EVERY_KIND
from helpers.samples import sample_beyond

from privclust import BalcanKMeans, FedDPKMeans, PrivateKMeans
from privclust.domains.box import Box
from privclust.engines.memory import NumpyEngine
from privclust.models._cluster_table import SHOWN_COLUMNS, ClusterTable
from privclust.models.cluster_model import ClusterModel, FittedClusters
from privclust.models.clustering import Coreset, Precision
from privclust.models.private_run import PrivateRun, Record
from privclust.models.quality import Quality
from privclust.models.statement import (
    Dependency,
    Participation,
    PublicPoints,
    ReleaseLine,
    Statement,
)
from privclust.privacy.accounting import Spend
from privclust.privacy.ledger.ledger import Ledger
from privclust.privacy.release import Release
from privclust.queries.unit import Unit
from privclust.testing import SeededNoise, noise_from

CANARY = 73.19283746501928
N_ROWS = 4219
PARAMETERS = {
    "n_clusters",
    "epsilon",
    "delta",
    "bounds",
    "radius",
    "scale",
    "n_rows",
    "unit",
    "max_rows_per_unit",
    "ledger",
    "dataset",
    "period",
    "random_state",
}
FITTED = {
    "estimator",
    "parameters",
    "domain",
    "n_features_in",
    "feature_names_in",
    "n_rows",
    "cluster_centers",
    "cluster_sizes",
    "releases",
    "privacy_statement",
    "center_stderr",
    "size_stderr",
    "cluster_radii",
    "coreset",
    "refit_from",
    "participation",
    "quality",
    "fit_warning",
    "decimal",
}
MORE = {
    PrivateKMeans: {"max_clusters", "metric", "init"},
    BalcanKMeans: {"constants"},
    FedDPKMeans: {"rounds", "server_data"},
}
PLAIN = (str, int, float, bool, type(None), np.floating, np.integer)
RECORDS = (
    *(Box, ClusterModel, Coreset, FittedClusters, Precision, Quality, Release, Spend, Unit),
    *(Dependency, Participation, PrivateRun, PublicPoints, Record, ReleaseLine, Statement),
)


@pytest.fixture(scope="module", params=EVERY_KIND)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    rows = np.full((N_ROWS, 2), CANARY)
    frame = pd.DataFrame(rows, columns=["age", "weight"])
    bounds = {"age": (0, 120), "weight": (0, 300)}
    ledger = str(tmp_path_factory.mktemp("ledger") / "uncommon.db")
    Ledger.create(ledger, "table", epsilon=1.0, delta=1e-6)
    kept = {"ledger": ledger, "dataset": "table", "random_state": 0}
    # Seeded, so that no noisy number equals the exact one by chance.
    with noise_from(SeededNoise(0)):
        return request.param(3, delta=1e-6, bounds=bounds, **kept).fit(frame)


def leaves(value: Any) -> Iterator[Any]:
    """Walk down to plain values and arrays; anything that is not on the list fails."""
    if isinstance(value, RECORDS):
        for field in dataclasses.fields(value):
            yield from leaves(getattr(value, field.name))
    elif isinstance(value, dict):
        yield from leaves((*value, *value.values()))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from leaves(item)
    else:
        assert isinstance(value, (*PLAIN, np.ndarray)), type(value)
        yield value


@pytest.mark.attack
def test_a_fitted_estimator_holds_the_list_and_nothing_else(model: Any) -> None:
    assert set(vars(model)) == PARAMETERS | {"model_"} | MORE.get(type(model), set())
    assert set(vars(model.model_)) == FITTED
    for leaf in leaves(vars(model)):
        numbers = np.atleast_1d(leaf).tolist() if not isinstance(leaf, str) else []
        assert CANARY not in numbers
        assert N_ROWS not in numbers
        assert N_ROWS * 2**26 not in numbers


@pytest.mark.attack
def test_no_cell_and_no_exact_count_is_pickled_or_shown(model: Any) -> None:
    pickled = pickle.dumps(model)
    assert struct.pack("<d", CANARY) not in pickled
    assert struct.pack(">d", CANARY) not in pickled
    shown = model._repr_html_() + repr(model)
    # Where all rows are alike, noisy centres are close to them; nothing else may be.
    for _, centers in ClusterTable.of(model.model_, SHOWN_COLUMNS).rows():
        for center in centers:
            shown = shown.replace(escape(center), "")
    words = str(model.privacy_statement_) + model.privacy_statement_.to_json()
    run = model.privacy_statement_.run
    for text in (shown, words):
        # Random names may hold any digits.
        for name in (run.name, run.record.head, model.ledger):
            text = text.replace(name, "")
        assert str(CANARY)[:8] not in text
        assert str(N_ROWS) not in text
    assert "uncommon" not in words
    assert "<style" in shown
    assert vars(pickle.loads(pickled)).keys() == vars(model).keys()


@pytest.mark.attack
def test_the_key_of_a_sample_ends_with_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real noise and a real key, of which nothing is kept, shown, pickled or left in an engine."""
    sample_beyond(monkeypatch, 500)
    keys: list[bytes] = []
    samples: list[weakref.ref[NumpyEngine]] = []
    sample = NumpyEngine.sample

    def overheard(engine: NumpyEngine, sampling_exponent: int, key: bytes) -> NumpyEngine:
        some = sample(engine, sampling_exponent, key)
        keys.append(key)
        samples.append(weakref.ref(some))
        return some

    monkeypatch.setattr(NumpyEngine, "sample", overheard)
    rows = np.random.default_rng(0).normal(0.0, 0.3, (2000, 2))
    bounds = ([-1.0, -1.0], [1.0, 1.0])
    model = PrivateKMeans(2, epsilon=4.0, delta=1e-6, bounds=bounds, n_rows=2000).fit(rows)
    (key,) = keys
    assert {release.sampling_exponent for release in model.releases_} == {0, 2}
    assert not any(isinstance(leaf, bytes) for leaf in leaves(vars(model)))
    assert key not in pickle.dumps(model)
    statement = model.privacy_statement_
    shown = repr(model) + model._repr_html_() + repr(vars(model)) + statement.to_json()
    for form in (repr(key)[2:-1], key.hex(), str(list(key)), str(int.from_bytes(key, "little"))):
        assert form not in shown + str(statement)
    gc.collect()
    assert [reference() for reference in samples] == [None]
    holders = [holder for holder in gc.get_referrers(key) if not isinstance(holder, FrameType)]
    assert holders == [keys]
