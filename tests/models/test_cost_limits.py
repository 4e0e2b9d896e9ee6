"""Limits of computing and memory: of a block, of the process, and refusals of what is neither."""

from __future__ import annotations

from typing import Any

import pytest

from privclust import limits
from privclust.errors import ParameterError
from privclust.models.cost_limits import MEMORY_VARIABLE, MINUTES_VARIABLE, Limits, current_limits


def test_limits_are_those_of_the_block_then_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert current_limits() == Limits() == Limits(8 * 2**30, 10.0)
    monkeypatch.setenv(MEMORY_VARIABLE, "16g")
    monkeypatch.setenv(MINUTES_VARIABLE, "30")
    assert current_limits() == Limits(16 * 2**30, 30.0)
    with limits(memory="500 MB"):
        assert current_limits() == Limits(500 * 2**20, 30.0)
        with limits(minutes=1, memory=2**40):
            assert current_limits() == Limits(2**40, 1.0)
        assert current_limits() == Limits(500 * 2**20, 30.0)
    assert current_limits() == Limits(16 * 2**30, 30.0)


@pytest.mark.parametrize("memory", ["much", "", "-1", "1 EiB", True, "1e400"])
def test_amount_of_memory_that_cannot_be_read_is_refused(memory: Any) -> None:
    with pytest.raises(ParameterError, match="amount of memory such as"), limits(memory=memory):
        pass


@pytest.mark.parametrize("minutes", ["soon", 0, -1, float("nan"), True])
def test_minutes_that_cannot_be_are_refused(minutes: Any) -> None:
    with (
        pytest.raises(ParameterError, match="minutes above 0, such as 60"),
        limits(minutes=minutes),
    ):
        pass


def test_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MINUTES_VARIABLE, "long")
    with pytest.raises(ParameterError, match=MINUTES_VARIABLE):
        current_limits()
