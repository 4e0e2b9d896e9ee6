"""Figures as people write them: of privacy on the safe side, of time and memory, with errors.

What is lost is rounded up, what protects down.

A figure counts to twelve digits: what arithmetic on floats leaves beyond them, as in 0.1 or in
1.0000000000000002, is not rounded up to something that nobody typed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from privclust.domains._number_text import LONGEST

PERCENT_STEP = 0.1
"""Finer shares of a loss tell a reader nothing."""


def rounded_up(value: float, digits: int = 4) -> str:
    """Return `value` with so many significant digits, none of them too small.

    Examples
    --------
    >>> import math
    >>> rounded_up(math.exp(0.25), 3), rounded_up(0.1), rounded_up(1e-6), rounded_up(123_456)
    ('1.29', '0.1', '1e-06', '123500')
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
    found = f"{float(rounded):.{digits}g}"
    return found if "e+" not in found or abs(rounded) >= LONGEST else f"{rounded:.0f}"


def _twelve_digits(value: float) -> Decimal:
    return Decimal(f"{value:.12g}")


def spoken(seconds: float) -> str:
    """Return a time in words.

    Examples
    --------
    >>> spoken(0), spoken(0.2), spoken(80), spoken(600), spoken(1e5), spoken(1e12)
    ('0 seconds', '1 second', '80 seconds', '10 minutes', '28 hours', '32,000 years')
    """
    if seconds <= 100:
        whole = math.ceil(seconds)
        return f"{whole} second{'' if whole == 1 else 's'}"
    for name, unit, most in (("minutes", 60, 99), ("hours", 3600, 99), ("days", 86_400, 365)):
        if seconds <= most * unit:
            return f"{two_digits(seconds / unit)} {name}"
    return f"{two_digits(seconds / (365.25 * 86_400))} years"


def spoken_memory(size: float) -> str:
    """Return an amount of memory in words.

    Examples
    --------
    >>> spoken_memory(0), spoken_memory(3e6), spoken_memory(8 * 2**30), spoken_memory(1e15)
    ('1 KiB', '2.9 MiB', '8 GiB', '930,000 GiB')
    """
    for name, unit in (("KiB", 2**10), ("MiB", 2**20)):
        if size <= 990 * unit:
            return f"{two_digits(max(size / unit, 1.0))} {name}"
    return f"{two_digits(size / 2**30)} GiB"


def two_digits(value: float) -> str:
    """Return about how much something is, in digits that people write.

    Examples
    --------
    >>> two_digits(1234.5), two_digits(0.123)
    ('1,200', '0.12')
    """
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def percent_with_error(share: float, error: float) -> str:
    """Return a share in per cent with its standard error, a tenth or more; none is called whole.

    Examples
    --------
    >>> percent_with_error(0.412, 0.03), percent_with_error(0.999999999956, 1e-11)
    ('41.2 ± 3.0', '99.9 ± 0.1')
    """
    if error > PERCENT_STEP / 100:
        return with_error(100 * share, 100 * error)
    if error <= 0:
        return with_error(100 * share, 0.0)
    tenths = math.floor(min(1000 * share + 0.5, 999.0))
    return f"{tenths / 10:.1f} ± {PERCENT_STEP}"


def counted(number: float) -> str:
    """Return a count as people write it in a sentence: whole, and never as a power of ten.

    Examples
    --------
    >>> counted(1e6), counted(119_999.7), counted(-3), counted(1e22)
    ('1,000,000', '120,000', '-3', '10,000,000,000,000,000,000,000')
    """
    return f"{number:,.0f}" if round(number) else "0"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows of a table as lines, shorter ones filled up with nothing.

    Examples
    --------
    >>> print(aligned([["cluster", "size"], ["0", "12"], ["10"]]))
    cluster  size
    0        12
    10
    """
    most = max(map(len, rows), default=0)
    filled = [[*row, *[""] * (most - len(row))] for row in rows]
    widths = [max(map(len, column)) for column in zip(*filled, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in filled
    )


def cluster_names(count: int) -> list[str]:
    """Return what clusters are called in tables.

    Examples
    --------
    >>> cluster_names(2)
    ['cluster 0', 'cluster 1']
    """
    return [f"cluster {number}" for number in range(count)]


def with_error(value: float, error: float) -> str:
    """Return a value with as many digits as its standard error allows.

    Examples
    --------
    >>> with_error(40.762312, 0.000047), with_error(5154.2, 30.1), with_error(1.5, float("nan"))
    ('40.762312 ± 0.000047', '5,154 ± 30', '1.5')
    """
    if not (math.isfinite(error) and error > 0):
        return f"{value:.0f}" if 1e3 <= abs(value) < LONGEST else f"{value:.4g}"
    decimals = max(0, min(12, 1 - math.floor(math.log10(error))))
    return f"{value:,.{decimals}f} ± {error:,.{decimals}f}"
