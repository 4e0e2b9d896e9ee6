"""Examples of every registered query, for rows of three columns or for those of a profile."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

import numpy as np

from privclust.domains._category_column import CategoryColumn
from privclust.domains._date_column import DateColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.mixed import Mixed
from privclust.domains.profiled import ProfileDomain
from privclust.kernels.projection import gaussian_projection
from privclust.queries import (
    CellCounts,
    CellSums,
    ClusterMoments,
    ClusterSums,
    ColumnHistograms,
    Count,
    DistanceHistogram,
    NearbySums,
    NearestVotes,
    ProfileSums,
    ProfileTallies,
    Query,
    SecondMoment,
    SetSavings,
    ShellMoments,
    SignCells,
    SquaredDistanceVotes,
    SubcubeCounts,
    SwapSavings,
    registered_queries,
)

COLUMNS = ("a", "b", "c")
MIXED = Mixed(
    (
        NumberColumn("a", 1.0, 9.0, transform="log"),
        CategoryColumn("b", ("x", "other")),
        DateColumn("c", date(2020, 1, 1), date(2021, 1, 1), missing=date(2020, 3, 1)),
    )
)
PROFILED = ProfileDomain(
    MIXED, COLUMNS, (NumberColumn("d", 0.0, 1.0, missing=0.25), CategoryColumn("e", ("x", "y")))
)
_RNG = np.random.default_rng(7)
_POINTS, _FLAT = _RNG.uniform(-0.5, 0.5, (3, 3)), _RNG.uniform(-0.5, 0.5, (3, 2))
_PROJECTION = gaussian_projection(3, 2, _RNG)
_CELLS = SignCells(_POINTS, ("00", "010", "1"))
_NOTED = _RNG.uniform(-0.4, 0.4, (2, 4))
VOTES, SUMS = NearestVotes(_POINTS), ClusterSums(_POINTS, np.zeros((3, 3)), 0.5, 0.7)
QUERIES: tuple[Query, ...] = (
    Count(),
    VOTES,
    NearestVotes(_FLAT, _PROJECTION),
    SUMS,
    ClusterSums(_FLAT, _POINTS, 0.5, 0.7, _PROJECTION),
    ClusterMoments(_FLAT, np.array([0.1, 0.2, 0.4]), 0.6, 0.4, _PROJECTION),
    DistanceHistogram(_POINTS, np.array([0.1, 0.3])),
    DistanceHistogram(_FLAT, np.array([0.5, 2.0]), np.array([0.1, 0.2, 0.4]), _PROJECTION),
    ShellMoments(_POINTS, np.array([0.02, 0.05, 0.1]), 0.6, 0.4, 2),
    ShellMoments(_FLAT, np.array([0.02, 0.05, 0.1]), 0.6, 0.4, 1, _PROJECTION),
    NearbySums(ClusterSums(_POINTS, _POINTS, 0.5, 0.7)),
    SquaredDistanceVotes(_POINTS, np.array([0.0, 0.1, 0.5, 4.0])),
    CellCounts(_CELLS),
    CellSums(_CELLS, 3, 0.25),
    SecondMoment(3),
    ColumnHistograms(np.array([0.2, 0.5, 0.9]), 8),
    SubcubeCounts(np.array([[0, 0], [1, 1]]), 1, np.full(2, -(2**26)), _PROJECTION),
    SwapSavings(_POINTS, _POINTS[:2], np.array([0, 1])),
    SetSavings(np.stack([_POINTS] * 4)),
)
PROFILE_QUERIES: tuple[Query, ...] = (
    ProfileSums(_NOTED, 2, 1),
    ProfileTallies(_NOTED, PROFILED.n_places),
)


def package_queries() -> set[str]:
    """Return the names of the package's own queries; those of others have a dot."""
    return {name for name in registered_queries() if "." not in name}


def names_of(queries: Iterable[Query]) -> set[str]:
    """Return the names of the queries' classes."""
    return {type(query).__name__ for query in queries}
