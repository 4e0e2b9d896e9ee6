"""Check what files hold against our own schemas, by the part of JSON Schema that these use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

_IS: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: (
        isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63
    ),
    "number": lambda value: (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max  # isfinite fails on integers above it
    ),
}


def fault(value: Any, schema: Mapping[str, Any], place: str = "the file") -> str | None:
    """Return what is wrong with a value, or None.

    Examples
    --------
    >>> fault({"k": "3"}, {"type": "object", "properties": {"k": {"type": "integer"}}})
    'k must be integer'
    """
    if "anyOf" in schema:
        faults = [fault(value, option, place) for option in schema["anyOf"]]
        return None if None in faults else faults[0]
    if "const" in schema and value != schema["const"]:
        return f"{place} must be {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} must be one of {', '.join(map(str, schema['enum']))}"
    kind = schema.get("type")
    if kind is not None and not _IS[kind](value):
        return f"{place} must be {kind}"
    if "minimum" in schema and value < schema["minimum"]:
        return f"{place} must be at least {schema['minimum']}"
    if isinstance(value, dict):
        return _fault_in_object(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        for item in value:
            found = fault(item, schema["items"], f"each of {place}")
            if found is not None:
                return found
    return None


def _fault_in_object(value: dict[str, Any], schema: Mapping[str, Any], place: str) -> str | None:
    properties = schema.get("properties", {})
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{place} lacks {missing[0]}"
    others = schema.get("additionalProperties", {})
    unknown = [name for name in value if name not in properties]
    if unknown and others is False:
        return f"{place} has something that it should not have"
    for name in unknown:
        found = fault(value[name], others, name)
        if found is not None:
            return found
    for name, inner in properties.items():
        if name in value:
            found = fault(value[name], inner, name)
            if found is not None:
                return found
    return None
