"""PrivateKMeans measuring a sample of few rows."""

from __future__ import annotations

import pytest

from privclust.algorithms import _private_kmeans_plan


def sample_beyond(monkeypatch: pytest.MonkeyPatch, n_rows: int) -> None:
    """Let tables of twice as many rows be sampled at the rate 1/2, and so on."""
    monkeypatch.setattr(_private_kmeans_plan, "SAMPLE_ROWS", n_rows)
    monkeypatch.setattr(_private_kmeans_plan, "SAMPLE_SIGNAL", 0.0)
