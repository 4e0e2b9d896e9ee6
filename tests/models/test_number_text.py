"""Numbers are written with the digits that their errors allow."""

from __future__ import annotations

import math

import pytest

from privclust.models._number_text import with_error


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
