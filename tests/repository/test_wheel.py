"""A wheel built twice, at different times and places, is the same file."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

from helpers.wheels import built

import privclust
from releasing.building import OTHER, ROOT, USUAL, build

MOST_BYTES = 4_000_000
"""Of an sdist; measurements and their results alone would be as many."""


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
    assert {"privclust/models/model.schema.json", "privclust/py.typed"} < set(names)


def test_an_sdist_holds_what_builds_explains_and_tests_the_package(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for name in listed.stdout.rstrip("\0").split("\0"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (sdist,) = build(tmp_path, "sdist", epoch=1577836800)
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {name.split("/")[0] for name in names if "/" in name} == {
        *("constraints", "deploy", "docs", "examples", "src", "tests")
    }
    assert {"CITATION.cff", "LICENSE", "SECURITY.md", "PKG-INFO", "constraints/core.txt"} < names
    assert sdist.stat().st_size < MOST_BYTES


def test_the_version_is_written_once(tmp_path: Path) -> None:
    """Everything else that names it says the same; a version that has no day is not released."""
    version = privclust.__version__
    wheel = built(tmp_path / "one", USUAL)
    assert wheel.name.split("-")[1] == version
    citation = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {version}\n" in citation
    assert f"version = {{{version}}}" in (ROOT / "docs/reference/citing.md").read_text()
    readme = (ROOT / "README.md").read_text()
    assert f"Version {version}" in readme
    assert wheel.name in readme
    day = re.search(r'^date-released: "(.*)"$', citation, re.MULTILINE)
    assert (day is None) is (".dev" in version)
    heading = rf"^## {re.escape(version)} \({'unreleased' if day is None else day[1]}\)$"
    assert re.search(heading, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
