"""Questions with faults, to a client of a federation: refused, or answered as any other."""

from __future__ import annotations

from pathlib import Path

import atheris

from fuzz.hostile import altered, check, questions
from fuzz.values import noise_seeds


def seeds() -> list[bytes]:
    """Return questions without a fault as they are, and others that make different choices."""
    return [*(b"\xff" + message for message in questions()), *noise_seeds(32)]


def attempt(data: bytes, folder: Path) -> None:
    """Ask what the bytes say, or one of the known questions with something else in it."""
    if data[:1] == b"\xff":
        check(data[1:])
        return
    given = atheris.FuzzedDataProvider(data)
    message = questions()[given.ConsumeIntInRange(0, len(questions()) - 1)]
    check(altered(message, lambda choices: given.ConsumeIntInRange(0, choices - 1)))
