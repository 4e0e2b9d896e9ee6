"""Other people's code runs apart from ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks import third_party
from benchmarks.data import Dataset

WORKER = """
import csv, pickle, sys
rows, *_ = pickle.load(sys.stdin.buffer)
pickle.dump(rows + 1, sys.stdout.buffer)
sys.stdout.buffer.flush()
"""


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    third_party._worker.cache_clear()
    yield
    third_party._worker.cache_clear()


def test_files_beside_the_worker_do_not_hide_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`benchmarks/csv.py` hid the standard library's, so that diffprivlib did not import."""
    (tmp_path / "csv.py").write_text("raise ImportError('not the standard library')")
    (tmp_path / "worker.py").write_text(WORKER)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(third_party, "WORKER", tmp_path / "worker.py")
    monkeypatch.setattr(third_party, "prepare", lambda: Path(sys.executable))
    data = Dataset("one", np.zeros((2, 1)), 1, 1.0)
    assert (third_party.diffprivlib(data, 1.0, 0) == 1).all()
