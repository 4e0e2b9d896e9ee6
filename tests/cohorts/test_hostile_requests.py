"""Requests that a hostile coordinator may put: refused, or replied as any other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.hostile import altered
from fuzz.hostile_requests import check, sum_requests


@settings(deadline=None, derandomize=True, database=None, max_examples=120)
@given(st.integers(0, len(sum_requests()) - 1), st.lists(st.integers(0, 2**16), max_size=24))
def test_hostile_request_is_refused_or_counts_each_row_alone(
    number: int, choices: list[int]
) -> None:
    remaining = iter(choices)
    agreement, message = sum_requests()[number]
    check(agreement, altered(message, lambda most: next(remaining, 0) % most))


@pytest.mark.parametrize("number", range(len(sum_requests())))
def test_honest_request_gets_a_reply(number: int) -> None:
    assert check(*sum_requests()[number])
