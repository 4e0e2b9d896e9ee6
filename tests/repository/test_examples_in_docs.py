"""The pages on post-processing and series run as printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "written"),
    [("postprocessing.md", ["tree.png"]), ("series.md", ["drift.png", "year.db"])],
)
def test_the_examples_run(
    page: str, written: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    names: dict[str, Any] = {}
    exec(compile(code, page, "exec"), names)
    for name in written:
        assert (tmp_path / name).exists()
    for figure in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text):
        assert (DOCS / figure).exists()
