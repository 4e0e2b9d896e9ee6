"""Environments with nothing in them but what a check puts there."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from releasing.building import ROOT, ReleaseError

HIDDEN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""Variables through which packages of the caller would come in."""
SECONDS = 600


@dataclass(frozen=True)
class Environment:
    """A virtual environment, made by uv.

    Attributes
    ----------
    folder : Path
        Where it is.
    python : str
        Version of Python, such as ``3.11``.
    """

    folder: Path
    python: str

    @property
    def programs(self) -> Path:
        """The folder of its commands."""
        return self.folder / "bin"

    def made(self) -> bool:
        """Make it, or return False if this machine does not have that Python."""
        words = ["uv", "venv", "--quiet", "--no-python-downloads", "--python", self.python]
        return subprocess.run([*words, str(self.folder)], capture_output=True).returncode == 0

    def install(self, *words: str) -> None:
        """Install into it, as ``uv pip install`` would."""
        into = ["uv", "pip", "install", "--quiet", "--python", str(self.programs / "python")]
        done = subprocess.run([*into, *words], capture_output=True, text=True)
        if done.returncode:
            raise ReleaseError(f"uv could not install {' '.join(words)}:\n{done.stderr}")

    def install_wheel(self, wheel: Path, *extras: str, oldest: bool = False) -> None:
        """Install the wheel, what it depends on, and extras: the newest of all, or the oldest."""
        if oldest:  # uv takes the oldest of what is listed, and a wheel would be all that is
            asked = [word for extra in extras for word in ("--extra", extra)]
            listed = ("-r", str(ROOT / "pyproject.toml"))
            self.install("--resolution", "lowest-direct", "--no-build", *listed, *asked)
            self.install("--no-deps", str(wheel))
        else:
            wanted = f"privclust[{','.join(extras)}]" if extras else "privclust"
            self.install(f"{wanted} @ {wheel.resolve().as_uri()}")

    def run(self, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run one of its commands, in its own folder unless told otherwise."""
        return subprocess.run(
            [str(self.programs / words[0]), *words[1:]],
            cwd=folder or self.folder,
            env={name: value for name, value in os.environ.items() if name not in HIDDEN},
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )

    def printed(self, *words: str, folder: Path | None = None) -> str:
        """Run one of its commands, which must succeed, and return what it printed."""
        done = self.run(*words, folder=folder)
        if done.returncode:
            told = f"{done.stdout}\n{done.stderr}"
            raise ReleaseError(f"{' '.join(words)} failed with Python {self.python}:\n{told}")
        return done.stdout
