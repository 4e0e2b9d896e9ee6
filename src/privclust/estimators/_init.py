"""Public starts as users give them: a model, or points in their own units."""

from __future__ import annotations

import numpy as np

from privclust.algorithms._cells import into_ball
from privclust.algorithms.seeded_kmeans import Start, start_cost, start_from
from privclust.errors import ParameterError, safe_repr
from privclust.estimators._common_parameters import held_model
from privclust.estimators._cost_check import check_cost
from privclust.estimators._fit_task import Task
from privclust.estimators._statement import check_dependency


def start_of(init: object, task: Task, most: int, epsilon: float) -> Start:
    """Return where a fit may start in the unit ball of a table, with `most` points at most."""
    model, centers = held_model(init), init
    if model is not None:
        check_dependency(model.privacy_statement, task.unit, epsilon, "the model given as init")
        centers = model.cluster_centers
    if not isinstance(centers, np.ndarray):
        raise ParameterError(
            "init must be a fitted model of privclust or an array of public points, one a row, got "
            f"{safe_repr(init)}. Of a model of another library, which made no guarantee, and of "
            "one that scikit-learn's clone() copied, give the cluster_centers_, if they are public."
        )
    domain = task.domain
    points = centers.astype(np.float64)
    if points.ndim != 2 or points.shape[1] != domain.center.size:
        raise ParameterError(
            f"init must have {domain.center.size} columns, those of the table, got an array of "
            f"shape {points.shape}. Give the same columns in the same order."
        )
    if not np.isfinite(points).all():
        raise ParameterError("init has missing or infinite numbers; give finite ones.")
    names, given = task.column_names, None if model is None else model.feature_names_in
    if names is not None and given is not None and tuple(given) != tuple(names):
        raise ParameterError(
            "init is a model of columns with other names than those of the table. Give a model of "
            "the same columns in the same order."
        )
    within = domain.half_widths / domain.scales
    inside = into_ball(np.clip(domain.to_ball(points), -within, within))
    if model is None or model.cluster_radii is None or len(points) > most:
        check_cost(start_cost(len(points), most, domain.center.size), "merging the points of init")
        return start_from(inside, most, np.random.default_rng(0))
    rescaled = float(np.mean(model.domain.scales / domain.scales))
    return Start(inside, np.asarray(model.cluster_radii * rescaled))
