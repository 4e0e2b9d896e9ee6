"""Points between the user's units, the scales of columns and the unit ball."""

from __future__ import annotations

import numpy as np

from privclust.domains.base import Domain, from_unit
from privclust.domains.mixed import Mixed
from privclust.kernels.grid import FloatArray


def in_ball(domain: Domain, points: FloatArray) -> FloatArray:
    """Map points in the user's units, such as centres, to the unit ball.

    Examples
    --------
    >>> from privclust.domains.base import Box
    >>> in_ball(Box([0.0], [10.0]), np.array([[5.0], [10.0]])).ravel().tolist()
    [0.0, 1.0]
    """
    features = domain.features(points) if isinstance(domain, Mixed) else points
    return np.asarray((features - domain.center) / domain.spread)


def on_scales(domain: Domain, points: FloatArray) -> FloatArray:
    """Map points of the unit ball to the scales of the columns, within the bounds.

    A column's scale is its own unit, or the logarithm or the shares that were declared for it.
    """
    lower, upper = domain.center - domain.reach, domain.center + domain.reach
    return np.clip(from_unit(domain, points), lower, upper)


def in_units(domain: Domain, points: FloatArray) -> FloatArray:
    """Map points of the unit ball to the user's units, within the bounds."""
    scaled = on_scales(domain, points)
    return domain.units(scaled) if isinstance(domain, Mixed) else scaled
