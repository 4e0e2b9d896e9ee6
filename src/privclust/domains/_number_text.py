"""Numbers as people type them, for sentences and lists of bounds."""

from __future__ import annotations

import numpy as np

from privclust.kernels.grid import FloatArray

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


FEWEST_DIGITS, ALL_DIGITS = 6, 17
"""Digits that edges of ranges have at least, and by which every number comes back as it was."""
CLOSE = 0.01
"""The part of a range's width by which its edges may be written wrongly."""


def edge_texts(edges: FloatArray) -> list[str]:
    """Return edges of ranges with as many digits as it takes to tell each range from the next.

    Examples
    --------
    >>> edge_texts(np.array([0.0, 1 / 3, 2e6])), edge_texts(np.array([100000.0, 100000.5]))
    (['0', '0.333333', '2000000'], ['100000', '100000.5'])
    """
    gaps = np.diff(edges)
    # Bounds of logarithms may be so close that some ranges have no width.
    widths = np.where(gaps > 0, gaps, np.inf)
    most = CLOSE * np.minimum(np.append(widths, np.inf), np.append(np.inf, widths))
    for digits in range(FEWEST_DIGITS, ALL_DIGITS):
        texts = [_with_digits(edge, digits) for edge in edges.tolist()]
        if (np.abs(np.array(texts, dtype=np.float64) - edges) <= most).all():
            return texts
    return [_with_digits(edge, ALL_DIGITS) for edge in edges.tolist()]


def _with_digits(number: float, digits: int) -> str:
    """Return a number with so many digits, followed by zeros rather than a power of ten."""
    text = f"{number:.{digits}g}"
    return plain(float(text)) if "e+" in text and abs(number) < LONGEST else text
