"""Workflows of the repository run what we run, with few rights, and only code whose hash is known.

That they are workflows at all is checked in `.ci/run`, by their schema.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WRITES = {
    ("docs.yml", "publish"): {"pages", "id-token"},
    ("release.yml", "publish"): {"id-token", "attestations"},
}
"""Jobs that may do more than read, and what."""


def workflow(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def test_there_are_workflows() -> None:
    assert [file.name for file in FILES] == ["checks.yml", "docs.yml", "release.yml"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_actions_are_pinned_by_a_hash_and_say_their_version(file: Path) -> None:
    used = [line for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert used
    for line in used:
        assert re.fullmatch(r" +(- )?uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_an_action_has_one_hash_everywhere() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in FILES)
    pinned = set(re.findall(r"uses: ([\w./-]+)@(\w+)", text))
    assert len({name for name, _ in pinned}) == len(pinned)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_jobs_may_only_read_unless_they_publish_and_all_end(file: Path) -> None:
    found = workflow(file)
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        writes = {scope for scope, right in job.get("permissions", {}).items() if right == "write"}
        assert writes == WRITES.get((file.name, name), set())
        assert job["timeout-minutes"] <= 90


def test_clones_keep_no_token() -> None:
    steps = [
        step for file in FILES for job in workflow(file)["jobs"].values() for step in job["steps"]
    ]
    clones = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert len(clones) == 4
    assert all(step["with"]["persist-credentials"] is False for step in clones)


def test_checks_are_ours_and_cover_the_versions_that_are_declared() -> None:
    jobs = workflow(ROOT / ".github" / "workflows" / "checks.yml")["jobs"]
    assert jobs["linux"]["steps"][-1]["run"] == "bash .ci/run"
    assert jobs["quick"]["steps"][-1]["run"] == "python -m nox --session quick"
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [
        text.rpartition(" ")[2]
        for text in declared["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", text)
    ]
    assert jobs["quick"]["strategy"]["matrix"]["python"] == versions


def test_files_that_quick_tests_name_are_there() -> None:
    listed = re.findall(r'"(tests/[\w./]+)"', (ROOT / "noxfile.py").read_text(encoding="utf-8"))
    assert len(listed) > 3
    assert all((ROOT / place).exists() for place in listed)


def test_release_is_refused_while_links_lead_nowhere() -> None:
    (steps,) = (
        job["steps"]
        for name, job in workflow(ROOT / ".github" / "workflows" / "release.yml")["jobs"].items()
        if name == "build"
    )
    refusal = next(step["run"] for step in steps if "example" in step.get("run", ""))
    assert r"grep -n 'example\.org' pyproject.toml" in refusal
