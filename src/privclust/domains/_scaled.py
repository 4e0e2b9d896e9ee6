"""A domain of the same columns in which each counts by its spread."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import numpy as np

from privclust.domains.base import Box
from privclust.domains.mixed import WEIGHT_MAX, WEIGHT_MIN, Mixed
from privclust.kernels.grid import FloatArray


def by_spread(domain: Box | Mixed, variances: FloatArray) -> Box | Mixed:
    """Return the domain with weights, so that rows vary in all columns as their weights say.

    `variances` are those of the features, in squared radii of `domain`; the features of a category
    count together.

    Examples
    --------
    >>> by_spread(Box([0, 0], [120, 120]), np.array([0.04, 0.01])).weights.tolist()
    [1.0, 2.0]
    """
    if isinstance(domain, Box):
        return Box(domain.lower, domain.upper, _reweighed(domain.weights, variances))
    ends = accumulate(len(column.feature_names) for column in domain.columns)
    together = np.array([part.sum() for part in np.split(variances, list(ends)[:-1])])
    given = np.array([column.weight for column in domain.columns])
    weights = _reweighed(given, together)
    columns = zip(domain.columns, weights.tolist(), strict=True)
    return Mixed(tuple(replace(column, weight=weight) for column, weight in columns))


def _reweighed(given: FloatArray, variances: FloatArray) -> FloatArray:
    """Return weights under which variances are to each other as the squares of those given."""
    weights: FloatArray = given**2 / np.sqrt(variances)
    bounded: FloatArray = np.clip(weights / weights.min(), WEIGHT_MIN, WEIGHT_MAX)
    return bounded
