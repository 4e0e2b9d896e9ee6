"""The page on bounds: its file is one, and its example prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from privclust.testing import SeededNoise, noise_from

PAGE = Path(__file__).parents[2] / "docs" / "bounds.md"


def test_the_example_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    (file,) = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    Path("patients.bounds.toml").write_text(file)
    _, example = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), noise_from(SeededNoise(0)):
        exec(compile(example, str(PAGE), "exec"), {})
    names, *shares = output.getvalue().splitlines()
    expected_names, *expected_shares = printed.splitlines()
    assert names == expected_names
    assert sorted(line.strip("[] ") for line in shares) == sorted(
        line.strip("[] ") for line in expected_shares
    )
