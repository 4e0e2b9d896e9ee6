"""Every number of clusters at once, from the coreset: nothing is read, nothing is spent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.cluster_models import made_up_model
from sklearn.exceptions import NotFittedError

from privclust import DPLloyd, Ledger, PEMeans, PrivateKMeans
from privclust.engines.memory import NumpyEngine
from privclust.errors import FitWarning, ParameterError, TooManyClustersError
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import Coreset, Precision
from privclust.models.k_path import HOW_TO_READ, LEVEL_ERROR, ON_STABILITY, Choice, KPath, k_path_of
from privclust.models.quality import Quality
from privclust.models.report import _affordable_path
from privclust.testing import SeededNoise, noise_from


def groups(count: int, columns: int, seed: int, width: float = 0.04) -> FloatArray:
    """Return Gaussian clusters of 1500 rows, no two of which are near each other."""
    rng = np.random.default_rng(seed)
    apart = 0.0
    while apart < 0.5:
        middles = rng.uniform(-0.8, 0.8, (count, columns))
        between = np.linalg.norm(middles[:, None] - middles, axis=2) + 9 * np.eye(count)
        apart = between.min()
    return np.vstack([rng.normal(middle, width, (1500, columns)) for middle in middles])


def fitted(rows: FloatArray, seed: int = 0, **given: Any) -> PrivateKMeans:
    columns = rows.shape[1]
    parameters = {"n_clusters": 8, "max_clusters": 12, "random_state": seed, **given}
    bounds = (-np.ones(columns), np.ones(columns))
    with noise_from(SeededNoise(seed)):
        return PrivateKMeans(delta=1e-6, bounds=bounds, **parameters).fit(rows)


def coreset(
    points: Any, weights: Any, radius: float = 0.05, error: float = 0.01, size_error: float = 5.0
) -> Coreset:
    count = len(points)
    precision = Precision(np.full(count, error), np.full(count, size_error), np.full(count, radius))
    return Coreset(np.array(points, dtype=float), np.array(weights, dtype=float), precision)


def path_of(given: Coreset, most: int = 8) -> KPath:
    """Return the path of a fit that found one cluster and has this coreset."""
    weights = np.maximum(given.weights, 0.0)
    center = weights @ given.points / max(weights.sum(), 1.0)
    model = made_up_model([center], [weights.sum()], coreset=given)
    return k_path_of(replace(model, parameters={"max_clusters": most}))


@pytest.mark.parametrize("name", ["k_path", "mixture"])
def test_model_without_a_coreset_is_refused_with_the_remedy(name: str) -> None:
    model = replace(fitted(groups(2, 2, 0), n_clusters=2, max_clusters=4).model_, coreset=None)
    without = PrivateKMeans.from_model(model)
    with pytest.raises(
        ParameterError, match=r"has no coreset, .* Give a model of PrivateKMeans, as"
    ):
        getattr(without, name)()
    with pytest.raises(AttributeError, match=r"DPLloyd has no k_path: it follows from the coreset"):
        DPLloyd(2, delta=1e-6).k_path  # noqa: B018


def test_coreset_all_of_whose_rows_noise_hides_is_refused_with_the_remedy() -> None:
    """It ended in an IndexError, and so did the report."""
    hidden = made_up_model(
        [[0.0, 0.0], [1, 0]], [-3.0, -1], coreset=coreset([[0, 0], [1, 0]], [-1, -2])
    )
    with pytest.raises(TooManyClustersError, match=r"noise hides all rows .* a larger epsilon or"):
        k_path_of(hidden)
    assert _affordable_path(hidden) is None


# Distinct clusters -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("count", "columns"), [(1, 2), (1, 3), (2, 2), (3, 5), (5, 2), (8, 5)])
def test_as_many_clusters_are_distinct_as_there_are(count: int, columns: int, seed: int) -> None:
    path = fitted(groups(count, columns, seed), seed).k_path()
    assert path.elbow == count
    losses, errors = (
        np.array([getattr(choice, name) for choice in path.choices]) for name in ("loss", "stderr")
    )
    assert np.all(np.diff(losses) <= 3 * np.hypot(errors[1:], errors[:-1]))
    assert losses[count - 1] < losses[0] / 5 or count == 1


@pytest.mark.parametrize(("columns", "seed"), [(2, 0), (3, 0), (3, 9), (8, 2)])
def test_one_cluster_is_not_taken_for_many(columns: int, seed: int) -> None:
    """Cut in all directions at once, its parts lie 7 variances apart, not 12."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(rng.uniform(-0.7, 0.7, columns), 0.04, (1500, columns))
    assert fitted(rows, seed).k_path().elbow == 1


def test_one_column_and_few_rows_have_distinct_clusters_too() -> None:
    assert fitted(groups(2, 1, 0)).k_path().elbow == 2
    with pytest.warns(FitWarning, match="hardly be found"):
        lost = fitted(groups(2, 2, 0)[::60])
    assert 1 <= lost.k_path().elbow <= 12


def test_loss_is_the_mean_square_distance_to_the_centres() -> None:
    points = [[0.5, 0.0], [-0.5, 0.0]]
    one, two = path_of(coreset(points, [300, 100])).choices
    # About the mean at 0.25: 300 at a distance of 0.25, 100 at 0.75; radii come on top.
    assert one.loss == pytest.approx((300 * 0.0625 + 100 * 0.5625) / 400 + 0.0025)
    assert two.loss == pytest.approx(0.0025)
    assert one.silhouette == 0
    assert two.silhouette == pytest.approx(1 - 0.05 / np.sqrt(1 + 0.0025))
    assert two.distinct
    assert one.stderr > LEVEL_ERROR * one.loss


def test_clusters_no_larger_than_noise_are_not_distinct() -> None:
    points = [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5]]
    assert path_of(coreset(points, [300, 300, 20])).elbow == 3
    assert path_of(coreset(points, [300, 300, 20], size_error=10.0)).elbow == 2


def test_a_cluster_cut_in_two_is_one() -> None:
    assert path_of(coreset([[0.02, 0.0], [-0.02, 0.0]], [300, 300])).elbow == 1


# Coresets as noise makes them --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "most"),
    [
        ((300, 300, 300, 300), 4),
        ((300, 0, -7, 300), 2),
        ((300, 300, 300, -1000), 3),
        ((0, 0, 0, 40), 1),
        ((0, 0, 0, 0), 1),
        ((-1, -2, -3, -4), 1),
    ],
)
def test_points_without_weight_do_not_count(weights: tuple[int, ...], most: int) -> None:
    points = [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5], [0.0, -0.5]]
    path = path_of(coreset(points, weights))
    assert [choice.n_clusters for choice in path.choices] == list(range(1, most + 1))
    assert path.elbow == most
    for choice in path.choices:
        assert np.isfinite([choice.loss, choice.stderr, choice.silhouette]).all()
        assert choice.loss >= 0


def test_weights_of_nothing_say_nothing() -> None:
    """An error of 1e300 squared radii would be drawn by the report."""
    (only,) = path_of(coreset([[0.5, 0.0], [-0.5, 0.0]], [0, 0])).choices
    assert only.stderr < 100


def test_points_that_are_equal_are_one_cluster() -> None:
    path = path_of(coreset([[0.5, 0.0]] * 3, [300, 300, 300], radius=0.0, error=0.0))
    assert path.elbow == 1
    assert all(np.isfinite(choice.silhouette) for choice in path.choices)


@pytest.mark.parametrize("most", [1, 2])
def test_no_more_clusters_are_tried_than_the_maximum(most: int) -> None:
    points = [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.5]]
    assert len(path_of(coreset(points, [300] * 3), most).choices) == most


# Of an estimator ---------------------------------------------------------------------------------


def test_nothing_is_read_or_spent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path / "budget.db")
    Ledger.create(place, "table", epsilon=2.0, delta=1e-6)
    model = fitted(groups(2, 2, 0), ledger=place, dataset="table")
    before, head = vars(model).copy(), Ledger.open(place).head()
    left = Ledger.open(place).remaining("table")

    def fail(*_: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(NumpyEngine, "aggregate", fail)
    monkeypatch.setattr("privclust.privacy.curator.Curator.open", fail)
    assert model.k_path().elbow == 2
    assert vars(model) == before
    assert Ledger.open(place).head() == head
    assert Ledger.open(place).remaining("table") == left


def test_the_same_model_has_the_same_path() -> None:
    model = fitted(groups(3, 2, 0), random_state=None)
    assert model.k_path() == model.k_path()


def test_a_model_of_one_cluster_may_choose_more() -> None:
    model = fitted(groups(3, 2, 0), n_clusters=1, max_clusters=None)
    path = model.k_path()
    assert len(path.choices) > 3
    assert path.elbow == 3


def test_path_goes_as_far_as_max_clusters_of_the_fit() -> None:
    model = fitted(groups(3, 2, 0), max_clusters=5)
    assert [choice.n_clusters for choice in model.k_path().choices] == [1, 2, 3, 4, 5]
    assert model.k_path().choices == model.refit(2).k_path().choices


def test_path_of_an_estimator_is_that_of_its_model_whatever_was_set_since() -> None:
    model = fitted(groups(3, 2, 0), max_clusters=5)
    path = k_path_of(model.model_)
    assert model.set_params(max_clusters=2, random_state=7).k_path() == path


def test_only_fitted_models_with_a_coreset_have_one() -> None:
    with pytest.raises(NotFittedError):
        PrivateKMeans().k_path()
    assert not hasattr(PEMeans(), "k_path")


def test_a_path_is_printed_as_a_table_that_recommends_nothing() -> None:
    first = Choice(1, 0.5, 0.01, 1.0, 0.0, distinct=True)
    path = KPath((first, Choice(12, 0.123456, 1e-9, 0.9, 0.75, distinct=True)))
    assert str(path).splitlines() == [
        "  k         loss    ± stderr   stability  silhouette",
        "  1          0.5        0.01        1.00       0.000",
        " 12       0.1235       1e-09        0.90       0.750",
        HOW_TO_READ,
        ON_STABILITY,
    ]


def test_path_that_ends_early_says_so_and_why() -> None:
    """It ended at 12 where 32 were asked for, and nobody knew why."""
    few = path_of(coreset([[0, 0], [0.5, 0], [0, 0.5]], [100, 100, 0]), most=8)
    assert len(few.choices) == 2
    assert "The path ends at 2 and not at 8: the coreset has no more points" in str(few)
    whole = path_of(coreset([[0, 0], [0.5, 0], [0, 0.5]], [100, 100, 100]), most=3)
    assert whole.shortened is None
    assert "The path ends" not in str(whole)


@pytest.mark.parametrize(
    ("quality", "is_capped"),
    [
        (None, True),
        (Quality(0.1, 0.002, 0.0001, 0.004, 0.001), True),
        (Quality(0.1, 0.002, 0.0001, 0.004, 0.0001), False),
    ],
    ids=["not measured", "noise hides the loss", "clear"],
)
def test_capped_loss_is_called_so(quality: Quality | None, is_capped: bool) -> None:
    """It was headed "loss", and was half as large as the loss where far rows matter."""
    points = coreset([[0.0, 0.0], [0.01, 0.0]], [500, 500], radius=0.01)
    model = made_up_model([[0.005, 0.0]], [1000.0], coreset=points, quality=quality)
    path = k_path_of(replace(model, parameters={"max_clusters": 2}))
    assert path.is_capped is is_capped
    assert ("capped loss" in str(path)) is is_capped
    if quality is not None:
        measured = quality.capped_loss if is_capped else quality.loss
        assert path.choices[0].loss == pytest.approx(measured)
