"""Which kernels run: compiled ones if they can be had, and never by accident."""

from __future__ import annotations

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
