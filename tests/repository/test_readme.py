"""The README's example runs as printed."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from privclust import forecast
from privclust.cli import app

README = Path(__file__).parents[2] / "README.md"


def numbers_in(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d*", text)]


def test_the_example_prints_what_it_says() -> None:
    """Noise is real: over 60 fits centres had standard deviations up to 0.15, sizes of 30.

    The tolerances leave thirteen of these: far below 1e-6, if normal.
    """
    text = README.read_text()
    code, printed = re.findall(r"```(?:python|text)\n(.*?)```", text, flags=re.DOTALL)[:2]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, str(README), "exec"), {})
    expected, found = numbers_in(printed), numbers_in(output.getvalue())
    assert len(found) == len(expected) == 8
    np.testing.assert_allclose(found[:4], expected[:4], atol=2.0)
    np.testing.assert_allclose(found[4:6], expected[4:6], atol=800.0)
    assert found[6:] == expected[6:]


def test_rows_needed_are_those_of_forecast_and_warning() -> None:
    said = re.search(
        r"about (\d+) in each cluster with 4 columns, (\d+) with 16, (\d+) with 128",
        README.read_text(),
    )
    assert said
    needed = [forecast(10**6, d, delta=1e-6).smallest for d in (4, 16, 128)]
    assert [float(number) for number in said.groups()] == [float(f"{n:.2g}") for n in needed]


def test_the_example_has_ten_lines() -> None:
    code = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_own_estimator_passes_the_audit_and_is_fitted_saved_and_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, estimator, use = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "my_kmeans.py").write_text(estimator)
    done = CliRunner().invoke(app, ["audit", "my_kmeans.py:MyKMeans", "--fits", "50"])
    assert done.exit_code == 0, done.output
    names: dict[str, Any] = {}
    exec(compile(use, str(README), "exec"), names)
    assert capsys.readouterr().out.startswith("MyKMeans, 3 clusters, 2 columns.")
    assert type(names["again"]) is names["MyKMeans"]
    assert names["again"].candidates == 40
