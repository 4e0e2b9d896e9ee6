"""The page about profiles shows code that runs and a file that declares what it says."""

from __future__ import annotations

import contextlib
import io
import re
import tomllib
from pathlib import Path
from typing import Any

from privclust.bounds import declared_columns

PAGE = Path(__file__).parents[2] / "docs" / "profiles.md"


def parts(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    """Numbers are rounded so far that noise of 20 standard deviations would not show."""
    output = io.StringIO()
    names: dict[str, Any] = {}
    (code,) = parts("python")
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(PAGE), "exec"), names)
    assert [output.getvalue()] == parts("text")
    (declared,) = parts("toml")
    assert tomllib.loads(declared)["bounds_origin"] == "domain knowledge"
    (tmp_path / "profile.toml").write_text(declared)
    columns, _ = declared_columns(tmp_path / "profile.toml", ["income", "ward"])
    assert columns == tuple(one.column for one in names["profile"].columns)
