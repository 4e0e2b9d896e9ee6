"""What a fit keeps: other numbers of clusters for free, and standard errors that are true."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from helpers.fitted_models import fit_of, table
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from privclust import PEMeans, PrivateClusterer, PrivateKMeans, load, save
from privclust.algorithms import pe_means
from privclust.engines.memory import NumpyEngine
from privclust.errors import FitWarning, Message, TooManyClustersError
from privclust.estimators._fit import ON_TAILS
from privclust.estimators._fit_task import Algorithm
from privclust.kernels.grid import FloatArray
from privclust.models.clustering import ADVICE_MAX, Clustering
from privclust.models.quality import HIDDEN
from privclust.privacy.noise import NoNoise
from privclust.testing import SeededNoise, noise_from

BOUNDS = {"age": (0, 120), "weight": (0, 300)}
RELEASED = (
    "cluster_centers_",
    "cluster_sizes_",
    "center_stderr_",
    "size_stderr_",
    "cluster_radii_",
)


def six_groups() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    means = [(10, 20), (10, 280), (60, 150), (110, 20), (110, 280), (70, 160)]
    rows = np.vstack([rng.normal(mean, (2, 4), (2000, 2)) for mean in means])
    return pd.DataFrame(rows, columns=["age", "weight"])


@pytest.fixture(scope="module")
def model() -> PrivateKMeans:
    with noise_from(SeededNoise(0)):
        return PrivateKMeans(6, delta=1e-6, bounds=BOUNDS, random_state=0).fit(six_groups())


def available(model: PrivateKMeans) -> int:
    return int((model.coreset_.weights > 0).sum())


# Refit -------------------------------------------------------------------------------------------


def test_refit_gives_any_number_of_clusters_up_to_the_coreset(model: PrivateKMeans) -> None:
    assert available(model) >= 12
    total = np.maximum(model.cluster_sizes_, 0.0).sum()
    for k in range(1, available(model) + 1):
        other = model.refit(k)
        assert other.n_clusters == k
        assert other.cluster_centers_.shape == other.center_stderr_.shape == (k, 2)
        assert other.cluster_sizes_.sum() == pytest.approx(total)
        assert (np.diff(other.cluster_sizes_) <= 0).all()
        for name in ("cluster_centers_", "center_stderr_", "size_stderr_", "cluster_radii_"):
            assert np.isfinite(getattr(other, name)).all()
        assert (other.cluster_centers_ >= 0).all()
        assert (other.cluster_centers_ <= [120, 300]).all()


def test_refit_of_a_fit_in_which_noise_hides_all_rows_says_so() -> None:
    with noise_from(NoNoise()):
        nobody = PrivateKMeans(2, delta=1e-6, bounds=BOUNDS).fit(six_groups()[:0])
    with pytest.raises(TooManyClustersError, match="larger epsilon or more rows"):
        nobody.refit(1)


def test_refit_with_the_number_of_the_fit_has_the_released_clusters(model: PrivateKMeans) -> None:
    for again in (model.refit(6), model.refit(3).refit(6), model.refit(9).refit(2).refit(6)):
        for name in RELEASED:
            np.testing.assert_array_equal(getattr(again, name), getattr(model, name))
        assert again.quality_ == model.quality_
        assert again.model_.quality_sentences == model.model_.quality_sentences
        assert again.privacy_statement_ == model.privacy_statement_
        assert again.model_.refit_from is None


def test_refits_of_a_refit_are_those_of_its_fit(model: PrivateKMeans) -> None:
    for k in (2, 5, 11):
        through, direct = model.refit(4).refit(k), model.refit(k)
        for name in RELEASED:
            np.testing.assert_array_equal(getattr(through, name), getattr(direct, name))


def test_refit_is_the_same_each_time_whatever_the_seed() -> None:
    with noise_from(SeededNoise(0)):
        unseeded = PrivateKMeans(6, delta=1e-6, bounds=BOUNDS).fit(six_groups())
    first, again = unseeded.refit(4), unseeded.refit(4)
    np.testing.assert_array_equal(first.cluster_centers_, again.cluster_centers_)


@pytest.mark.attack
def test_refit_spends_nothing_and_reads_no_row(
    model: PrivateKMeans, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("rows were read")

    monkeypatch.setattr(NumpyEngine, "aggregate", refuse)
    other = model.refit(3)
    assert other.releases_ is model.releases_
    assert other.privacy_statement_.releases == model.privacy_statement_.releases
    assert other.n_rows_ == model.n_rows_


def test_refit_leaves_the_original_as_it_was(model: PrivateKMeans) -> None:
    before = dict(vars(model))
    centers = model.cluster_centers_.copy()
    other = model.refit(2)
    assert other is not model
    assert all(vars(model)[name] is value for name, value in before.items())
    assert vars(model).keys() == vars(other).keys() == before.keys()
    assert np.array_equal(model.cluster_centers_, centers)


def test_a_refit_model_labels_rows_and_can_be_refitted(model: PrivateKMeans) -> None:
    rows = six_groups()
    other = model.refit(5)
    labels = other.predict(rows)
    assert np.bincount(labels, minlength=5) == pytest.approx(other.cluster_sizes_, abs=400)
    assert other.transform(rows).shape == (len(rows), 5)
    # Two of the six groups are neighbours, and the first to be joined.
    assert np.sort(np.bincount(labels)).tolist() == [2000, 2000, 2000, 2000, 4000]
    again = other.refit(6)
    np.testing.assert_allclose(again.cluster_centers_, model.refit(6).cluster_centers_)


def test_more_clusters_than_the_coreset_has_are_refused_with_the_remedy(
    model: PrivateKMeans,
) -> None:
    k = available(model) + 1
    with pytest.raises(ValueError, match=rf"too few for {k} cluster.* max_clusters={k}, which"):
        model.refit(k)


@pytest.mark.parametrize("k", [0, -1, 2.5, "3", None])
def test_refit_refuses_what_is_not_an_integer(model: PrivateKMeans, k: Any) -> None:
    with pytest.raises(ValueError, match="n_clusters must be an integer of at least 1"):
        model.refit(k)


def test_a_model_must_be_fitted_first_and_a_clone_is_not(model: PrivateKMeans) -> None:
    with pytest.raises(NotFittedError):
        clone(model).refit(2)


def test_max_clusters_decides_how_many_cells_there_are() -> None:
    rows = six_groups()
    for wanted, expected in ((4, 6), (40, 40), (None, 32)):
        with noise_from(SeededNoise(1)):
            model = PrivateKMeans(
                2, delta=1e-6, bounds=BOUNDS, max_clusters=wanted, random_state=0
            ).fit(rows)
        assert len(model.coreset_.points) == expected


def test_the_coreset_lies_among_the_rows_in_their_units(model: PrivateKMeans) -> None:
    rows = six_groups().to_numpy()
    heavy = model.coreset_.points[model.coreset_.weights > 200]
    gaps = np.linalg.norm(heavy[:, None] - rows[::10], axis=2).min(axis=1)
    assert gaps.max() < 15
    assert model.coreset_.weights.sum() == pytest.approx(len(rows), rel=0.05)


# Standard errors ---------------------------------------------------------------------------------


def four_blobs(d: int) -> FloatArray:
    rng = np.random.default_rng(0)
    middles = np.zeros((4, d))
    middles[[0, 1], [0, 1]], middles[[2, 3], [0, 1]] = 0.5, -0.5
    return np.vstack([rng.normal(middle, 0.02, (5000, d)) for middle in middles])


class Errors:
    """Errors of many fits with seeded noise, against the means and counts of the labelled rows."""

    def __init__(self, d: int, fits: int) -> None:
        rows = four_blobs(d)
        self.sizes, self.centers, self.stderr, self.radii = [], [], [], []
        for seed in range(fits):
            with noise_from(SeededNoise(seed)):
                model = PrivateKMeans(4, delta=1e-6, radius=1.0, random_state=seed).fit(rows)
            labels = model.predict(rows)
            counts = np.bincount(labels, minlength=4)
            means = np.array([rows[labels == label].mean(axis=0) for label in range(4)])
            self.sizes.append((model.cluster_sizes_ - counts) / model.size_stderr_)
            self.centers.append(model.cluster_centers_ - means)
            self.stderr.append(model.center_stderr_)
            self.radii.append(model.cluster_radii_)


@pytest.fixture(
    scope="module",
    params=[pytest.param((4, 60), marks=pytest.mark.long), (16, 30)],
    ids=["d=4", "d=16"],
)
def errors(request: pytest.FixtureRequest) -> Errors:
    return Errors(*request.param)


def test_sizes_err_as_much_as_their_standard_errors_say(errors: Errors) -> None:
    assert 0.85 < np.std(errors.sizes) < 1.15


def test_centres_err_as_much_as_their_standard_errors_say(errors: Errors) -> None:
    """Rows are clipped on the way, alike on all sides of a blob: that hardly moves a mean."""
    errs, stderr = np.array(errors.centers), np.array(errors.stderr)
    known = stderr > 0
    assert 0.85 < np.std(errs[known] / stderr[known]) < 1.15


def test_radii_are_those_of_the_blobs(errors: Errors) -> None:
    d = errors.centers[0].shape[1]
    assert np.median(errors.radii) == pytest.approx(0.02 * np.sqrt(d), rel=0.1)


def test_refit_says_what_held_when_rows_were_read(model: PrivateKMeans) -> None:
    changed = copy.deepcopy(model).set_params(epsilon=0.01, delta=1e-9)
    other = changed.refit(3)
    assert (other.epsilon, other.delta) == (model.epsilon, model.delta)
    assert "3 clusters" in other.privacy_statement_.subject
    assert "from the coreset of another fit" in other.privacy_statement_.subject


def test_without_noise_refit_stays_marked_and_exact() -> None:
    rows = np.vstack([np.full((200, 2), 1.0), np.full((100, 2), -1.0)])
    exact = PrivateKMeans(2, epsilon=np.inf, radius=2.0, random_state=0).fit(rows)
    other = exact.set_params(epsilon=1.0, delta=1e-6).refit(2)
    assert other.epsilon == np.inf
    assert "NOT PRIVATE" in str(other.privacy_statement_)
    assert not other.size_stderr_.any()


# Quality -----------------------------------------------------------------------------------------


def test_quality_is_that_of_the_fitted_rows_and_of_no_refit() -> None:
    rows = table()
    model = fit_of(rows)
    nearest = model.transform(rows).min(axis=1)
    found = model.quality_
    assert abs(found.loss - (nearest**2).mean()) < 5 * found.loss_stderr
    capped = (np.minimum(nearest, found.cap) ** 2).mean()
    assert abs(found.capped_loss - capped) < 5 * found.capped_loss_stderr
    assert found.capped_loss_stderr < 0.1 * capped
    other = model.refit(3)
    assert not hasattr(other, "quality_")
    with pytest.raises(AttributeError, match=r"a refit reads no row.* Look at that of the fit"):
        _ = other.quality_
    assert other.model_.quality_sentences == []


def test_quality_without_noise_is_exact() -> None:
    rows = table()
    model = fit_of(rows, epsilon=math.inf, delta=None)
    nearest = model.transform(rows).min(axis=1)
    assert model.quality_.loss == pytest.approx((nearest**2).mean(), rel=1e-5)
    assert (model.quality_.loss_stderr, model.quality_.capped_loss_stderr) == (0.0, 0.0)


def test_quality_of_hardly_any_rows_is_none_and_the_model_says_why() -> None:
    """It raised an AttributeError as if nothing measured it."""
    model = fit_of(table(rows=5))
    assert model.quality_ is None
    assert model.model_.quality_sentences == [HIDDEN]


def test_quality_that_an_algorithm_does_not_measure_is_missing_with_cause_and_remedy() -> None:
    model = PEMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((100, 2)))
    with pytest.raises(AttributeError, match=r"PEMeans does not measure it\. Fit PrivateKMeans"):
        _ = model.quality_
    assert not hasattr(model, "quality_")
    assert not hasattr(PrivateKMeans(2), "quality_")


# Warning -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"n_rows": 40}, {"n_rows": 40, "init": np.zeros((1, 2))}])
def test_model_keeps_what_the_fit_warned_of(given: dict[str, Any], tmp_path: Path) -> None:
    """It was lost once the terminal was closed."""
    model = PrivateKMeans(4, delta=1e-6, radius=1.0, max_clusters=4, **given)
    with noise_from(SeededNoise(0)), pytest.warns(FitWarning) as warned:
        model.fit(np.zeros((40, 2)))
    (only,) = warned
    assert model.fit_warning_ == str(only.message)
    assert type(model.fit_warning_) is str
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.fit_warning_ == model.refit(1).fit_warning_ == model.fit_warning_


def test_fit_without_a_warning_has_none(model: PrivateKMeans) -> None:
    assert model.fit_warning_ is None
    assert not hasattr(PrivateKMeans(2), "fit_warning_")


@pytest.mark.parametrize(("rows", "counted"), [(1, "1 row"), (3, "3 rows")])
def test_warning_says_as_how_many_rows_a_unit_counts(rows: int, counted: str) -> None:
    """Users were called rows."""
    visits = pd.DataFrame({"age": np.full(60, 40.0), "who": np.arange(60) // 3})
    model = PrivateKMeans(4, delta=1e-6, bounds={"age": (0, 120)}, unit="who")
    with noise_from(SeededNoise(0)), pytest.warns(FitWarning) as warned:
        model.set_params(max_rows_per_unit=rows).fit(visits)
    assert str(warned[0].message).endswith(f" Each 'who' counts as {counted} at most.")
    assert model.fit_warning_ == str(warned[0].message)


@pytest.mark.parametrize(
    ("given", "named"), [({"bounds": (-1, 1)}, True), ({"radius": 1.0}, False)]
)
def test_warning_of_far_rows_names_the_logarithm_where_it_can_be_declared(
    given: dict[str, Any], named: bool
) -> None:
    class Far(PrivateClusterer):
        algorithm: ClassVar[Algorithm] = pe_means

        def run(self, curator: Any, plan: Any, rng: Any) -> Clustering:
            found = pe_means.run(curator, plan, rng)
            return replace(found, advice=Message("rows are far."), most_is_far=True)

    with pytest.warns(FitWarning, match=r"^rows are far\.") as warned:
        Far(2, delta=1e-6, **given).fit(np.zeros((100, 2)))
    assert (str(warned[0].message) == f"rows are far. {ON_TAILS}") is named


@pytest.mark.parametrize("text", ["x" * (ADVICE_MAX + 1), "two\nlines"])
@pytest.mark.parametrize("name", ["advice", "warned"])
def test_advice_that_no_file_could_hold_is_refused(name: str, text: str) -> None:
    given: dict[str, Any] = {name: Message(text)}
    with pytest.raises(ValueError, match=r"at most 1,000 characters.* Give a few sentences"):
        Clustering(np.zeros((1, 1)), np.zeros(1), 1, **given)


def test_what_a_warning_said_before_is_a_message() -> None:
    with pytest.raises(TypeError, match=r"must be a Message .* got 'few rows'\. Give Message"):
        Clustering(np.zeros((1, 1)), np.zeros(1), 1, warned="few rows")  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "power"), [(50.0, "100.00 %"), (9.0, "51.88 %")])
def test_large_epsilon_is_warned_of_with_what_it_means(epsilon: float, power: str) -> None:
    model = PrivateKMeans(1, delta=1e-6, epsilon=epsilon, radius=1.0)
    with pytest.warns(UserWarning, match="This guarantee says little") as given:
        model.fit(np.zeros((1000, 2)))
    (only,) = given
    assert f"no test for one row finds it in more than {power} of cases" in str(only.message)


def test_epsilon_of_eight_is_not_warned_of() -> None:
    with warnings.catch_warnings(action="error"):
        PrivateKMeans(1, delta=1e-6, epsilon=8.0, radius=1.0).fit(np.zeros((1000, 2)))
