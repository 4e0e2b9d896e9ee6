"""Reference pages print what they show; all pages of ours name files that are there."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RUN = ("docs/reference/errors.md", "docs/reference/migrating.md")
READ = sorted(
    str(path.relative_to(ROOT))
    for folder in ("explanations", "project", "reference")
    for path in (ROOT / "docs" / folder).glob("*.md")
)
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", RUN)
def test_a_page_prints_what_it_shows(page: str) -> None:
    names: dict[str, Any] = {}
    for code, shown in BLOCK.findall((ROOT / page).read_text()):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        assert shown in ("", printed.getvalue())


@pytest.mark.parametrize("page", READ)
def test_files_that_a_page_names_are_there(page: str) -> None:
    named = re.findall(r"`((?:docs|examples|src|tests)/[^`:]+)", (ROOT / page).read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []
