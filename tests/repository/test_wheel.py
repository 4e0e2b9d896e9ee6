"""A wheel built twice, at different times and places, is the same file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
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
    for file in folder.rglob("*"):
        os.utime(file, (umask, umask))
        file.chmod(0o777 & ~umask)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")],
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1577836800"},
        check=True,
        capture_output=True,
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def test_two_builds_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    first, second = (
        built(tmp_path / name, umask) for name, umask in (("first", 0o022), ("second", 0o027))
    )
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_a_wheel_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    with zipfile.ZipFile(built(tmp_path / "one", 0o022)) as wheel:
        tops = {name.split("/")[0].rpartition(".")[2] for name in wheel.namelist()}
        names = wheel.namelist()
    assert tops == {"privclust", "dist-info"}
    assert {"privclust/model.schema.json", "privclust/py.typed"} < set(names)
