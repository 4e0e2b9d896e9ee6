"""Values against every part of the model file's schema; jsonschema is the referee.

Nothing may be raised. What our validator passes, the referee passes too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import atheris
from jsonschema import Draft202012Validator

from fuzz.values import noise_seeds, value_from
from privclust.models._json_schema import fault

SCHEMA = json.loads(files("privclust.models").joinpath("model.schema.json").read_text("utf-8"))


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a schema and all those within it."""
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    for part in [*inner, *([schema["items"]] if "items" in schema else [])]:
        yield from parts(part)


SCHEMAS = list(parts(SCHEMA))


def seeds() -> list[bytes]:
    """Return inputs to begin with."""
    return noise_seeds(40)


def attempt(data: bytes, folder: Path) -> None:
    """Check one value, made up to look like what the schema wants."""
    source = atheris.FuzzedDataProvider(data)
    schema = SCHEMAS[source.ConsumeIntInRange(0, len(SCHEMAS) - 1)]
    value = likely(schema, source)
    if fault(value, schema) is None:
        assert Draft202012Validator(schema).is_valid(value), (value, schema)


def likely(schema: dict[str, Any], data: atheris.FuzzedDataProvider) -> Any:
    """Return a value that has mostly the right form."""
    if data.ConsumeIntInRange(0, 19) == 0:
        return value_from(data)
    if "anyOf" in schema:
        options = schema["anyOf"]
        return likely(options[data.ConsumeIntInRange(0, len(options) - 1)], data)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][data.ConsumeIntInRange(0, len(schema["enum"]) - 1)]
    match schema.get("type"):
        case "object":
            return {name: likely(part, data) for name, part in schema["properties"].items()}
        case "array":
            count = data.ConsumeIntInRange(0, 2)
            return [likely(schema.get("items", {}), data) for _ in range(count)]
        case "string":
            return data.ConsumeUnicode(8)
        case "integer" | "number":
            return data.ConsumeInt(8)
        case _:
            return value_from(data)
