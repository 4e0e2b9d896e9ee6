"""An estimator of a user's own: a subclass of PrivateClusterer that names its algorithm."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from privclust import Ledger, PrivateClusterer, PrivateKMeans
from privclust.algorithms import dp_lloyd, pe_means
from privclust.algorithms.dp_lloyd import LloydPlan
from privclust.estimators._fit_task import Algorithm, Task
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Clustering
from privclust.privacy.curator import Curator
from privclust.privacy.ledger.journal import LedgerError
from privclust.testing import RepeatableNoise, noise_from

ROWS = np.random.default_rng(0).normal([[-0.5], [0.5]], 0.05, (2, 400)).reshape(-1, 2)


class Elections(PrivateClusterer):
    algorithm: ClassVar[Algorithm] = pe_means


class Steps(PrivateClusterer):
    """Lloyd's steps from public points.

    Parameters
    ----------
    widths : float, default=1.0
        Half the width of where to begin.
    start : array or model, optional
        Points to begin at.
    """

    widths: float = 1.0
    start: Any = None

    def plan(self, task: Task) -> LloydPlan:
        widths = np.full(task.n_columns, self.widths)
        return dp_lloyd.plan(task.n_clusters, task.n_columns, task.budget, task.n_rows, widths)

    def run(self, curator: Curator, plan: LloydPlan, rng: np.random.Generator) -> Clustering:
        return dp_lloyd.run(curator, plan, rng)


def fitted(kind: Any, rows: Any = ROWS, **given: Any) -> Any:
    with noise_from(RepeatableNoise(0)):
        return kind(2, delta=1e-6, radius=1.0, random_state=0, **given).fit(rows)


@pytest.mark.parametrize("kind", [Elections, Steps])
def test_own_estimator_fits_labels_and_states_its_name(kind: Any) -> None:
    model = fitted(kind)
    np.testing.assert_allclose(np.sort(model.cluster_centers_[:, 0]), [-0.5, 0.5], atol=0.2)
    assert set(model.predict(ROWS)) == {0, 1}
    assert model.privacy_statement_.subject == f"{kind.__name__}, 2 clusters, 2 columns"
    assert model.model_.estimator == kind.__name__
    assert not hasattr(model, "coreset_")
    assert not hasattr(model, "k_path")


def test_own_parameters_are_parameters_like_others(tmp_path: Any) -> None:
    assert "widths" in inspect.signature(Steps).parameters
    assert Steps(widths=0.5).get_params()["widths"] == 0.5
    assert repr(Steps(3, widths=0.5)) == "Steps(n_clusters=3, widths=0.5)"
    with pytest.raises(TypeError, match="width"):
        Steps(width=0.5)
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=4.0, delta=1e-6)
    paid = {"ledger": place, "dataset": "table"}
    run = fitted(Steps, **paid).privacy_statement_.run.name
    other = Steps(2, delta=1e-6, radius=1.0, random_state=0, widths=0.5, **paid)  # type: ignore[arg-type]
    with pytest.raises(LedgerError, match=r"widths was 1, is 0\.5"):
        other.fit(ROWS, resume=run)


def test_own_docstring_inherits_what_it_does_not_say() -> None:
    text = inspect.getdoc(Steps) or ""
    assert text.startswith("Lloyd's steps from public points.\n")
    for line in ("epsilon : float, default=1.0", "widths : float, default=1.0", "n_rows_ : int"):
        assert text.count(f"\n{line}\n") == 1
    assert ">>>" not in text


def test_statement_lists_points_and_models_of_own_parameters() -> None:
    points: FloatArray = np.zeros((3, 2))
    (listed,) = fitted(Steps, start=points).privacy_statement_.public_points
    assert (listed.parameter, listed.count) == ("start", 3)
    earlier = fitted(PrivateKMeans)
    (dependency,) = fitted(Steps, start=earlier).privacy_statement_.dependencies
    assert dependency.run == earlier.privacy_statement_.run


@pytest.mark.parametrize("kind", [Elections, Steps, PrivateKMeans])
def test_copies_hold_the_same_model_and_clones_none(kind: Any) -> None:
    model = fitted(kind, pa.table({"x": ROWS[:, 0], "y": ROWS[:, 1]}))
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.cluster_centers_, model.cluster_centers_)
        assert other.privacy_statement_ == model.privacy_statement_
        assert other.feature_names_in_.tolist() == ["x", "y"]
    assert not hasattr(clone(model), "model_")
    assert not hasattr(clone(model), "cluster_centers_")


def test_model_makes_a_fitted_estimator() -> None:
    model = fitted(Steps, widths=0.5)
    again = Steps.from_model(model)  # as from its model_
    assert again.model_ is model.model_
    assert again.widths == 0.5
    assert again.radius == 1.0  # as the domain says
    np.testing.assert_array_equal(again.predict(ROWS), model.predict(ROWS))


def test_what_was_released_cannot_be_set() -> None:
    model = fitted(Elections)
    with pytest.raises(AttributeError, match="cluster_centers_ is part of what a fit released"):
        model.cluster_centers_ = np.zeros((2, 2))
    with pytest.raises(AttributeError):
        model.model_.n_rows = 3
    model.model_ = replace(model.model_, n_rows=3)
    assert model.n_rows_ == 3
