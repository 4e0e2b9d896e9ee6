"""Requests with faults, to a client of a federation: refused, or treated as any other."""

from __future__ import annotations

from pathlib import Path

import atheris

from fuzz.hostile import altered, check, requests
from fuzz.values import noise_seeds


def seeds() -> list[bytes]:
    """Return requests without a fault as they are, and others that make different choices."""
    return [*(b"\xff" + message for message in requests()), *noise_seeds(32)]


def attempt(data: bytes, folder: Path) -> None:
    """Send what the bytes say, or one of the known requests with something else in it."""
    if data[:1] == b"\xff":
        check(data[1:])
        return
    given = atheris.FuzzedDataProvider(data)
    message = requests()[given.ConsumeIntInRange(0, len(requests()) - 1)]
    check(altered(message, lambda choices: given.ConsumeIntInRange(0, choices - 1)))
