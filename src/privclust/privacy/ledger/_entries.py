"""What each kind of entry says: the form its body must have, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privclust.models._json_schema import fault
from privclust.privacy.ledger.journal import Entry, EntryError


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_FROM_ZERO = {"type": "number", "minimum": 0}
_QUANTA = {"type": "integer", "minimum": 0}
_SPEND = _object(
    quanta=_QUANTA,
    slack=_FROM_ZERO,
    tail=_FROM_ZERO,
    pure={"anyOf": [_QUANTA, {"type": "null"}]},
)
_SPEND["additionalProperties"] = False
FORMS: Mapping[str, dict[str, Any]] = {
    "ledger": _object(format={"type": "integer"}, name=_TEXT),
    "dataset": _object(
        epsilon=_NUMBER, delta=_NUMBER, unit=_TEXT, source=_TEXT, capacity=_SPEND, pure=_SPEND
    ),
    "lower": _object(
        epsilon=_NUMBER, delta=_NUMBER, closed={"type": "boolean"}, capacity=_SPEND, pure=_SPEND
    ),
    "reserve": _object(spend=_SPEND, facts={"type": "object"}),
    "claim": _object(spend=_SPEND, fingerprint=_TEXT),
    "result": _object(
        values={"type": "array", "items": {"type": "integer"}}, scale=_NUMBER, noise=_TEXT
    ),
    "close": _object(finished={"type": "boolean"}),
}


def body_of(entry: Entry) -> Mapping[str, Any]:
    """Return what an entry says, or refuse one that does not say what its kind should.

    Examples
    --------
    >>> body_of(Entry("claim", body={"fingerprint": ""}))
    Traceback (most recent call last):
    privclust.privacy.ledger.journal.EntryError: an entry of the ledger ... lacks spend...
    """
    where = f"an entry of the ledger (kind {entry.kind!r}, run {entry.run!r}, slot {entry.slot!r})"
    names = (entry.kind, entry.label, entry.run, entry.slot)
    wrong = f"{where} is of no known kind"
    if all(isinstance(name, str) for name in names) and entry.kind in FORMS:
        wrong = fault(entry.body, FORMS[entry.kind], where) or ""
    if wrong:
        raise EntryError(
            f"{wrong}: it was not written by this library. 'privclust ledger verify' tells more; "
            "put back a copy, or make a new ledger for what is left of the budget."
        )
    return entry.body
