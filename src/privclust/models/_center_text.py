"""Coordinates of centres as people write them: numbers in units, shares in percent, days."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from privclust.domains.base import Domain
from privclust.domains.reader import Use
from privclust.models._number_text import with_error

_FIRST_DAY = date(1970, 1, 1).toordinal()


def uses_of(domain: Domain) -> list[Use]:
    """Return what each coordinate of a centre is: a number, a share of a category, or a day.

    Examples
    --------
    >>> from privclust.domains.columns import CategoryColumn
    >>> from privclust.domains.mixed import Mixed
    >>> uses_of(Mixed((CategoryColumn("ward", ("A", "B")),)))
    ['category', 'category']
    """
    return domain.coordinate_uses


def written(use: Use, value: float, error: float) -> str:
    """Return a coordinate with its standard error.

    Examples
    --------
    >>> written("category", 0.3421, 0.0031), written("date", 19_000.2, 3.1)
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


def all_written(uses: Iterable[Use], values: Iterable[float], errors: Iterable[float]) -> list[str]:
    """Return the coordinates of a centre, one after the other."""
    return [written(*cell) for cell in zip(uses, values, errors, strict=True)]
