"""A wheel built twice, at different times and places, is the same file."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from releasing.building import OTHER, ROOT, USUAL, as_somebody_else, build

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


def test_two_builds_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    first, second = (
        built(tmp_path / name, umask) for name, umask in (("first", USUAL), ("second", OTHER))
    )
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_a_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(built(tmp_path / "one", USUAL)) as wheel:
        tops = {name.split("/")[0].rpartition(".")[2] for name in wheel.namelist()}
        names = wheel.namelist()
    assert tops == {"privclust", "dist-info"}
    assert {"privclust/model.schema.json", "privclust/py.typed"} < set(names)
