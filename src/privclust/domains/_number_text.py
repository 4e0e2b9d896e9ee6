"""Numbers as people type them, for sentences and lists of bounds."""

from __future__ import annotations

LONGEST = 1e15
"""From this size on, digits would say less than the power of ten."""


def plain(number: float) -> str:
    """Return a number with the digits that were typed, to be copied, and no power of ten.

    Examples
    --------
    >>> plain(1e6), plain(1_234_567.5), plain(0.25), plain(120.0), plain(1e100)
    ('1000000', '1234567.5', '0.25', '120', '1e+100')
    """
    size = abs(number)
    digits = 12 if size < 1e12 else 15 if size < LONGEST else 6
    return f"{number:.{digits}g}"
