"""A wheel of the sources as they are now."""

from __future__ import annotations

import shutil
from pathlib import Path

from releasing.building import ROOT, as_somebody_else, build

PARTS = ("src", "pyproject.toml", "README.md", "LICENSE")


def built(folder: Path, umask: int) -> Path:
    """Build a wheel from a fresh copy of the sources, as somebody else would have it."""
    folder.mkdir()
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(
                ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy(ROOT / part, folder / part)
    as_somebody_else(folder, umask)
    (wheel,) = build(folder, "wheel", epoch=1577836800)
    return wheel
