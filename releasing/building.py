"""Build the sdist and the wheel, and see that anybody would get the same bytes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
USUAL, OTHER = 0o022, 0o027
"""Two people's umasks; a file's rights must not reach the archives."""


class ReleaseError(Exception):
    """Something that must not be released, and why."""


def build(folder: Path, *targets: str, epoch: int) -> list[Path]:
    """Build `targets`, ``sdist`` or ``wheel``, from the sources in `folder`."""
    kinds = [word for target in targets for word in ("-t", target)]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *kinds, "-d", str(folder / "dist")],
        cwd=folder,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
        check=True,
        capture_output=True,
    )
    return sorted((folder / "dist").iterdir())


def as_somebody_else(folder: Path, umask: int) -> None:
    """Give files the times and rights that they would have on another machine."""
    for file in folder.rglob("*"):
        os.utime(file, (umask, umask))
        file.chmod(0o777 & ~umask)


def checked_out(folder: Path) -> int:
    """Write the files of the last commit to `folder` and return the commit's time."""
    if _git("status", "--porcelain"):
        raise ReleaseError(
            "there are changes that no commit holds, so nobody could build the same again. "
            "Commit or stash them."
        )
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    _git("archive", "--output", str(archive), "HEAD")
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return int(_git("show", "--no-patch", "--format=%ct", "HEAD"))


def build_twice(folder: Path) -> list[Path]:
    """Build from two checkouts and once more from the sdist; return files that are all the same."""
    built = []
    for name, umask in (("first", USUAL), ("second", OTHER)):
        epoch = checked_out(folder / name)
        as_somebody_else(folder / name, umask)
        built.append(build(folder / name, "sdist", "wheel", epoch=epoch))
    sdist, wheel = sorted(built[0], key=lambda file: file.suffix == ".whl")
    with tarfile.open(sdist) as files:
        files.extractall(folder / "unpacked", filter="data")
    (sources,) = (folder / "unpacked").iterdir()
    again = build(sources, "wheel", epoch=epoch)
    for one, other in zip([*built[0], wheel], [*built[1], *again], strict=True):
        if one.read_bytes() != other.read_bytes():
            raise ReleaseError(f"{one} and {other} differ. Compare them with diffoscope.")
    return [sdist, wheel]


def put(files: list[Path], folder: Path) -> list[Path]:
    """Copy files to a folder that holds nothing else afterwards."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return [Path(shutil.copy(file, folder)) for file in files]


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()
