"""Environments of their own, for other people's code that does not go with ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

PLACE = Path(__file__).parent.parent / ".third-party"


def python_with(requirements: Iterable[str], name: str) -> Path:
    """Return the Python of the environment `name`, made anew unless it has the requirements."""
    folder = PLACE / name
    python = folder / "bin" / "python"
    wanted, installed = "\n".join(requirements), folder / "installed"
    # Written last, so that an installation that was stopped is not taken for a whole one.
    if not installed.exists() or installed.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted.split("\n")], check=True)
        installed.write_text(wanted)
    return python
