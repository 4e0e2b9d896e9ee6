"""Figures in words that err on the safe side: what is lost is rounded up, what protects down.

A figure counts to twelve digits: what arithmetic on floats leaves beyond them, as in 0.1 or in
1.0000000000000002, is not rounded up to something that nobody typed.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def rounded_up(value: float, digits: int = 4) -> str:
    """Return `value` with so many significant digits, none of them too small.

    Examples
    --------
    >>> import math
    >>> rounded_up(math.exp(0.25), 3), rounded_up(0.1), rounded_up(1e-6)
    ('1.29', '0.1', '1e-06')
    """
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 4) -> str:
    """Return `value` with so many significant digits, none of them too large.

    Examples
    --------
    >>> rounded_down(29.9999, 3), rounded_down(0.25)
    ('29.9', '0.25')
    """
    return _rounded(value, digits, ROUND_FLOOR)


def percent_up(share: float) -> str:
    """Return a share as a percentage with two decimals, none of them too small.

    Examples
    --------
    >>> percent_up(0.45486), percent_up(1.0)
    ('45.49 %', '100.00 %')
    """
    percent = (100 * _twelve_digits(share)).quantize(Decimal("0.01"), ROUND_CEILING)
    return f"{percent} %"


def _rounded(value: float, digits: int, direction: str) -> str:
    rounded = Context(prec=digits, rounding=direction).create_decimal(_twelve_digits(value))
    return f"{float(rounded):.{digits}g}"


def _twelve_digits(value: float) -> Decimal:
    return Decimal(f"{value:.12g}")
