"""The tutorial on federations runs as printed, in one process."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[2] / "docs" / "federated.md"


@pytest.mark.filterwarnings("ignore:.*will hardly be found")
def test_the_steps_in_one_process_run_as_printed() -> None:
    """Centres are rounded to tens, far from where noise could move them to another ten."""
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
    app = TUTORIAL.parents[1] / "examples" / "federation"
    assert "`examples/federation`" in TUTORIAL.read_text()
    for name in ("pyproject.toml", "consortium/client.py", "consortium/server.py"):
        assert (app / name).exists()
