"""The checks of a release refuse what they should."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from releasing import building, core, oldest
from releasing.building import ROOT, ReleaseError
from releasing.environments import Environment

PINNED = re.findall(r"^([\w.-]+)==", (ROOT / "constraints/core.txt").read_text(), re.MULTILINE)


@dataclass(frozen=True)
class Answering(Environment):
    """An environment in which every command prints the same and fails with the same code."""

    text: str = ""
    code: int = 0

    def run(self, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, self.code, self.text, self.text)


def answering(text: str, code: int = 0) -> Answering:
    return Answering(Path("nowhere"), "3.11", text, code)


def test_a_package_nobody_argued_for_is_refused() -> None:
    core.nothing_else_installed(answering(json.dumps([*PINNED, "privclust"])))
    installed = json.dumps(sorted({*PINNED, "leftpad"} - {"numpy"}))
    with pytest.raises(ReleaseError, match=r"\['leftpad'\] more and \['numpy'\] less"):
        core.nothing_else_installed(answering(installed))


def test_a_slow_import_is_refused() -> None:
    core.imports_fast(answering("0.49"))
    with pytest.raises(ReleaseError, match=r"0\.51 CPU seconds, allowed are 0\.5"):
        core.imports_fast(answering("0.51"))


def test_an_example_that_fails_or_prints_nothing_is_refused() -> None:
    with pytest.raises(ReleaseError, match="printed nothing"):
        core.readme_runs(answering(""))
    with pytest.raises(ReleaseError, match=r"failed with Python 3\.11"):
        core.readme_runs(answering("a cause", 1))


@pytest.mark.parametrize(("text", "code"), [("Usage", 0), ("ModuleNotFoundError", 13)])
def test_a_command_that_hides_its_extra_is_refused(text: str, code: int) -> None:
    core.command_names_its_extra(answering('pip install ".[cli]"', 13))
    with pytest.raises(ReleaseError, match="without its extra"):
        core.command_names_its_extra(answering(text, code))


def test_changes_that_no_commit_holds_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "new.py").touch()
    monkeypatch.setattr(building, "ROOT", tmp_path)
    with pytest.raises(ReleaseError, match="Commit or stash"):
        building.checked_out(tmp_path / "copy")


def test_tests_of_the_oldest_versions_are_there() -> None:
    assert all((ROOT / place).exists() for place in oldest.TESTS)
