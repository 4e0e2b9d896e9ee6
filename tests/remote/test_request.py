"""Only names and plain parameters are sent; what is the owner's, or an object, is refused here."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import privclust
from privclust import FedDPKMeans, PEMeans, PrivateClusterer, PrivateKMeans, estimators
from privclust.algorithms import pe_means
from privclust.errors import ParameterError
from privclust.estimators._fit_task import Algorithm
from privclust.remote.request import ESTIMATORS, OWNERS, request_of


class MyKMeans(PrivateClusterer):
    algorithm: ClassVar[Algorithm] = pe_means


def test_every_estimator_but_that_of_federations_is_sent() -> None:
    assert set(ESTIMATORS) == set(estimators.__all__) - {"FedDPKMeans"}
    for name in ESTIMATORS:
        kind, parameters = request_of(getattr(privclust, name)(3, delta=1e-6))
        assert (kind, parameters["n_clusters"], parameters["epsilon"]) == (name, 3, 1.0)
        assert not set(parameters) & set(OWNERS)


def test_values_are_plain() -> None:
    model = PrivateKMeans(np.int64(3), epsilon=np.float32(0.5), delta=1e-6, period="2026-W07")  # type: ignore[arg-type]
    _, parameters = request_of(model)
    assert parameters == {
        "n_clusters": 3,
        "epsilon": 0.5,
        "delta": 1e-6,
        "metric": "euclidean",
        "period": "2026-W07",
    }
    assert type(parameters["n_clusters"]) is int


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bounds", {"age": (0, 1)}),
        ("bounds", "/etc/passwd"),
        ("radius", 1.0),
        ("ledger", "budget.db"),
        ("dataset", "credit"),
        ("unit", "who"),
        ("max_rows_per_unit", 2),
        ("init", np.zeros((2, 2))),
    ],
)
def test_parameter_of_the_owner_is_refused_with_its_reason(name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=f"{name} cannot be set.*Nothing was sent") as refused:
        request_of(PrivateKMeans(2, **{name: value}))
    assert refused.value.parameter == name


@pytest.mark.parametrize("value", [float("inf"), float("nan"), [1.0], np.zeros(2), object()])
def test_value_that_json_has_not_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="epsilon must be a finite number"):
        request_of(PEMeans(2, epsilon=value))


def test_code_of_ones_own_does_not_travel() -> None:
    with pytest.raises(ParameterError, match=r"MyKMeans cannot be fitted.*Use one of"):
        request_of(MyKMeans(2))
    impostor = type("PEMeans", (PEMeans,), {"__module__": "elsewhere"})
    with pytest.raises(ParameterError, match="code does not travel"):
        request_of(impostor(2))
    with pytest.raises(ParameterError, match="public rows of a server"):
        request_of(FedDPKMeans(2))
