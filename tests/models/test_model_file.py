"""A model file holds what may leave and nothing else, and comes back exactly as it was."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import socket
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

from privclust import (
    BalcanKMeans,
    DPLloyd,
    FastLloyd,
    FedDPKMeans,
    HDPEMeans,
    Ledger,
    LSHCoreset,
    PEMeans,
    PrivateKMeans,
    load,
    save,
)
from privclust.domains.ball import Ball
from privclust.domains.bounds import read_bounds
from privclust.domains.box import Box
from privclust.errors import ModelFileError, ParameterError
from privclust.models.model_file import read_model, to_json
from privclust.testing import SeededNoise, noise_from

CANARY = 73.19283746501928
N_ROWS = 4219
SCHEMA = json.loads(files("privclust.models").joinpath("model.schema.json").read_text())
DEFAULTS = {"format", "missing"}
"""What columns of files leave out where it is the default."""
NAMED = {"bounds": {"age": (0, 120), 'we"ight\n名': (-1e6, 300)}}
PLACES = {"bounds", "radius", "ledger", "dataset", "server_data"}
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "PrivateKMeans": (PrivateKMeans, NAMED),
    "PrivateKMeans in a ball": (PrivateKMeans, {"radius": 400.0, "random_state": None}),
    "PrivateKMeans of people": (PrivateKMeans, {**NAMED, "unit": "who", "max_rows_per_unit": 2}),
    "PrivateKMeans of typed rows": (PrivateKMeans, {**NAMED, "n_rows": np.int64(5000)}),
    "PrivateKMeans in own units": (PrivateKMeans, {**NAMED, "scale": "none"}),
    "PrivateKMeans by arrays": (PrivateKMeans, {"bounds": (0, [120, 300]), "max_clusters": None}),
    "PrivateKMeans without noise": (PrivateKMeans, {**NAMED, "epsilon": math.inf, "delta": None}),
    "PEMeans": (PEMeans, NAMED),
    "PEMeans in a ball": (PEMeans, {"radius": 400.0}),
    "PEMeans without noise": (PEMeans, {**NAMED, "epsilon": np.float64("inf")}),
    "HDPEMeans": (HDPEMeans, NAMED),
    "HDPEMeans in a ball": (HDPEMeans, {"radius": 400.0}),
    "DPLloyd": (DPLloyd, NAMED),
    "DPLloyd, pure": (DPLloyd, {**NAMED, "delta": 0.0}),
    "FastLloyd": (FastLloyd, NAMED),
    "FastLloyd in a ball": (FastLloyd, {"radius": 400.0}),
    "LSHCoreset": (LSHCoreset, NAMED),
    "LSHCoreset of people": (LSHCoreset, {**NAMED, "unit": "who", "max_rows_per_unit": 2}),
    "BalcanKMeans": (BalcanKMeans, NAMED),
    "BalcanKMeans in a ball": (BalcanKMeans, {"radius": 400.0, "constants": "original"}),
    "BalcanKMeans of people": (BalcanKMeans, {**NAMED, "unit": "who", "max_rows_per_unit": 2}),
    "BalcanKMeans in pure epsilon": (BalcanKMeans, {**NAMED, "delta": 0.0}),
    "BalcanKMeans without noise": (BalcanKMeans, {**NAMED, "epsilon": math.inf}),
    "FedDPKMeans": (FedDPKMeans, NAMED),
    "FedDPKMeans around public rows": (FedDPKMeans, {"server_data": np.eye(4, 2), "rounds": 0}),
}


def fitted(kind: Any, given: dict[str, Any], ledger: str | None) -> Any:
    """Fit a table full of one secret, in a ledger whose path is a secret too."""
    rows = pd.DataFrame(np.full((N_ROWS, 2), CANARY), columns=["age", 'we"ight\n名'])
    if "unit" in given:
        rows["who"] = np.arange(N_ROWS) // 2
    table = rows if isinstance(given.get("bounds"), dict) else rows.to_numpy()
    if ledger is not None and given.get("epsilon") != math.inf:
        label = f"table of {given.get('unit', 'rows')}"
        Ledger.create(ledger, label, epsilon=1, delta=1e-6, unit=given.get("unit", "row"))
        given = {**given, "ledger": ledger, "dataset": label}
    with noise_from(SeededNoise(0)):
        few = {"max_clusters": 4} if kind is PrivateKMeans else {}
        model = kind(3, **{"delta": 1e-6, "random_state": 0, **few, **given})
        return model.fit(table)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    ledger = str(tmp_path_factory.mktemp("uncommon") / "uncommon.db")
    return fitted(*MODELS[request.param], ledger)


@pytest.fixture
def file(model: Any, tmp_path: Path) -> Path:
    save(model, tmp_path / "model.json")
    return tmp_path / "model.json"


def assert_same(one: Any, other: Any, where: str = "model") -> None:
    """Compare two values in every field, with their types."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where, strict=True)
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            name = field.name
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for number, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}[{number}]")
    else:
        assert one == other, where


# There and back ----------------------------------------------------------------------------------


def test_what_was_fitted_comes_back_exactly(model: Any, file: Path) -> None:
    loaded = load(file)
    assert type(loaded) is type(model)
    found = {name: value for name, value in vars(model).items() if name.endswith("_")}
    assert found.keys() == {name for name in vars(loaded) if name.endswith("_")}
    for name, value in found.items():
        assert_same(value, getattr(loaded, name), name)
    given, back = model.get_params(), loaded.get_params()
    assert back.keys() == given.keys()
    assert {n: v for n, v in back.items() if n not in PLACES} == {
        n: v for n, v in given.items() if n not in PLACES
    }
    assert back["ledger"] is None
    assert back["dataset"] is None
    if isinstance(loaded.domain_, Box):
        declared = read_bounds(back["bounds"], loaded.model_.feature_names_in, 2).domain
        declared = declared.unscaled() if back["scale"] == "none" else declared
        assert declared.to_dict() == loaded.domain_.to_dict()
    else:
        assert isinstance(loaded.domain_, Ball)
        assert loaded.domain_.radius == 400.0 or loaded.domain_.middle.any()
        assert back["radius"] in (400.0, None)
        assert (back["radius"] is None) == bool(loaded.domain_.middle.any())


def test_model_is_read_without_its_estimator(model: Any, file: Path) -> None:
    found = read_model(file)
    expected = dataclasses.replace(model.model_, participation=None)
    for field in dataclasses.fields(found):
        if field.name != "parameters":  # of NumPy's types before
            assert_same(getattr(expected, field.name), getattr(found, field.name), field.name)
    assert dict(found.parameters) == dict(expected.parameters)
    assert to_json(found) == file.read_text(encoding="utf-8")


def test_a_loaded_model_is_saved_as_the_same_bytes(file: Path, tmp_path: Path) -> None:
    save(load(file), tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == file.read_bytes()


def test_a_loaded_model_does_what_the_saved_one_does(model: Any, file: Path) -> None:
    loaded = load(file)
    rows = np.random.default_rng(0).uniform(-10, 310, (50, 2))
    rows[0] = np.nan
    assert str(loaded.privacy_statement_) == str(model.privacy_statement_)
    with noise_from(SeededNoise(0)):  # nothing is drawn
        np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
        np.testing.assert_array_equal(loaded.transform(rows), model.transform(rows))
    for one, other in zip(loaded.releases_, model.releases_, strict=True):
        assert (one.sigma, one.values.tolist()) == (other.sigma, other.values.tolist())
        assert not one.result.flags.writeable
    if hasattr(model, "coreset_") and model.random_state is not None:
        assert loaded.k_path() == model.k_path()
        assert_same(model.refit(1).cluster_centers_, loaded.refit(1).cluster_centers_)


def test_a_model_with_another_number_of_clusters_is_saved_too(tmp_path: Path) -> None:
    other = fitted(PrivateKMeans, NAMED, None).refit(1)
    save(other, tmp_path / "other.json")
    loaded = load(tmp_path / "other.json")
    assert "from the coreset of another fit" in loaded.privacy_statement_.subject
    assert to_json(loaded) == to_json(other)


def test_weights_of_columns_come_back(tmp_path: Path) -> None:
    bounds = tmp_path / "secret place.toml"
    column = '[columns.{}]\ntype = "number"\nlower = 0\nupper = 100\nweight = {}\n'
    bounds.write_text(
        'bounds_origin = "public data"\n' + column.format("age", 2.5) + column.format("x", 0.1)
    )
    rows = pd.DataFrame(np.full((400, 2), 40.0), columns=["age", "x"])
    with noise_from(SeededNoise(0)):
        model = PEMeans(2, delta=1e-6, bounds=str(bounds)).fit(rows)
    save(model, tmp_path / "model.json")
    assert "secret place" not in (tmp_path / "model.json").read_text()
    loaded = load(tmp_path / "model.json")
    assert loaded.domain_.weights.tolist() == [2.5, 0.1]
    assert loaded.privacy_statement_.bounds_origin == "public data"


@pytest.mark.parametrize("scale", [None, "none"])
def test_values_for_missing_cells_come_back(scale: str | None, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"bmi": rng.normal(22, 1, 3000), "age": rng.normal(60, 5, 3000)})
    rows.loc[:900, "bmi"] = np.nan
    bmi: dict[str, Any] = {"type": "number", "lower": 12, "upper": 60, "missing": 24.5}
    model = PrivateKMeans(2, delta=1e-6, bounds={"bmi": bmi, "age": (0, 120)}, scale=scale)
    save(model.fit(rows), tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(content)
    assert [one.get("missing") for one in content["domain"]["columns"]] == [24.5, None]
    loaded = load(tmp_path / "model.json")
    assert loaded.model_.domain == model.model_.domain
    assert np.array_equal(loaded.predict(rows), model.predict(rows))
    assert np.array_equal(loaded.predict(rows), model.predict(rows.fillna(24.5)))
    assert to_json(loaded) == (tmp_path / "model.json").read_text()


def test_file_of_a_value_for_missing_cells_beyond_the_bounds_is_refused(tmp_path: Path) -> None:
    rows = pd.DataFrame({"bmi": np.full(900, 22.0)})
    bmi: dict[str, Any] = {"type": "number", "lower": 12, "upper": 60, "missing": 24.5}
    content = json.loads(to_json(PrivateKMeans(1, delta=1e-6, bounds={"bmi": bmi}).fit(rows)))
    for missing, cause in ((60.5, "must lie within its bounds"), (None, "not a"), ("24", "not a")):
        content["domain"]["columns"][0]["missing"] = missing
        (tmp_path / "model.json").write_text(json.dumps(content))
        with pytest.raises(ModelFileError, match=cause):
            load(tmp_path / "model.json")


def test_a_model_without_noise_says_that_it_is_not_private(tmp_path: Path) -> None:
    model = fitted(PrivateKMeans, {**NAMED, "epsilon": math.inf}, None)
    content = json.loads(to_json(model))
    assert content["private"] is content["statement"]["private"] is False
    assert content["parameters"]["epsilon"] is content["statement"]["epsilon"] is None
    save(model, tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.epsilon == loaded.privacy_statement_.epsilon == math.inf
    assert "NOT PRIVATE" in str(loaded.privacy_statement_)


def test_a_model_that_was_not_fitted_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="Fit an estimator first"):
        save(PrivateKMeans(), tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


@pytest.mark.parametrize("value", [[1.0], np.zeros(2), math.nan, math.inf, -math.inf, object()])
def test_parameter_that_no_file_can_hold_is_refused_when_saved(
    value: object, tmp_path: Path
) -> None:
    model = DPLloyd(1, delta=1e-6, radius=1.0).fit(np.zeros((50, 1))).model_
    odd = dataclasses.replace(model, parameters={**model.parameters, "warmth": value})
    with pytest.raises(ParameterError, match="warmth must be number"):
        save(odd, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


@pytest.mark.attack
def test_paid_model_is_not_overwritten_unless_requested(tmp_path: Path) -> None:
    model, there = (
        DPLloyd(1, delta=1e-6, radius=1.0).fit(np.zeros((50, 1))),
        tmp_path / "there.json",
    )
    there.write_text("paid for")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        save(model, there)
    assert there.read_text() == "paid for"
    save(model, there, overwrite=True)
    assert load(there).n_clusters == model.n_clusters


def test_missing_folder_is_named(tmp_path: Path) -> None:
    model = DPLloyd(1, delta=1e-6, radius=1.0).fit(np.zeros((50, 1)))
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nodir'\. Make it"):
        save(model, tmp_path / "nodir" / "model.json")


# What is in it -----------------------------------------------------------------------------------


def test_the_file_keeps_to_the_schema(file: Path) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(file.read_text(encoding="utf-8")))


def objects(schema: Any, where: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object" or "properties" in schema:
            yield where, schema
        for key, part in schema.items():
            yield from objects(part, f"{where}.{key}")
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part, where)


@pytest.mark.parametrize(
    ("where", "part"), list(objects(SCHEMA)), ids=lambda value: str(value)[:40]
)
def test_the_schema_is_a_list_of_all_that_may_leave(where: str, part: dict[str, Any]) -> None:
    if where == "$.properties.parameters":  # estimators differ in theirs
        kinds = [option["type"] for option in part["additionalProperties"]["anyOf"]]
        assert kinds == ["number", "string", "boolean", "null"]
        return
    assert part.get("additionalProperties") is False, where
    optional = {"decimal"} if where == "$" else DEFAULTS
    assert set(part["required"]) == set(part["properties"]) - optional, where


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def leaves(content: Any) -> Iterator[Any]:
    if isinstance(content, dict):
        content = [*content, *content.values()]
    if isinstance(content, list):
        for part in content:
            yield from leaves(part)
    else:
        yield content


def test_no_cell_count_path_time_or_host_is_in_it(model: Any, file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    content = json.loads(text)
    assert to_json(model) == text  # whenever it is written
    for name in ("uncommon", str(file.parent), "/", socket.gethostname()):
        assert name not in text
    assert not re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d", text)
    for random in ("name", "record"):  # which may hold any digits
        del content["statement"]["run"][random]
    words = " ".join(leaf for leaf in leaves(content) if isinstance(leaf, str))
    assert str(N_ROWS) not in words
    if content["parameters"]["epsilon"] is not None:  # without noise the count is exact
        found = {leaf for leaf in leaves(content) if isinstance(leaf, int | float)}
        assert not found & {CANARY, N_ROWS, N_ROWS * 2**26}
        assert repr(CANARY) not in text
