"""The explanations run as printed, and print what they show."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "explanations"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


@pytest.mark.parametrize("page", sorted(path.name for path in PAGES.glob("*.md")))
def test_a_page_prints_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for code, shown in BLOCK.findall((PAGES / page).read_text()):
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        assert shown in ("", printed.getvalue())
