"""Models as nobody fitted them: centres and sizes of a test's choice."""

from __future__ import annotations

from typing import Any

import numpy as np

from privclust.domains.ball import Ball
from privclust.domains.bounds import UNSTATED
from privclust.models.cluster_model import ClusterModel
from privclust.models.private_run import PrivateRun
from privclust.models.statement import Statement
from privclust.privacy.accounting import Budget
from privclust.queries.unit import ROW


def made_up_model(centers: Any, sizes: Any = None, **found: Any) -> ClusterModel:
    """Return a model with these centres in the unit ball, and nothing that was measured."""
    points = np.array(centers, dtype=float)
    k, d = points.shape
    budget = Budget(1.0, 1e-6)
    run = PrivateRun("none", "MadeUp", ROW, 1.0, 1e-6, budget.capacity, None, "OpenDP", None)
    return ClusterModel(
        estimator="MadeUp",
        parameters={"n_clusters": k},
        domain=Ball(np.zeros(d), 1.0),
        n_features_in=d,
        feature_names_in=None,
        n_rows=1000,
        cluster_centers=points,
        cluster_sizes=np.full(k, 1e6) if sizes is None else np.array(sizes, dtype=float),
        releases=(),
        privacy_statement=Statement("fit", "MadeUp", k, d, run, (), UNSTATED),
        **found,
    )
