"""Our reading of JSON Schema is that of the library made for it, on our own schema."""

from __future__ import annotations

import json
from copy import deepcopy
from importlib.resources import files
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privclust import PEMeans
from privclust.models._json_schema import fault
from privclust.models.model_file import to_json
from privclust.privacy.ledger._entries import FORMS
from privclust.testing import SeededNoise, noise_from

SCHEMA = json.loads(files("privclust.models").joinpath("model.schema.json").read_text())
LIBRARY = jsonschema.Draft202012Validator(SCHEMA)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x.is_integer())
    | st.sampled_from(["", "age", "gaussian", "PEMeans"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    with noise_from(SeededNoise(0)):
        model = PEMeans(1, delta=1e-6, bounds=(-1, 1), random_state=0).fit(np.zeros((300, 1)))
    content: dict[str, Any] = json.loads(to_json(model))
    for part in content["releases"]:
        del part["result"][3:]
    content["releases"] = content["releases"][:1]
    return content


def parts(content: Any) -> list[tuple[Any, Any]]:
    """Return every place of a content as what it lies in and its key."""
    keys = list(content) if isinstance(content, dict) else range(len(content))
    found: list[tuple[Any, Any]] = [(content, key) for key in keys]
    for key in keys:
        if isinstance(content[key], dict | list):
            found += parts(content[key])
    return found


def test_a_model_is_without_fault(good: dict[str, Any]) -> None:
    assert fault(good, SCHEMA) is None
    LIBRARY.validate(good)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_faults_are_those_that_the_library_finds(good: dict[str, Any], data: Any) -> None:
    content = deepcopy(good)
    holder, key = data.draw(st.sampled_from(parts(content)))
    change = data.draw(st.sampled_from(["replace", "delete", "add"]))
    if change == "replace":
        holder[key] = data.draw(VALUES)
    elif change == "delete":
        del holder[key]
    elif isinstance(holder, dict):
        holder["more"] = data.draw(VALUES)
    else:
        holder.append(data.draw(VALUES))
    assert (fault(content, SCHEMA) is None) == LIBRARY.is_valid(content)


@pytest.mark.parametrize("schema", [SCHEMA, *FORMS.values()])
def test_our_schemas_say_nothing_that_would_not_be_checked(schema: dict[str, Any]) -> None:
    def words(schema: Any) -> set[str]:
        inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", [])]
        inner += [schema["items"]] if "items" in schema else []
        inner += [schema["additionalProperties"]] if schema.get("additionalProperties") else []
        return set(schema).union(*map(words, inner))

    assert words(schema) <= {
        *("$schema", "title", "description", "type", "const", "enum", "minimum"),
        *("anyOf", "properties", "required", "additionalProperties", "items"),
    }


@pytest.mark.parametrize(
    ("value", "kind", "right"),
    [
        (True, "integer", False),
        (True, "number", False),
        (1.0, "integer", False),
        (1, "number", True),
        (2**63, "integer", False),
        (float("inf"), "number", False),
        (float("nan"), "number", False),
        ("1", "number", False),
        (None, "string", False),
    ],
)
def test_numbers_are_what_arrays_can_hold(value: object, kind: str, right: bool) -> None:
    assert (fault(value, {"type": kind}) is None) is right


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan")])
def test_a_number_that_no_float_can_hold_is_none(value: float) -> None:
    assert fault(value, {"type": "number"}) == "the file must be number"
