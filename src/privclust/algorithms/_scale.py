"""How wide columns are in truth, so that each can count by its width and not by its bounds.

One query, before all others: a histogram of every column. Bins that noise could have filled
count as empty, so that the width is that of most rows, whatever a few far out do. Where bins that
count hold few of the rows, wider bins are taken: two that noise happened to spare say nothing of a
width. And a column of which all but one bin are hidden is no point: its other values may be what
clusters differ in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privclust.algorithms import private_kmeans
from privclust.algorithms._cost import Measured
from privclust.algorithms._locate import FIRST_SLOT, LOCATE_SHARE
from privclust.algorithms._private_kmeans_plan import PrivateKMeansPlan
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries.columns import ColumnHistograms
from privclust.queries.shells import numbers_changed

SLOT = "scale"
SHARE = 0.03
BINS = 64
CLEAR = 4.0
"""Standard deviations of noise that a bin must have to count: 1 of 30,000 empty ones does."""
SEEN_SHARE, BINS_MIN = 0.75, 4
"""The part of all rows that bins must show that count; bins are joined in pairs until they do."""


@dataclass(frozen=True)
class ScaledPlan(PrivateKMeansPlan):
    """A plan of PrivateKMeans whose first slot measures the columns' histograms."""

    def cost_queries(self) -> list[Measured]:
        """Return the queries, as many as there can be, with as many shells as is typical."""
        return [*super().cost_queries(), Measured(BINS * self.n_columns, 1, self.n_columns)]


def plan(
    n_clusters: int,
    n_columns: int,
    budget: Budget,
    n_rows: int | None = None,
    max_clusters: int | None = None,
    rows_per_unit: int = 1,
    noise_ratio: float = 1.0,
) -> ScaledPlan:
    """Plan a fit of PrivateKMeans that measures the width of columns first.

    Examples
    --------
    >>> [slot.name for slot in plan(8, 4, Budget(1.0, 1e-6)).spending.slots]
    ['scale', 'locate 1', 'rest']
    """
    planned = private_kmeans.plan(
        n_clusters, n_columns, budget, n_rows, max_clusters, rows_per_unit, noise_ratio
    )
    wide = numbers_changed(n_columns)
    slots = [
        Slot(SLOT, SHARE, n_columns),
        Slot(FIRST_SLOT, LOCATE_SHARE, wide),
        Slot("rest", 1 - SHARE - LOCATE_SHARE, wide),
    ]
    return ScaledPlan(
        planned.n_clusters,
        planned.n_columns,
        planned.n_rows,
        planned.max_clusters,
        make_plan(budget, slots),
        planned.rows_per_unit,
        planned.noise_ratio,
    )


def variances(curator: Curator, half_widths: FloatArray) -> FloatArray:
    """Measure the variance of each column, in squared radii; never less than that of one bin."""
    query = ColumnHistograms(np.minimum(half_widths, 1.0), BINS)
    release = curator.measure(SLOT, query)
    counts = query.split(release.values)
    n_rows = float(counts.sum()) / len(counts)
    return np.array(
        [
            _variance(column, middles, float(release.sigma), n_rows)
            for column, middles in zip(counts, query.middles(), strict=True)
        ]
    )


def _variance(counts: FloatArray, middles: FloatArray, sigma: float, n_rows: float) -> float:
    """Return a column's variance, from bins of which those that are clear hold most rows."""
    width = float(middles[1] - middles[0])
    while (seen := np.where(counts > CLEAR * sigma, counts, 0.0)).sum() < SEEN_SHARE * n_rows:
        if len(counts) == BINS_MIN:
            # Noise hides most rows, which may lie anywhere.
            seen = np.ones(BINS_MIN)
            break
        counts, middles = counts[::2] + counts[1::2], (middles[::2] + middles[1::2]) / 2
        sigma, width = sigma * math.sqrt(2), 2 * width
    if np.count_nonzero(seen) <= 1:
        # What looks like a point may have elsewhere what noise would hide.
        seen = np.maximum(seen, sigma)
    weights = seen / seen.sum()
    mean = float(weights @ middles)
    return float(weights @ (middles - mean) ** 2) + width**2 / 12
