"""Bytes as a SQLite ledger: a declared error, or it works."""

from __future__ import annotations

from pathlib import Path

import atheris

from fuzz.ledgers import original, put, use
from fuzz.values import noise_seeds


def seeds() -> list[bytes]:
    """Return inputs to begin with."""
    return [b"", *noise_seeds(40)]


def attempt(data: bytes, folder: Path) -> None:
    """Overwrite some bytes of a ledger, or cut it, and use it."""
    source = atheris.FuzzedDataProvider(data)
    content = bytearray(original())
    for _ in range(source.ConsumeIntInRange(0, 6)):
        place = source.ConsumeIntInRange(0, len(content))
        some = source.ConsumeBytes(source.ConsumeIntInRange(1, 8))
        content[place : place + len(some)] = some
    if source.ConsumeIntInRange(0, 9) == 0:
        del content[source.ConsumeIntInRange(0, len(content)) :]
    use(put(bytes(content), folder))
