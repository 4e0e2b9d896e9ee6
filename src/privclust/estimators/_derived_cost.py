"""What it costs to derive more from a fitted model: no row is read and nothing is spent."""

from __future__ import annotations

from privclust.algorithms._cost import Cost
from privclust.models._refit_points import refit_seconds
from privclust.models.k_path import path_cost
from privclust.models.mixture import ROUNDS


def refit_cost(n_points: int, n_clusters: int, n_columns: int) -> Cost:
    """Return the cost of merging a coreset's points.

    Examples
    --------
    >>> refit_cost(768, 256, 16).seconds < 10
    True
    """
    return _derived(refit_seconds(n_points, n_clusters, n_columns), 0.0)


def k_path_cost(n_points: int, max_clusters: int, n_columns: int) -> Cost:
    """Return the cost of every number of clusters up to `max_clusters`."""
    return _derived(*path_cost(n_points, max_clusters, n_columns))


def hierarchy_cost(n_clusters: int, n_columns: int) -> Cost:
    """Return the cost of merging clusters two by two, all pairs being compared each time."""
    return _derived(1e-9 * n_clusters**3 * (n_columns + 10.0), 32.0 * n_clusters**2)


def mixture_cost(n_points: int, n_clusters: int, n_columns: int) -> Cost:
    """Return the cost of a covariance for each cluster."""
    a_round = n_clusters * n_columns**2 * (n_columns + 2.0 * n_points) * 0.3e-9
    covariances = 24.0 * n_clusters * n_columns**2
    return _derived(ROUNDS * a_round, covariances + 16.0 * n_points * n_clusters * n_columns)


def sample_cost(n_rows: int, n_columns: int) -> Cost:
    """Return the cost of making rows up."""
    return _derived(1e-7 * n_rows * n_columns, 40.0 * n_rows * n_columns)


def _derived(seconds: float, memory: float) -> Cost:
    return Cost(seconds, 0.0, memory, 0.0, 0.0)
