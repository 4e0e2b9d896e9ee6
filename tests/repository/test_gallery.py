"""Scripts of the gallery run where only the wheel and what the gallery names are installed."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest
from helpers.wheels import built

from releasing.building import ROOT, USUAL

SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel with the extra that the first page of the gallery names."""
    folder = tmp_path_factory.mktemp("empty")
    assert "needs privclust with the extra ``report``, and no other file" in " ".join(
        (ROOT / "examples" / "gallery" / "GALLERY_HEADER.rst").read_text().split()
    )
    wheel = built(folder / "sources", USUAL)
    venv.create(folder / "environment", with_pip=True)
    python = folder / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", f"{wheel}[report]"], check=True)
    return python


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_download_runs_in_an_empty_environment(
    script: Path, python: Path, tmp_path: Path
) -> None:
    (tmp_path / script.name).write_bytes(script.read_bytes())
    done = subprocess.run(
        [python, "-I", script.name],
        cwd=tmp_path,
        env={"MPLBACKEND": "Agg", "HOME": str(tmp_path), "PATH": os.defpath},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
