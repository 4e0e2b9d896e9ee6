"""The tutorial on federations runs as printed, in one process."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "federated.md"
APP = TUTORIAL.parents[1] / "examples" / "federation"


@pytest.mark.filterwarnings("ignore:.*will hardly be found")
def test_the_steps_in_one_process_run_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Centres are rounded to tens, far from where noise could move them to another ten."""
    shutil.copytree(APP, tmp_path / APP.name)
    monkeypatch.chdir(tmp_path)
    text = TUTORIAL.read_text()
    output = io.StringIO()
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(output):
        for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            exec(compile(code, str(TUTORIAL), "exec"), names)
    printed = re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(printed) == 1
    assert output.getvalue().startswith(printed[0])
    assert "(3 of 3 clients or more answered each question)" in output.getvalue()


def test_the_app_is_the_one_that_the_tutorial_names() -> None:
    text = TUTORIAL.read_text()
    assert "cp -r examples/federation ." in text
    for name in ("pyproject.toml", "bounds.toml", "consortium/client.py", "consortium/server.py"):
        assert (APP / name).exists()


def test_the_tutorial_needs_nothing_that_its_install_does_not_bring() -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), flags=re.DOTALL))
    imported = set(re.findall(r"^(?:import|from) (\w+)", code, flags=re.MULTILINE))
    assert imported == {"numpy", "pyarrow", "privclust"}
