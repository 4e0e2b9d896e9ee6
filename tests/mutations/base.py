"""What a planted bug is, and how it gets into a copy of this package."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutation:
    """One planted bug.

    Attributes
    ----------
    name : str
        What the bug is called.
    file : str
        Where it goes, below the package's folder.
    before, after : str
        The text it replaces, which must occur exactly once, and what it puts there.
    test : str
        The test that is meant to catch it, as pytest names it from the repository's folder: a file
        and a function, with parameters or without. It carries the mark ``attack``.
    """

    name: str
    file: str
    before: str
    after: str
    test: str


def plant(mutation: Mutation, package: Path, destination: Path) -> None:
    """Copy `package` below `destination` and put the bug into the copy."""
    copy = destination / package.name
    shutil.copytree(package, copy)  # with what is compiled, which saves a second of each trial
    source = copy / mutation.file
    for stale in (source.parent / "__pycache__").glob(f"{source.stem}.*"):
        stale.unlink()
    text = source.read_text()
    if text.count(mutation.before) != 1:
        raise ValueError(
            f"mutation {mutation.name!r}: its text occurs {text.count(mutation.before)} times in "
            f"{mutation.file}, expected once. Bring the catalogue up to date with the source."
        )
    source.write_text(text.replace(mutation.before, mutation.after))
