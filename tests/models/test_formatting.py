"""Figures in words: to the safe side, and as people typed them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privclust.domains._number_text import plain
from privclust.models.formatting import (
    counted,
    percent_up,
    percent_with_error,
    rounded_down,
    rounded_up,
    with_error,
)

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


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (40.762312, 0.000047, "40.762312 ± 0.000047"),
        (40.762312, 0.047, "40.762 ± 0.047"),
        (5154.2, 30.1, "5,154 ± 30"),
        (-5154.2, 312.0, "-5,154 ± 312"),
        (1234567.0, 0.96, "1,234,567.00 ± 0.96"),
        (0.0, 1.0, "0.0 ± 1.0"),
        (1.0, 1e-30, "1.000000000000 ± 0.000000000000"),
    ],
)
def test_two_digits_of_the_error_are_shown(value: float, error: float, text: str) -> None:
    assert with_error(value, error) == text


@pytest.mark.parametrize("error", [0.0, math.nan, math.inf, -1.0])
def test_without_an_error_there_is_none_to_show(error: float) -> None:
    assert with_error(1.5, error) == "1.5"


@pytest.mark.parametrize("value", [5154.0, 51540.0, 5154000.0])
def test_sizes_without_an_error_are_still_read_as_sizes(value: float) -> None:
    """PEMeans knows no errors; 5.154e+04 rows is how nobody counts."""
    assert with_error(value, math.nan).replace(",", "") == str(int(value))


@pytest.mark.parametrize("share", [0.9991, 0.99999999995, 1.0])
def test_share_near_one_has_digits_for_readers_and_is_not_called_whole(share: float) -> None:
    """It was 99.9999999956 ± 0.0000000012 per cent."""
    assert percent_with_error(share, 1e-11) == "99.9 ± 0.1"
    assert percent_with_error(share, 0.12) == with_error(100 * share, 12.0)


@pytest.mark.parametrize("value", [1e6, 119_999.0, 1.25e7, 9e14])
def test_no_number_that_people_count_is_a_power_of_ten(value: float) -> None:
    for found in (rounded_up(value, 2), rounded_down(value), counted(value), plain(value)):
        assert "e" not in found
        assert float(found.replace(",", "")) == pytest.approx(value, rel=0.1)
