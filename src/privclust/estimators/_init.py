"""Public starts as users give them: a model, or points in their own units."""

from __future__ import annotations

from typing import Any

import numpy as np

from privclust.algorithms._split import into_ball
from privclust.algorithms.seeded_kmeans import Start, start_cost, start_from
from privclust.errors import ParameterError, shown
from privclust.estimators._input import OpenTable
from privclust.estimators._limits import check_cost
from privclust.estimators._statement import check_dependency


def start_of(init: Any, table: OpenTable, most: int, epsilon: float) -> Start:
    """Return where a fit may start in the unit ball of a table, with `most` points at most."""
    centers = init
    if hasattr(init, "privacy_statement_"):
        check_dependency(init, table.engine.unit, epsilon, "the model given as init")
        centers = init.cluster_centers_
    if not isinstance(centers, np.ndarray):
        raise ParameterError(
            "init must be a fitted model of privclust or an array of public points, one a row, got "
            f"{shown(init)}. Of a model of another library, which made no guarantee, and of one "
            "that scikit-learn's clone() copied, give the cluster_centers_, if they are public."
        )
    domain = table.domain
    points = centers.astype(np.float64)
    if points.ndim != 2 or points.shape[1] != domain.center.size:
        raise ParameterError(
            f"init must have {domain.center.size} columns, those of the table, got an array of "
            f"shape {points.shape}. Give the same columns in the same order."
        )
    if not np.isfinite(points).all():
        raise ParameterError("init has missing or infinite numbers; give finite ones.")
    names, given = table.schema.names, getattr(init, "feature_names_in_", None)
    if names is not None and given is not None and tuple(given) != tuple(names):
        raise ParameterError(
            "init is a model of columns with other names than those of the table. Give a model of "
            "the same columns in the same order."
        )
    within = domain.reach / domain.spread
    inside = into_ball(np.clip(domain.to_ball(points), -within, within))
    if not hasattr(init, "cluster_radii_") or len(points) > most:
        check_cost(start_cost(len(points), most, domain.center.size), "merging the points of init")
        return start_from(inside, most, np.random.default_rng(0))
    rescaled = float(np.mean(init.domain_.spread / domain.spread))
    return Start(inside, np.asarray(init.cluster_radii_ * rescaled))
