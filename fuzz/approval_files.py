"""Approval and signature files with faults: refused as that, or read and written alike."""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import atheris

from fuzz.values import edit, noise_seeds
from privclust.errors import ModelFileError
from privclust.models.approval.approval_file import Approval, read_approval
from privclust.models.approval.ledger_total import LedgerTotal
from privclust.models.approval.signature import Signature, SignedFile, read_signature
from privclust.privacy.accounting import Budget, gaussian_spend

HASH = "ab" * 32


@cache
def originals() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an approval and a signature without a fault."""
    cost = gaussian_spend(2**46, l0=1)
    total = LedgerTotal("visits", "row", HASH, 2, 1, cost, Budget(4.0, 1e-6), True)
    people: dict[str, Any] = {
        "requested_by": "A. Ito",
        "approved_by": "B. Sow",
        "date": "2026-11-17",
    }
    approval = Approval("visits", "staffing", **people, model=HASH, profiles=(HASH,), ledger=total)
    signature = Signature((SignedFile("model", "model.json", HASH),), HASH, "cd" * 64)
    return json.loads(approval.to_json()), json.loads(signature.to_json())


def seeds() -> list[bytes]:
    """Return inputs to begin with."""
    return [b"", *noise_seeds(40)]


def attempt(data: bytes, folder: Path) -> None:
    """Change a file at some places, read it, and write what was read."""
    source = atheris.FuzzedDataProvider(data)
    which = source.ConsumeIntInRange(0, 1)
    content = deepcopy(originals()[which])
    for _ in range(source.ConsumeIntInRange(0, 3)):
        edit(content, source)
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    file = folder / "approval.json"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        (_use_approval if which == 0 else _use_signature)(file)
    except ModelFileError as refused:
        message = str(refused)
    else:
        return
    assert len(message) < 500


def _use_approval(file: Path) -> None:
    approval = read_approval(file)
    assert approval.to_json().encode()
    if approval.ledger is not None:
        assert " ".join(approval.ledger.sentences).encode()


def _use_signature(file: Path) -> None:
    assert read_signature(file).to_json() == file.read_text(encoding="utf-8")
