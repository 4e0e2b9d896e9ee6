"""Figures in words: to the safe side, and as people typed them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privclust.models.formatting import percent_up, rounded_down, rounded_up

FIGURES = st.floats(1e-15, 1e15, allow_nan=False)


@pytest.mark.attack
@given(FIGURES, st.integers(1, 9))
def test_no_figure_in_words_is_on_the_wrong_side(value: float, digits: int) -> None:
    twelve = float(f"{value:.12g}")
    assert float(rounded_up(value, digits)) >= twelve
    assert float(rounded_down(value, digits)) <= twelve
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    assert float(rounded_up(value, digits)) - float(rounded_down(value, digits)) <= 1.001 * step


@given(st.decimals("0.001", 1000, places=3))
def test_typed_figure_stays_as_it_was_typed(value: object) -> None:
    typed = float(str(value))
    assert float(rounded_up(typed, 6)) == float(rounded_down(typed, 6)) == typed


@pytest.mark.attack
def test_findings_of_the_attackers_are_rounded_up() -> None:
    assert rounded_up(math.exp(0.25), 3) == "1.29"
    assert rounded_up(3.2117, 3) == "3.22"
    assert rounded_up(1.0000000000000002, 4) == "1"
    assert percent_up(0.99990001) == "100.00 %"
    assert rounded_up(math.inf) == "inf"
