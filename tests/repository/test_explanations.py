"""Explanations and reference pages run as printed, print what they show, name what is there."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(f"docs/explanations/{path.name}" for path in (ROOT / "docs/explanations").glob("*.md")),
    *(f"docs/reference/{name}.md" for name in ("errors", "migrating", "queries")),
]
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code, shown in BLOCK.findall((ROOT / page).read_text()):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        assert shown in ("", printed.getvalue())


@pytest.mark.parametrize("page", PAGES)
def test_files_that_a_page_names_are_there(page: str) -> None:
    named = re.findall(r"`((?:docs|examples|src|tests)/[^`:]+)", (ROOT / page).read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []
