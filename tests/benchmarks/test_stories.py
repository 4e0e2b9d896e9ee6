"""Stories on real tables run as printed; their tables lie where `PRIVCLUST_DATA` says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from helpers.pages import DOCS, run

DATA = Path(os.environ.get("PRIVCLUST_DATA", "../shared/data")).resolve()


@pytest.mark.parametrize(
    "page", sorted((DOCS / "stories").glob("*.md")), ids=lambda page: page.name
)
def test_a_story_runs_as_printed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PRIVCLUST_DATA", str(DATA))
    assert run(page).differences() == []
    assert (tmp_path / "report.html").stat().st_size > 50_000
