"""The Flower app to copy, `examples/federation`, over a stand-in for Flower."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import write_parquet
from helpers.flower_stand_in import Grid, stand_in

from privclust import FedDPKMeans, PrivateKMeans, load
from privclust.privacy.ledger.ledger import Ledger

APP = Path(__file__).parents[3] / "examples" / "federation"
DEFAULTS: dict[str, Any] = tomllib.loads((APP / "pyproject.toml").read_text())["tool"]["flwr"][
    "app"
]["config"]
NODES = range(3)


@pytest.fixture(autouse=True)
def flower(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch)


def module(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, APP / "consortium" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def grid(folder: Path) -> Grid:
    """Three clients with made-up patients, behind the example's own client app."""
    rng = np.random.default_rng(0)
    app, nodes = module("client").app, {}
    for node in NODES:
        young = rng.random(2000) < 0.5
        rows = {
            "bmi": rng.normal(np.where(young, 22, 35), 1),
            "age": rng.normal(np.where(young, 30, 70), 3),
            "patient": np.arange(2000) // 2,
        }
        table = write_parquet(pa.table(rows), folder / f"{node}.parquet")
        nodes[node] = (app, {"table": str(table), "folder": str(folder / f"kept{node}")})
    return Grid(nodes)


def run(folder: Path, given_grid: Grid | None = None, **changed: Any) -> Any:
    """Run the app as `flwr run --run-config` would, and return the model it wrote."""
    given = {name.replace("_", "-"): value for name, value in changed.items()}
    assert set(given) <= set(DEFAULTS), "not in the app's pyproject.toml"
    config = {**DEFAULTS, "n-clusters": 2, "model": str(folder / "model.json"), **given}
    module("server").main(given_grid or grid(folder), SimpleNamespace(run_config=config))
    return load(config["model"])


def test_it_fits_as_it_is_and_says_how_far_it_has_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = run(tmp_path)
    assert isinstance(model, PrivateKMeans)
    assert list(model.feature_names_in_) == ["age", "bmi"]  # in the order of bounds.toml
    order = np.argsort(model.cluster_centers_[:, 0])
    np.testing.assert_allclose(model.cluster_centers_[order], [[30, 22], [70, 35]], atol=3)
    output = capsys.readouterr().out
    assert output.startswith("Waiting for 3 SuperNodes, up to 600 seconds.\nQuery 1 of about ")
    assert output.endswith(f"{model.privacy_statement_}\n")
    assert "Bounds: domain knowledge" in output


def test_public_rows_of_the_server_start_either_method(tmp_path: Path) -> None:
    public = tmp_path / "public.csv"
    np.savetxt(public, np.random.default_rng(0).uniform([0, 10], [120, 60], (60, 2)), delimiter=",")
    few = run(tmp_path, method="FedDPKMeans", public_rows=str(public))
    assert isinstance(few, FedDPKMeans)
    assert len(few.releases_) < 6
    started = run(tmp_path, public_rows=str(public), model=str(tmp_path / "other.json"))
    assert started.releases_[1].slot == "start"


def test_patients_at_two_clients_are_protected_and_recorded_so(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    Ledger.create(place, "p", epsilon=2.0, delta=1e-6, unit="patient in 2 clients")
    recorded: dict[str, Any] = {"ledger": place, "dataset": "p", "method": "FedDPKMeans"}
    model = run(tmp_path, unit="patient", max_rows_per_unit=2, clients_per_unit=2, **recorded)
    assert "all rows of one 'patient' more at each of up to 2 clients" in (
        model.privacy_statement_.adjacency
    )
    assert "than 2 rows may" in model.privacy_statement_.adjacency
    assert len(Ledger.open(place).runs("p")) == 1


# Refused before anything is sent -----------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("epsilon", [float("inf"), float("nan"), 0.0, -1.0])
def test_nothing_is_fitted_that_is_not_private(tmp_path: Path, epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon must be a finite number above 0"):
        run(tmp_path, epsilon=epsilon)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": "FedDPKmeans"}, "method must be PrivateKMeans or FedDPKMeans, got 'FedDPKm"),
        ({"method": ""}, "method must be PrivateKMeans or FedDPKMeans, got ''"),
        ({"bounds": "none.toml"}, "the bounds file 'none.toml' cannot be read"),
        ({"clients_per_unit": 4}, "clients_per_unit must be an integer between 1 and .* 3"),
        ({"model": "/no such folder/model.json"}, "name a file that does not exist yet"),
        ({"model": str(APP / "pyproject.toml")}, "name a file that does not exist yet"),
    ],
)
def test_impossible_settings_are_refused_before_anything_is_sent(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    network = grid(tmp_path)
    with pytest.raises(ValueError, match=message):
        run(tmp_path, network, **changed)
    assert not network.sent
