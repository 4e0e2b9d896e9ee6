"""Library, command line and ledger need no call that only POSIX has, and no default encoding.

Linux is the system that is tested here. What macOS and Windows lack or do otherwise is simulated as
far as it can be; the workflow of the repository runs these tests on both.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from privclust import Ledger
from privclust.privacy.ledger._file import writable_by_anyone

SESSION = ("-m", "helpers.portable_session")
SECONDS = 600
"""On a busy machine; alone it takes 20."""


def python(
    words: Sequence[str], folder: Path, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run Python with other settings, on what the tests import."""
    path = os.pathsep.join(os.path.abspath(place) for place in sys.path)
    variables = {"PYTHONPATH": path, "PRIVCLUST_KERNELS": "numpy", **variables}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        timeout=SECONDS,
    )


def test_everything_but_a_node_works_without_posix_and_default_encodings(tmp_path: Path) -> None:
    """Open files are not replaced, folders not opened, and each text file names its encoding."""
    simulated = ["posix"] if sys.platform == "linux" else []
    words = ("-X", "warn_default_encoding", *SESSION, "encoding", *simulated)
    done = python(words, tmp_path, PYTHONIOENCODING="cp1252")
    assert done.returncode == 0, done.stderr.decode("cp1252")[-3000:]
    assert b"28 commands" in done.stdout


def test_character_that_a_terminal_lacks_does_not_end_a_command(tmp_path: Path) -> None:
    label, encoding = "größe→m", "cp1252"
    budget = ("--epsilon", "1", "--delta", "1e-6")
    for words in (("create", "l.db", label, *budget), ("remaining", "l.db")):
        done = python(("-m", "privclust", "ledger", *words), tmp_path, PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr.decode()
        assert label.encode(encoding, errors="backslashreplace") in done.stdout


SPAWNED = """
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from privclust import Ledger, PrivateKMeans

def fit(seed):
    rows = np.random.default_rng(seed).uniform(0, 1, (500, 2))
    paid = {"epsilon": 0.5, "delta": 1e-6, "ledger": "l.db", "dataset": "t"}
    return PrivateKMeans(2, bounds=([0, 0], [1, 1]), **paid).fit(rows)

if __name__ == "__main__":
    Ledger.create("l.db", "t", epsilon=2.0, delta=1e-5)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        models = list(pool.map(fit, range(2)))
    print(len({model.privacy_statement_.run.name for model in models}))
"""


def test_processes_that_are_spawned_share_a_ledger_and_return_models(tmp_path: Path) -> None:
    (tmp_path / "spawned.py").write_text(SPAWNED, encoding="utf-8")
    done = python(["spawned.py"], tmp_path)
    assert done.stdout.split() == [b"2"], done.stderr.decode(errors="replace")[-3000:]
    runs = Ledger.open(str(tmp_path / "l.db")).runs("t")
    assert [run.state for run in runs] == ["finished", "finished"]


def test_files_without_modes_are_not_found_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "ledger.db"
    file.touch()
    file.chmod(0o666)
    place = str(file)
    if os.name == "posix":
        assert len(writable_by_anyone(place)) == 1
    monkeypatch.setattr(os, "name", "nt")
    assert writable_by_anyone(place) == []
