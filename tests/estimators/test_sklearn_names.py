"""Names of scikit-learn that are not here say what is."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from privclust import DPLloyd, PrivateKMeans
from privclust.testing import SeededNoise, noise_from


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("labels_", "predict"),
        ("inertia_", "quality_"),
        ("n_iter_", "releases_"),
        ("save", "privclust.save"),
        ("score", "quality_"),
    ],
)
def test_attributes_that_are_not_here_name_what_is(name: str, instead: str) -> None:
    with noise_from(SeededNoise(0)):
        model = PrivateKMeans(1, delta=1e-6, radius=1.0).fit(np.zeros((500, 2)))
    with pytest.raises(AttributeError, match=rf"^PrivateKMeans has no {name}: .*{instead}"):
        getattr(model, name)
    assert not hasattr(model, name)


@pytest.mark.parametrize("name", ["n_init", "max_iter", "tol", "verbose", "copy_x", "algorithm"])
def test_parameters_that_are_not_taken_say_why(name: str) -> None:
    given: dict[str, Any] = {name: 10}
    with pytest.raises(TypeError, match=rf"^PrivateKMeans takes no {name}: "):
        PrivateKMeans(**given)
    with pytest.raises(TypeError, match="unexpected keyword argument 'clusters'"):
        PrivateKMeans(clusters=3)


@pytest.mark.parametrize(
    ("name", "known"), [("k", "n_clusters"), ("eps", "epsilon"), ("seed", "random_state")]
)
def test_parameters_by_other_names_say_what_they_are_called(name: str, known: str) -> None:
    given: dict[str, Any] = {name: 3}
    with pytest.raises(TypeError, match=rf"^PrivateKMeans takes no {name}: .*{known}"):
        PrivateKMeans(**given)


@pytest.mark.parametrize("name", ["fit", "fit_predict", "fit_transform"])
def test_weights_of_rows_are_refused_with_what_there_is_instead(name: str) -> None:
    model, rows = PrivateKMeans(1, delta=1e-6, radius=1.0), np.zeros((500, 2))
    with pytest.raises(TypeError, match=f"^{name} takes no sample_weight: .* max_rows_per_unit"):
        getattr(model, name)(rows, sample_weight=np.ones(500))
    assert not hasattr(model, "model_"), "nothing was fitted"
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        getattr(model, name)(rows, weights=np.ones(500))
    getattr(model, name)(rows, sample_weight=None)
    assert "sample_weight" not in inspect.signature(getattr(model, name)).parameters


def test_parameters_of_ones_own_may_have_these_names() -> None:
    class Repeated(DPLloyd):
        n_init: int = 3

    assert clone(Repeated(n_init=5)).n_init == 5
    assert "n_init" in inspect.signature(Repeated).parameters
