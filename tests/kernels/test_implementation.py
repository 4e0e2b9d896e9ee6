"""Which kernels run: compiled ones if they can be had, and never by accident."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers.kernels import kernels

from privclust.kernels.implementation import VARIABLE, compiled_loops


def test_compiled_loops_run_unless_they_are_kept_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    compiled_loops.cache_clear()
    found = compiled_loops()
    assert found is not None
    assert found.__name__ == "privclust.kernels.compiled"
    with kernels("numpy"):
        assert compiled_loops() is None


def test_without_numba_numpy_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "privclust.kernels.compiled", raising=False)
    compiled_loops.cache_clear()
    assert compiled_loops() is None
    monkeypatch.undo()
    compiled_loops.cache_clear()


def test_where_nothing_can_be_kept_numpy_does_all() -> None:
    """Numba refuses to cache where it may write nowhere; a fit must not fail for that."""
    code = (
        "import numba.core.caching as caching\n"
        "caching.CodeLibraryCacheImpl._locator_classes = []\n"
        "caching.CompileResultCacheImpl._locator_classes = []\n"
        "from privclust.kernels.implementation import compiled_loops\n"
        "print(compiled_loops())\n"
    )
    environment = {**os.environ, VARIABLE: "compiled"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "None\n"
