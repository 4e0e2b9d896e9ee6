"""Coordinates of centres: what they are called, and how people write them.

Numbers are written in units, shares in percent, days as dates.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import numpy as np

from privclust.domains.base import Domain
from privclust.domains.mixed import Mixed, Use
from privclust.domains.sphere import Sphere
from privclust.kernels.grid import FloatArray
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import with_error

_FIRST_DAY = date(1970, 1, 1).toordinal()


def coordinate_names(model: ClusterModel) -> list[str]:
    """Return what a centre's coordinates are called; the levels of a category are one each."""
    # merge: model.domain.coordinate_names(model.feature_names_in)
    domain = model.domain
    if isinstance(domain, Mixed) or (isinstance(domain, Sphere) and domain.vector is not None):
        return list(domain.feature_names)
    if model.feature_names_in is None:
        return [f"column {place}" for place in range(domain.center.size)]
    return list(model.feature_names_in)


def uses_of(domain: Domain) -> list[Use]:
    """Return what each coordinate of a centre is: a number, a share of a category, or a day.

    Examples
    --------
    >>> from privclust.domains.mixed import CategoryColumn
    >>> uses_of(Mixed((CategoryColumn("ward", ("A", "B")),)))
    ['category', 'category']
    """
    if isinstance(domain, Mixed):
        return [column.use for column in domain.columns for _ in column.feature_names]
    return ["number"] * domain.center.size


def unit_lengths(model: ClusterModel, points: FloatArray) -> FloatArray:
    """Return what a radius of the domain is worth at each point, in the user's units."""
    # merge: model.domain.slopes(points) * model.domain.spread
    domain = model.domain
    slopes = domain.slopes(points) if isinstance(domain, Mixed) else np.ones_like(points)
    return np.asarray(slopes * domain.spread)


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


def format_center(
    uses: Iterable[Use], values: Iterable[float], errors: Iterable[float]
) -> list[str]:
    """Return the coordinates of a centre, one after the other."""
    return [format_coordinate(*cell) for cell in zip(uses, values, errors, strict=True)]
