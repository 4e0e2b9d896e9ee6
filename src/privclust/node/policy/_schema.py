"""What the parts of a policy may say, as JSON Schema; what is not listed is refused."""

from __future__ import annotations

from typing import Any

from privclust.remote.request import ESTIMATORS

ALGORITHMS = ("RS256", "PS256", "ES256", "EdDSA")
"""Signatures with a public key. Others never get a key: no token is checked by them."""

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 1}
_NUMBER = {"type": "number"}


def _part(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


NODE = _part(
    "ledger head audit_log name_key",
    ledger=_TEXT,
    head=_TEXT,
    audit_log=_TEXT,
    name_key=_TEXT,
    lanes=_COUNT,
    tick=_COUNT,
    max_memory_gib=_NUMBER,
)
ISSUER = _part(
    "url audience keys",
    url=_TEXT,
    audience=_TEXT,
    keys=_TEXT,
    algorithms={"type": "array", "items": {"enum": ALGORITHMS}},
)
TABLE = _part(
    "files dataset bounds",
    files=_TEXTS,
    dataset=_TEXT,
    bounds=_TEXT,
    profile_bounds=_TEXT,
    unit=_TEXT,
    max_rows_per_unit=_COUNT,
    about_rows=_COUNT,
    seconds=_COUNT,
    estimators={"type": "array", "items": {"enum": ESTIMATORS}},
    description=_TEXT,
)
FEDERATION = _part(
    "table member identity secrets coordinators minimum epsilon epsilon_alone",
    table=_TEXT,
    member=_TEXT,
    identity=_TEXT,
    secrets=_TEXT,
    partners={"type": "object", "additionalProperties": _TEXT},
    coordinators=_TEXTS,
    minimum=_COUNT,
    colluding=_COUNT,
    epsilon=_NUMBER,
    epsilon_alone=_NUMBER,
    seconds=_COUNT,
    megabytes=_COUNT,
)
ANALYST = _part(
    "issuer subject tables epsilon work_per_day",
    issuer=_TEXT,
    subject=_TEXT,
    certificate=_TEXT,
    tables=_TEXTS,
    epsilon=_NUMBER,
    max_clusters=_COUNT,
    work_per_day=_NUMBER,
    max_queued=_COUNT,
)
