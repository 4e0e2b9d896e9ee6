"""Coordinates of centres: what they are called, and how people write them.

Numbers are written in units, shares in percent, days as dates.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from privclust.domains.reader import Use
from privclust.models.formatting import with_error

_FIRST_DAY = date(1970, 1, 1).toordinal()


def format_coordinate(use: Use, value: float, error: float) -> str:
    """Return a coordinate with its standard error.

    Examples
    --------
    >>> format_coordinate("category", 0.3421, 0.0031), format_coordinate("date", 19_000.2, 3.1)
    ('34.21 ± 0.31 %', '2022-01-08 ± 3.1 days')
    """
    if use == "category":
        return f"{with_error(100 * value, 100 * error)} %"
    if use == "date":
        # A model file may hold a number that no calendar has.
        place = min(max(round(value) + _FIRST_DAY, 1), date.max.toordinal())
        day = date.fromordinal(place).isoformat()
        about = with_error(0.0, error).partition(" ± ")[2]
        return f"{day} ± {about} days" if about else day
    return with_error(value, error)


def format_shift(use: Use, value: float, error: float) -> str:
    """Return by how much a coordinate is more or less, with its standard error.

    Examples
    --------
    >>> format_shift("category", 0.0342, 0.0031), format_shift("date", -30.24, 3.1)
    ('+3.42 ± 0.31 %', '-30.2 ± 3.1 days')
    >>> format_shift("number", -0.2, 37.0)
    '+0 ± 37'
    """
    factor, unit = {"category": (100.0, " %"), "date": (1.0, " days")}.get(use, (1.0, ""))
    text = with_error(factor * abs(value), factor * error)
    seems_zero = not set(text.partition(" ")[0]) & set("123456789")
    return f"{'-' if value < 0 and not seems_zero else '+'}{text}{unit}"


def format_center(
    uses: Iterable[Use], values: Iterable[float], errors: Iterable[float]
) -> list[str]:
    """Return the coordinates of a centre, one after the other."""
    return [format_coordinate(*cell) for cell in zip(uses, values, errors, strict=True)]
