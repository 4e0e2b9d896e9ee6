"""What parameters of an estimator of one's own may hold: what a statement and a ledger can name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from privclust import Ledger, PrivateClusterer, PrivateKMeans
from privclust.algorithms import pe_means
from privclust.errors import ParameterError
from privclust.estimators._fit_task import Algorithm
from privclust.models.clustering import Coreset, Precision
from privclust.privacy.accounting import Budget
from privclust.privacy.ledger.journal import LedgerError
from privclust.testing import RepeatableNoise, noise_from

ROWS = np.random.default_rng(0).normal([[-0.5], [0.5]], 0.05, (2, 400)).reshape(-1, 2)


class Started(PrivateClusterer):
    algorithm: ClassVar[Algorithm] = pe_means
    start: Any = None


@pytest.fixture
def paid(tmp_path: Path) -> dict[str, str]:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "table", epsilon=8.0, delta=1e-5)
    return {"ledger": place, "dataset": "table"}


def made(kind: Any = Started, **given: Any) -> Any:
    return kind(2, **{"delta": 1e-6, "radius": 1.0, "random_state": 0, **given})


def fitted(kind: Any = Started, **given: Any) -> Any:
    with noise_from(RepeatableNoise(0)):
        return made(kind, **given).fit(ROWS)


def runs(paid: dict[str, str]) -> int:
    return len(Ledger.open(paid["ledger"]).runs("table"))


@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: ("far", [(one, 3)])])
def test_models_and_points_in_lists_are_stated(wrap: Any) -> None:
    earlier = fitted(PrivateKMeans)
    for held in (earlier, earlier.model_):
        (dependency,) = fitted(start=wrap(held)).privacy_statement_.dependencies
        assert dependency.run == earlier.privacy_statement_.run
    listed = fitted(start=[np.zeros((3, 2)), (np.zeros((2, 2)),)]).privacy_statement_.public_points
    assert [(one.parameter, one.count) for one in listed] == [("start", 5)]


@pytest.mark.parametrize(
    ("start", "count"),
    [
        ([[0.0, 0.5], [0.5, 0.0], (0, 0)], 3),
        ([0.2, np.float32(0.6)], 2),
        ([[[0.0, 0.5], [0.5, 0.0]]], 2),
        (np.float64(0.5) * np.ones(()), 0),
        (np.array(0.5), 1),
        (["far", True, None], 0),
    ],
)
def test_points_may_be_lists_of_numbers(start: Any, count: int) -> None:
    listed = fitted(start=start).privacy_statement_.public_points
    assert sum(one.count for one in listed) == count


@pytest.mark.attack
@pytest.mark.parametrize(
    "start",
    [
        {"points": np.zeros((3, 2))},
        {1.0, 2.0},
        pd.DataFrame(np.zeros((3, 2))),
        np.array([[0.0, 1.0]], dtype=object),
        np.array(["a"]),
        np.array(["2026-01-01"], dtype="datetime64[D]"),
        np.datetime64("2026-01-01"),
        b"rows",
        PrivateKMeans(2),
        [1.0, ({"points": 1},)],
        len,
    ],
)
def test_other_values_are_refused_before_the_charge(start: Any, paid: dict[str, str]) -> None:
    with pytest.raises(ParameterError, match=r"start .*lists.*numpy\.asarray"):
        made(start=start, **paid).fit(ROWS)
    assert runs(paid) == 0


def test_refusal_shows_no_values() -> None:
    with pytest.raises(ParameterError) as refused:
        made(start={"secret": 73.19}).fit(ROWS)
    assert "a value of type dict" in str(refused.value)
    assert "73.19" not in str(refused.value)


@pytest.mark.parametrize(
    ("start", "other"),
    [
        ("a" * 100 + "b", "a" * 100 + "c"),
        (10**300, 10**300 + 1),
        ([np.zeros((3, 2))], [np.ones((3, 2))]),
        ([1.0, 2.0], [1.0, 3.0]),
        (["a", "b"], ["a, b"]),
        ([["a"], "b"], [["a", "b"]]),
        (list(range(500)), [*range(499), 0]),
    ],
)
def test_resumed_fit_has_equal_own_parameters(start: Any, other: Any, paid: dict[str, str]) -> None:
    run = fitted(start=start, **paid).privacy_statement_.run.name
    with pytest.raises(LedgerError, match="start was"):
        made(start=other, **paid).fit(ROWS, resume=run)
    again = made(start=start, **paid).fit(ROWS, resume=run)
    assert again.privacy_statement_.run.name == run
    assert len(Ledger.open(paid["ledger"]).run(run).facts["start"]) < 120


def test_ledger_knows_which_runs_are_in_a_list(paid: dict[str, str]) -> None:
    earlier = [fitted(PrivateKMeans, **paid), fitted(PrivateKMeans, **paid)]
    run = fitted(start=earlier, **paid).privacy_statement_.run.name
    names = [one.privacy_statement_.run.name for one in earlier]
    assert Ledger.open(paid["ledger"]).run(run).facts["follows_from"] == ", ".join(names)


@pytest.mark.attack
@pytest.mark.real_noise
@pytest.mark.parametrize("wrap", [lambda one: one, lambda one: [(one,)]])
def test_models_that_guarantee_nothing_here_are_refused_before_the_charge(
    wrap: Any, paid: dict[str, str]
) -> None:
    exact = made(PrivateKMeans, epsilon=np.inf).fit(ROWS)
    with pytest.raises(ParameterError, match="the model given as start is NOT PRIVATE"):
        made(start=wrap(exact), **paid).fit(ROWS)
    people = pd.DataFrame(np.tile(ROWS, (2, 1)), columns=["x", "y"])
    people = people.assign(person=np.arange(len(people)))
    person = made(PrivateKMeans, unit="person").fit(people)
    with pytest.raises(ParameterError, match="the model given as start protects each 'person'"):
        made(start=wrap(person), **paid).fit(ROWS)
    assert runs(paid) == 0


class Wrong(PrivateClusterer):
    """PE-means, of whose outcome one part is put wrong; class attributes, not parameters."""

    algorithm: ClassVar[Algorithm] = pe_means
    change: ClassVar[Any] = None

    def run(self, curator: Any, plan: Any, rng: np.random.Generator) -> Any:
        return type(self).change(super().run(curator, plan, rng))


PRECISION = Precision(np.ones(3), np.ones(3), np.ones(3))
"""Of three clusters."""


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda found: found.centers, "must return a Clustering"),
        (lambda found: replace(found, centers=found.centers.tolist()), "centers"),
        (lambda found: replace(found, centers=found.centers[:1]), "centers"),
        (lambda found: replace(found, centers=found.centers[:, :1]), "centers"),
        (lambda found: replace(found, centers=found.centers * np.nan), "centers"),
        (lambda found: replace(found, centers=found.centers.astype(object)), "centers"),
        (lambda found: replace(found, sizes=found.sizes[:1]), "sizes"),
        (lambda found: replace(found, sizes=found.sizes * np.inf), "sizes"),
        (lambda found: replace(found, n_rows="many"), "n_rows"),
        (lambda found: replace(found, quality=0.5), "quality"),
        (lambda found: replace(found, precision=PRECISION), r"precision\.center_stderr"),
        (
            lambda found: replace(found, coreset=Coreset(np.zeros((3, 2)), np.ones(2), PRECISION)),
            r"coreset\.weights",
        ),
    ],
)
def test_wrong_outcome_is_refused_with_how_to_resume(
    change: Any, wrong: str, paid: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Wrong, "change", staticmethod(change))
    with pytest.raises((TypeError, ValueError), match=wrong) as refused:
        made(Wrong, **paid).fit(ROWS)
    assert "Wrong" in str(refused.value)
    (note,) = refused.value.__notes__
    run = note.split()[2]
    monkeypatch.setattr(Wrong, "change", staticmethod(lambda found: found))
    assert made(Wrong, **paid).fit(ROWS, resume=run).cluster_centers_.shape == (2, 2)
    assert runs(paid) == 1


class Dearer(PrivateClusterer):
    algorithm: ClassVar[Algorithm] = pe_means
    factor: float = 2.0

    def plan(self, task: Any) -> Any:
        budget = Budget(task.budget.epsilon * self.factor, task.budget.delta)
        return pe_means.plan(task.n_clusters, task.n_columns, budget, task.n_rows)


@pytest.mark.attack
@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_plan_for_another_budget_is_refused_before_the_charge(
    factor: float, paid: dict[str, str]
) -> None:
    with pytest.raises(ParameterError, match=r"epsilon=.*task\.budget"):
        made(Dearer, factor=factor, **paid).fit(ROWS)
    assert runs(paid) == 0
    assert fitted(Dearer, factor=1.0).privacy_statement_.run.epsilon == 1.0
    assert fitted(Dearer, factor=1.0, epsilon=np.inf).privacy_statement_.run.epsilon == np.inf


class Seeded(PrivateClusterer):
    algorithm: ClassVar[Algorithm] = pe_means
    seed: int = 3


class Origin(PrivateClusterer):
    algorithm: ClassVar[Algorithm] = pe_means
    bounds_origin: str = "made up"


@pytest.mark.parametrize(("kind", "name"), [(Seeded, "seed"), (Origin, "bounds_origin")])
def test_parameter_called_like_a_fact_is_refused_before_the_charge(
    kind: Any, name: str, paid: dict[str, str]
) -> None:
    with pytest.raises(ParameterError, match=rf"parameter {name!r} .*another name"):
        made(kind, **paid).fit(ROWS)
    assert runs(paid) == 0
