"""The base class of estimators: public parameters are checked, nothing but Releases is kept."""

from __future__ import annotations

import pickle
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from privclust import BalcanKMeans, LSHCoreset, PEMeans, PrivateKMeans
from privclust.errors import EngineError, FitWarning, ParameterError
from privclust.kernels.grid import FloatArray
from privclust.testing import SeededNoise, noise_from

CANARY = 1234567.8901234
BOX = ([0.0, 100.0], [10.0, 300.0])


any_kind = pytest.mark.parametrize("kind", [PEMeans, LSHCoreset, PrivateKMeans])
# Seen from the origin the two groups lie in one direction: LSHCoreset's cones cannot tell them.
without_cones = pytest.mark.parametrize("kind", [PEMeans, PrivateKMeans])
either_kind = pytest.mark.parametrize("kind", [PEMeans, BalcanKMeans, PrivateKMeans])


def two_groups() -> FloatArray:
    rng = np.random.default_rng(0)
    return np.vstack(
        [rng.normal((2, 150), (0.5, 10), (3000, 2)), rng.normal((8, 250), (0.5, 10), (2000, 2))]
    )


def fitted(kind: Any = PEMeans, **parameters: Any) -> Any:
    given = {"n_clusters": 2, "delta": 1e-6, "bounds": BOX, "random_state": 0, **parameters}
    with noise_from(SeededNoise(0)):
        return kind(**given).fit(two_groups())


@any_kind
def test_centres_and_sizes_come_back_in_the_users_units(kind: Any) -> None:
    model = fitted(kind)
    np.testing.assert_allclose(model.cluster_centers_, [[2, 150], [8, 250]], atol=4.0)
    np.testing.assert_allclose(model.cluster_sizes_, [3000, 2000], atol=300)
    assert model.n_features_in_ == 2


@without_cones
def test_a_radius_instead_of_bounds(kind: Any) -> None:
    model = fitted(kind, bounds=None, radius=300.0, n_rows=5000)
    np.testing.assert_allclose(model.cluster_centers_[:, 1], [150, 250], atol=6.0)
    assert model.n_rows_ == 5000


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"delta": None}, "delta is missing.*type a value well below"),
        ({"bounds": None}, "bounds are missing. Give either bounds, such as"),
        ({"radius": 1.0}, "bounds and radius are both given. Give either"),
        ({"bounds": ([0.0], [1.0])}, "bounds are given for 1 columns, X has 2"),
        ({"bounds": ([0.0, 1.0], [1.0, 1.0])}, "lower bound must be below"),
        ({"epsilon": 0.0}, "epsilon must lie between 0.01 and 64, got 0.0"),
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer"),
        ({"n_rows": -1}, "n_rows must be an integer"),
        ({"random_state": -1}, "random_state must be None or an integer"),
        ({"scale": "std"}, "scale must be 'bounds', 'none', 'private'"),
        ({"bounds": ([0.0, 9.0], [1.0, 1.0])}, "column 1 has 9 and 1. Swap them"),
    ],
)
def test_errors_name_cause_and_remedy(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fitted(**parameters)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"a": [1.0]}, "must be a NumPy array, a pandas, Polars or Arrow table, a list of rows"),
        (None, "must be a NumPy array, a pandas, Polars or Arrow table"),
        (np.array([["a", "b"]]), "columns that do not hold numbers"),
        (np.array([[object(), 1]]), "columns that do not hold numbers"),
        (pd.DataFrame({"age": [1], "ward": ["A"]}), "columns that do not hold numbers: ward"),
        (pl.DataFrame({"age": [1], "ward": ["A"]}), "columns that do not hold numbers: ward"),
        (pa.table({"age": [1], "ward": ["A"]}), "columns that do not hold numbers: ward"),
    ],
)
def test_types_are_never_guessed_from_values(rows: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        PEMeans(2, delta=1e-6, radius=1.0).fit(rows)


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": "1"},
        {"epsilon": True},
        {"epsilon": None},
        {"delta": "1e-6"},
        {"bounds": None, "radius": "3"},
        {"bounds": 5},
        {"bounds": [(0, 10), (100, 300)]},
        {"bounds": (["a", "b"], [1, 2])},
    ],
)
def test_parameters_of_the_wrong_kind_are_named(parameters: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"{list(parameters)[-1]}"):
        fitted(**parameters)


@pytest.mark.parametrize("wrong", [{"epsilon": "1"}, {"delta": "1e-6"}, {"n_clusters": "5"}])
def test_quoted_numbers_are_one_kind_of_error(wrong: dict[str, Any]) -> None:
    """A caught ParameterError let some of them through."""
    with pytest.raises(ParameterError) as refused:
        fitted(**wrong)
    assert refused.value.parameter == next(iter(wrong))


@pytest.mark.parametrize("value", [0, -3, 2.5, "8", True])
def test_max_clusters_is_an_integer(value: object) -> None:
    with pytest.raises(ValueError, match="max_clusters must be an integer of at least 1, got"):
        fitted(PrivateKMeans, max_clusters=value)


def test_constants_are_one_of_two_words() -> None:
    with pytest.raises(ValueError, match=r"constants must be one of .* got 'best'"):
        fitted(BalcanKMeans, constants="best")


def test_a_parquet_file_gives_the_same_centres_as_the_array_in_it(tmp_path: Path) -> None:
    rows = two_groups()
    pd.DataFrame(rows, columns=["a", "b"]).to_parquet(tmp_path / "rows.parquet")
    model = BalcanKMeans(2, delta=1e-6, bounds=BOX, random_state=0)
    with noise_from(SeededNoise(0)):
        model.fit(str(tmp_path / "rows.parquet"))
    expected = fitted(BalcanKMeans).cluster_centers_
    np.testing.assert_array_equal(model.cluster_centers_, expected)
    assert (pickle.loads(pickle.dumps(model)).cluster_centers_ == expected).all()


def test_guarantee_without_delta_is_pure() -> None:
    model = fitted(BalcanKMeans, epsilon=4.0, delta=0, n_rows=5000)
    statement = model.privacy_statement_
    assert {release.mechanism for release in model.releases_} == {"laplace", "select"}
    assert sum(release.charge.epsilon for release in model.releases_) <= 4.0
    real = replace(statement, run=replace(statement.run, noise="OpenDP"))
    assert (real.epsilon, real.delta) == (4.0, 0.0)
    assert real.composed.replacing_epsilon == pytest.approx(8.0)
    assert real.mu == pytest.approx(4.2, abs=0.1)


@any_kind
@pytest.mark.parametrize("n_rows", [0, 1, 2, 7])
def test_tables_smaller_than_k_are_fitted_like_any_other(kind: Any, n_rows: int) -> None:
    model = kind(8, delta=1e-6, radius=1.0, random_state=0).fit(np.zeros((n_rows, 2)))
    assert model.cluster_centers_.shape == (8, 2)
    assert np.isfinite(model.cluster_centers_).all()


@pytest.mark.attack
@pytest.mark.filterwarnings("error")
@any_kind
def test_strange_cells_raise_and_print_nothing(
    kind: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = two_groups()
    rows[::7, 0] = np.nan
    rows[::11, 1] = np.inf
    rows[::13, 0] = -1e308
    rows[::17, 1] = 5e-324
    kind(2, delta=1e-6, bounds=BOX, random_state=0).fit(rows)
    assert capfd.readouterr() == ("", "")


class Rotten(np.ndarray[Any, Any]):
    """Rows that fail when read, with a cell's value in the message."""

    def __getitem__(self, item: Any) -> Any:
        if item == slice(None, 0):
            return np.zeros((0, 2))
        raise OSError(f"cannot read {CANARY}")

    def __repr__(self) -> str:
        return f"rows with {CANARY}"


@pytest.mark.attack
@any_kind
def test_a_failing_read_shows_no_cell_even_with_locals_printed(kind: Any) -> None:
    rows = np.full((5, 2), CANARY).view(Rotten)
    model = kind(2, delta=1e-6, bounds=BOX)
    with pytest.raises(EngineError) as failure:
        model.fit(rows)
    shown = traceback.TracebackException.from_exception(failure.value, capture_locals=True)
    # The first frame is this test, whose own variables are its own business.
    del shown.stack[0]
    text = "".join(shown.format())
    assert "could not be read" in text
    assert str(CANARY) not in text
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None


def test_a_warning_points_to_the_line_that_fits() -> None:
    model = PrivateKMeans(2, delta=1e-6, bounds=BOX)
    with noise_from(SeededNoise(1)), pytest.warns(FitWarning, match="hardly be found") as counted:
        model.fit(np.zeros((5, 2)))
    with noise_from(SeededNoise(1)), pytest.warns(FitWarning, match="hardly be found") as typed:
        model.set_params(n_rows=5).fit(np.zeros((5, 2)))
    assert {warning.filename for warned in (counted, typed) for warning in warned} == {__file__}


@pytest.mark.filterwarnings("error")
def test_typed_number_of_rows_too_small_is_refused_before_any_row_is_read() -> None:
    rows = np.zeros((5, 2)).view(Rotten)
    with pytest.raises(FitWarning, match="hardly be found"):
        PrivateKMeans(2, delta=1e-6, bounds=BOX, n_rows=5).fit(rows)


@any_kind
def test_without_noise_a_fit_is_exact_and_says_that_it_is_not_private(kind: Any) -> None:
    model = fitted(kind, epsilon=np.inf, delta=None)
    assert model.cluster_sizes_.tolist() == [3000.0, 2000.0]
    assert "NOT PRIVATE" in str(model.privacy_statement_)


@pytest.mark.filterwarnings("error")
def test_without_noise_no_warning_mentions_noise() -> None:
    model = PrivateKMeans(8, epsilon=np.inf, bounds=BOX, random_state=0).fit(np.zeros((3, 2)))
    assert not model.size_stderr_.any()


@any_kind
def test_clone_keeps_parameters_and_forgets_the_fit(kind: Any) -> None:
    model = fitted(kind)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "cluster_centers_")


def test_random_state_never_reaches_the_noise() -> None:
    """False alarm: equal draws of six releases at sigma > 2^26, far below 1e-6."""
    first, second = (
        PEMeans(2, delta=1e-6, bounds=BOX, random_state=0).fit(two_groups()) for _ in range(2)
    )
    assert first.releases_[0].result[0] != second.releases_[0].result[0]
    assert first.releases_[0].noise == "OpenDP"


@pytest.mark.attack
@pytest.mark.parametrize(
    "name",
    [
        "n_clusters",
        "epsilon",
        "delta",
        "radius",
        "scale",
        "n_rows",
        "max_clusters",
        "random_state",
    ],
)
def test_rows_passed_by_mistake_appear_in_no_error(name: str) -> None:
    rows = np.full((4219, 2), 73.19283746501928)
    given: dict[str, Any] = {"delta": 1e-6, "radius": 100.0, name: rows}
    with pytest.raises((TypeError, ValueError)) as refused:
        PrivateKMeans(**given).fit(rows)
    assert "73.19" not in str(refused.value)
    assert "4219" not in str(refused.value)


@pytest.mark.attack
@pytest.mark.parametrize("whole", [True, False])
def test_rows_passed_as_bounds_appear_in_no_error(whole: bool) -> None:
    rows = np.full((50, 1), 73.19283746501928)
    bounds: Any = {"a": rows if whole else (rows, 100.0)}
    with pytest.raises((TypeError, ValueError)) as refused:
        PrivateKMeans(2, delta=1e-6, bounds=bounds).fit(pd.DataFrame(rows, columns=["a"]))
    assert "73.19" not in str(refused.value)


def test_names_of_an_earlier_table_are_forgotten() -> None:
    model = PEMeans(2, delta=1e-6, bounds=BOX, random_state=0)
    model.fit(pd.DataFrame(two_groups(), columns=["a", "b"])).fit(two_groups())
    assert not hasattr(model, "feature_names_in_")
