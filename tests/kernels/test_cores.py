"""How many cores there are: those that this process may use."""

from __future__ import annotations

import os

import pytest

from privclust.kernels.cores import available_cores


def test_cores_that_are_not_ours_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert available_cores() == 1


def test_where_nobody_tells_all_cores_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert available_cores() == 8
