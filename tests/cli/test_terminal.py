"""At a real terminal lines end between words and commands to type stay whole."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import pytest
from helpers.command_line import assert_silent_about_cells, lay_out

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def typed(*words: str, columns: int) -> tuple[int, list[str]]:
    """Run a command at a terminal, and return its exit code and lines."""
    child, handle = pty.fork()
    if child == 0:
        os.environ.pop("COLUMNS", None)
        os.execv(sys.executable, [sys.executable, "-m", "privclust", *words])
    fcntl.ioctl(handle, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    text = b""
    while True:
        try:
            read = os.read(handle, 2**16)
        except OSError:  # so Linux says that the other end is closed
            break
        if not read:
            break
        text += read
    os.close(handle)
    _, status = os.waitpid(child, 0)
    shown = CONTROL.sub("", text.decode())
    return os.waitstatus_to_exitcode(status), shown.replace("\r", "").splitlines()


FIT = ("fit", "visits.csv", "--bounds", "visits.toml", "-k", "6", "--delta", "1e-6", "--epsilon")
HOUR = (
    (0, ("bounds", "init", "visits.csv", "-o", "new.toml"), "Then check it, and fit:"),
    (4, ("bounds", "check", "new.toml", "visits.csv"), "Not filled in: 'age' (lower, upper),"),
    (0, ("bounds", "check", "visits.toml", "visits.csv"), "no bounds name them: who, name."),
    (0, (*FIT, "8", "--max-clusters", "8", "-o", "model.json"), "all rows of one together."),
    (0, ("k-path", "model.json"), "A high one does not say that the fit is good."),
    (10, ("refit", "model.json", "-k", "2", "-o", "model.json", "--force"), "Name another"),
)
"""Exit codes, what is typed, and what is said."""


def test_first_hour_of_an_analyst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lay_out(tmp_path))
    for expected, words, sentence in HOUR:
        code, lines = typed(*words, columns=80)
        assert code == expected, lines
        assert sentence in " ".join(" ".join(lines).split())
        prose = [line for line in lines if "measuring" not in line and not line.startswith("    ")]
        assert max(map(len, prose)) <= 80
        assert_silent_about_cells(" ".join(lines))
