"""The first hour of an analyst in a real terminal of 80 x 24 characters, as tmux shows it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.command_line import assert_silent_about_cells, lay_out

COLUMNS, LINES = 80, 24
SECONDS = 30.0
"""How long a command may take on a machine that others use, too."""
FIT = "privclust fit visits.csv --bounds visits.toml -k 2 --delta 1e-6 --epsilon 8 -o model.json"
HOUR = (
    ("privclust bounds init visits.csv -o new.toml", 0, ("wrote new.toml.", "--out model.json")),
    ("privclust bounds check visits.toml visits.csv", 0, ("visits.toml is complete", "Next:")),
    ("privclust plan --rows 600 --columns 2 -k 2 --delta 1e-6", 0, ("protected: one row",)),
    (FIT, 0, ("cluster 1", "Quality: good.", "privclust report model.json -o report.html")),
    ("privclust show model.json", 0, ("cluster 0", "Quality: good.", "The protected unit is one")),
    ("privclust report model.json -o report.html", 0, ("wrote report.html; open report.html",)),
)
"""What is typed, exit codes, and what the screen shows then."""

Typed = Callable[[str], tuple[int, str]]


@pytest.fixture
def typed(tmp_path: Path) -> Iterator[Typed]:
    """A terminal with a socket of its own, of which nothing is left afterwards."""
    lay_out(tmp_path)
    tmux = ["tmux", "-S", str(tmp_path / "socket"), "-f", "/dev/null"]

    def run(*words: str) -> str:
        done = subprocess.run([*tmux, *words], capture_output=True, text=True, check=True)
        return done.stdout

    command = f'privclust() {{ {shlex.quote(sys.executable)} -m privclust "$@"; }}\n'
    (tmp_path / "shell").write_text(f"PS1='$ '\n{command}")
    shell = shlex.join(["bash", "--noprofile", "--rcfile", str(tmp_path / "shell")])
    size = ["-x", str(COLUMNS), "-y", str(LINES)]
    paths = ["-e", f"PYTHONPATH={os.pathsep.join(sys.path)}"]
    run("new-session", "-d", *size, *paths, "-c", str(tmp_path), shell)

    def typed(words: str) -> tuple[int, str]:
        code = tmp_path / "code"
        code.unlink(missing_ok=True)
        run("send-keys", "-l", f"clear; {words}; echo $? > code.new; mv code.new code")
        run("send-keys", "Enter")
        end = time.monotonic() + SECONDS
        while not code.exists():
            assert time.monotonic() < end, run("capture-pane", "-p")
            time.sleep(0.05)
        return int(code.read_text()), run("capture-pane", "-p")

    yield typed
    run("kill-server")


@pytest.mark.long  # test_terminal.py has the same hour without a screen
def test_first_hour_on_a_screen(typed: Typed) -> None:
    for words, expected, sentences in HOUR:
        code, screen = typed(words)
        lines = screen.splitlines()
        assert code == expected, screen
        assert len(lines) <= LINES
        assert max(map(len, lines)) <= COLUMNS
        shown = " ".join(screen.split())
        for sentence in sentences:
            assert sentence in shown, screen
        assert_silent_about_cells(shown)
