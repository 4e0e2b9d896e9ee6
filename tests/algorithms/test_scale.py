"""A scale that is measured: what it finds, that it is paid for, and that replay finds no leak."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.mixed_rows import mixed_model

from privclust import Federation, Ledger, PEMeans, PrivateKMeans, load, save
from privclust.algorithms import _scale, private_kmeans
from privclust.audit.replay import Transcript, replay_on_neighbour
from privclust.domains.box import Box
from privclust.domains.mixed import Mixed
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.errors import BoundsError, FitWarning, ParameterError
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.queries.base import Query
from privclust.testing import SeededNoise, noise_from

BOX = Box([0.0, 0.0], [100.0, 100.0])


def two_groups(n_rows: int) -> FloatArray:
    """Return rows that differ in a narrow column, beside a wide one that says nothing."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, n_rows)
    return np.column_stack(
        [40 + 4 * group + rng.normal(0, 0.5, n_rows), rng.uniform(0, 100, n_rows)]
    )


def fitted(rows: Any, **given: Any) -> Any:
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(2, delta=1e-6, bounds=(0, 100), random_state=0, **given)
        return model.fit(rows)


def test_narrow_columns_count_as_much_as_wide_ones() -> None:
    rows = two_groups(20_000)
    by_bounds, measured = (
        fitted(rows, scale=scale).cluster_centers_ for scale in ("bounds", "private")
    )
    assert np.ptp(by_bounds[:, 0]) < 1
    assert np.ptp(measured[:, 0]) == pytest.approx(4, abs=0.3)


def test_weights_are_one_over_the_standard_deviation() -> None:
    model = fitted(two_groups(20_000), scale="private")
    deviations = two_groups(20_000).std(axis=0)
    assert model.domain_.weights[0] / model.domain_.weights[1] == pytest.approx(
        deviations[1] / deviations[0], rel=0.15
    )


def test_no_start_lies_on_a_scale_that_is_not_known_yet() -> None:
    with pytest.raises(ParameterError, match="without init"):
        fitted(two_groups(50), scale="private", init=np.array([[40.0, 50.0], [44.0, 50.0]]))


def test_where_noise_hides_all_rows_columns_count_by_their_bounds() -> None:
    with pytest.warns(FitWarning, match="hardly be found"):
        model = fitted(two_groups(50), scale="private", max_clusters=2)
    assert model.domain_.weights.tolist() == [1.0, 1.0]


def test_a_column_that_looks_like_a_point_counts_by_what_noise_may_hide() -> None:
    """Most bills are nothing; the few that are not lie wide apart and fill no bin clearly."""
    rng = np.random.default_rng(0)
    bills = np.where(rng.random(4000) < 0.9, 0.0, rng.uniform(0, 100, 4000))
    model = fitted(np.column_stack([bills, rng.uniform(0, 100, 4000)]), scale="private")
    assert model.domain_.weights[0] / model.domain_.weights[1] == pytest.approx(1, abs=0.5)


@pytest.mark.parametrize("n_rows", [1000, 2000, 4000, 8000])
def test_rows_that_fill_few_bins_clearly_do_not_make_a_column_narrow(n_rows: int) -> None:
    """Ages of four groups and a uniform column: noise hides most bins of either."""
    rng = np.random.default_rng(0)
    ages = rng.choice([21.0, 33.0, 50.0, 63.0], n_rows) + rng.normal(0, 3, n_rows)
    rows = np.column_stack([ages, rng.uniform(0, 100, n_rows)])
    for seed in range(20):
        with noise_from(SeededNoise(seed)):
            plan = _scale.plan(4, 2, Budget(0.5, 1e-6))
            curator = Curator.open(NumpyEngine(rows, BOX), plan.spending)
            found = _scale.variances(curator, BOX.half_widths / BOX.scales)
        deviations = np.sqrt(found) * BOX.scales
        by_bounds = 100 / np.sqrt(12)
        for deviation, true in zip(deviations, rows.std(axis=0), strict=True):
            assert true / 1.5 < deviation < 1.3 * by_bounds


def test_the_levels_of_a_category_keep_one_weight() -> None:
    domain = mixed_model(scale="private").domain_
    assert isinstance(domain, Mixed)
    rest = domain.rescaled(np.full(domain.center.size, 0.01))
    assert len(rest.center) == len(domain.center)


def test_scale_is_the_first_result_paid_for_and_kept(tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger.db")
    Ledger.create(ledger, "rows", epsilon=1.0, delta=1e-6)
    model = fitted(two_groups(3000), scale="private", ledger=ledger, dataset="rows")
    first = model.privacy_statement_.releases[0]
    assert (first.slot, first.query) == ("scale", "ColumnHistograms")
    assert first.share == pytest.approx(_scale.SHARE, rel=0.01)
    (run,) = Ledger.open(ledger).runs("rows")
    assert "scale" in run.charges
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert np.array_equal(loaded.domain_.weights, model.domain_.weights)
    rows = two_groups(100)
    assert np.array_equal(loaded.predict(rows), model.predict(rows))


class Rescaled:
    """Rows on another scale, listened to by the same transcript."""

    def __init__(self, transcript: Transcript, engine: NumpyEngine) -> None:
        self.n_columns, self.unit = engine.n_columns, engine.unit
        self._transcript, self._engine = transcript, engine

    def aggregate(self, query: Query) -> list[int]:
        return list(self._transcript.record(self._engine, query))

    def expect_sample(self, key: bytes) -> None:
        self._engine.expect_sample(key)

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        return self._engine.sample(sampling_exponent, key)


@pytest.mark.attack
def test_replay_on_a_neighbour_asks_the_same() -> None:
    rows = two_groups(2000)
    tables = [rows, np.vstack([rows, [[99.0, 1.0]]])]
    waiting = list(tables)

    def algorithm(engine: Engine) -> None:
        assert isinstance(engine, Transcript)
        table = waiting.pop(0)
        plan = _scale.plan(2, 2, Budget(1.0, 1e-6))
        curator = Curator.open(engine, plan.spending)
        found = _scale.variances(curator, BOX.half_widths / BOX.scales)
        domain = BOX.rescaled(found)
        over = curator.over(Rescaled(engine, NumpyEngine(table, domain)))
        private_kmeans.run(over, plan, np.random.default_rng(0))

    first, second = (NumpyEngine(table, BOX) for table in tables)
    assert replay_on_neighbour(algorithm, first, second, SeededNoise(0)) == []


def test_it_is_refused_where_it_cannot_be() -> None:
    rows = two_groups(100)
    with pytest.raises(ParameterError, match="for PrivateKMeans on one table"):
        PEMeans(2, delta=1e-6, bounds=(0, 100), scale="private").fit(rows)
    with pytest.raises(BoundsError, match="needs bounds per column"):
        PrivateKMeans(2, delta=1e-6, radius=1.0, scale="private").fit(rows)
    federation = Federation.in_process({"north": rows, "south": rows})
    with pytest.raises(ParameterError, match="for PrivateKMeans on one table"):
        PrivateKMeans(2, delta=1e-6, bounds=(0, 100), scale="private").fit(federation)
