"""What may be measured of rows: bounded sums, each with its sensitivity.

A query of your own is a frozen dataclass with ``size``, ``sensitivity`` and ``contribute``;
`register` lets it travel to the clients of a federation.
"""

from privclust.queries.base import (
    ONE_HOT,
    Contribution,
    Count,
    Query,
    Sensitivity,
    frozen_points,
    one_hot,
)
from privclust.queries.cells import CellCounts, CellSums, Partition, SignCells
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.columns import ColumnHistograms
from privclust.queries.covariance import SecondMoment
from privclust.queries.cubes import SubcubeCounts
from privclust.queries.nearby import NearbySums
from privclust.queries.profiles import ProfileSums, ProfileTallies
from privclust.queries.registry import register, registered_queries
from privclust.queries.shells import ShellMoments
from privclust.queries.squared_distances import SquaredDistanceVotes
from privclust.queries.swaps import SetSavings, SwapSavings
from privclust.queries.unit import ROW, Unit

__all__ = [
    "ONE_HOT",
    "ROW",
    "CellCounts",
    "CellSums",
    "ClusterMoments",
    "ClusterSums",
    "ColumnHistograms",
    "Contribution",
    "Count",
    "DistanceHistogram",
    "NearbySums",
    "NearestVotes",
    "Partition",
    "ProfileSums",
    "ProfileTallies",
    "Query",
    "SecondMoment",
    "Sensitivity",
    "SetSavings",
    "ShellMoments",
    "SignCells",
    "SquaredDistanceVotes",
    "SubcubeCounts",
    "SwapSavings",
    "Unit",
    "frozen_points",
    "one_hot",
    "register",
    "registered_queries",
]
