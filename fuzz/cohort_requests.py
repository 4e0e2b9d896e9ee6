"""Requests with faults, to a node of a federation: refused, or replied as any other."""

from __future__ import annotations

from pathlib import Path

import atheris

from fuzz.hostile import altered
from fuzz.hostile_requests import check, sum_requests
from fuzz.values import noise_seeds


def seeds() -> list[bytes]:
    """Return requests without a fault as they are, and others that make different choices."""
    known = [bytes([255, number]) + message for number, (_, message) in enumerate(sum_requests())]
    return [*known, *noise_seeds(32)]


def attempt(data: bytes, folder: Path) -> None:
    """Put what the bytes say, or one of the known requests with something else in it."""
    if data[:1] == b"\xff":
        agreement, _ = sum_requests()[data[1] % len(sum_requests()) if data[1:] else 0]
        check(agreement, data[2:])
        return
    given = atheris.FuzzedDataProvider(data)
    agreement, message = sum_requests()[given.ConsumeIntInRange(0, len(sum_requests()) - 1)]
    check(agreement, altered(message, lambda choices: given.ConsumeIntInRange(0, choices - 1)))
