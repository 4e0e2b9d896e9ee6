"""Bars in terminals and notebooks: shown where somebody looks, off by one setting."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from privclust import PrivateKMeans
from privclust.estimators import _progress
from privclust.privacy.progress import watching

SCRIPT = """
import sys
import numpy as np
from privclust import Ledger, PrivateKMeans
place = sys.argv[1]
Ledger.create(place, "clinic", epsilon=4.0, delta=1e-6)
rows = np.random.default_rng(0).random((500, 2))
for _ in range(2):
    PrivateKMeans(
        2, epsilon=1.0, delta=1e-6, bounds=(0, 1), ledger=place, dataset="clinic"
    ).fit(rows)
"""


def at_a_terminal(place: Path, **environment: str) -> str:
    """Return what a program that fits twice writes to standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(place)]
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "120", **environment}
    with subprocess.Popen(command, stderr=theirs, env=environ) as running:
        os.close(theirs)
        written = b""
        while True:
            try:
                part = os.read(ours, 2**16)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
    os.close(ours)
    assert running.returncode == 0, written
    return written.decode()


def test_terminal_has_a_bar_and_the_second_fit_says_what_is_left(tmp_path: Path) -> None:
    written = at_a_terminal(tmp_path / "budget.db")
    assert "measuring locate 1" in written
    assert "of about" in written
    assert written.count("Data set 'clinic' has epsilon") == 1
    assert "left for one more run, of 4 in all, at delta 1e-06." in written


def test_one_setting_turns_it_off(tmp_path: Path) -> None:
    assert at_a_terminal(tmp_path / "budget.db", PRIVCLUST_PROGRESS="off") == ""


def test_log_has_no_trace_of_it(capfd: pytest.CaptureFixture[str]) -> None:
    with _progress.showing_progress():
        assert not _progress.should_show_progress()
    assert capfd.readouterr() == ("", "")


def test_whoever_watches_a_fit_sees_no_other_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "in_notebook", lambda: pytest.fail("it looked for a notebook"))
    with watching(lambda step: None), _progress.showing_progress():
        assert not _progress.should_show_progress()


def test_a_bar_that_fails_ends_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def update(self, shown: object) -> None:
            raise RuntimeError

    monkeypatch.setattr("IPython.display.display", lambda *given, **named: Broken())
    with _progress.notebook_bar():
        model = PrivateKMeans(1, delta=1e-6, radius=1.0, max_clusters=2).fit(np.zeros((100, 1)))
    assert len(model.cluster_centers_) == 1
