"""Other numbers of clusters from a coreset alone: no row is read and nothing is spent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privclust.algorithms._merge import merge
from privclust.errors import TooManyClustersError
from privclust.estimators._common_parameters import Parameters, seed_of
from privclust.estimators._cost_check import check_cost
from privclust.estimators._derived_cost import refit_cost
from privclust.estimators._fit import cluster_fields, public_parameters
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Clustering, Coreset


def refit(model: ClusterModel, other: Parameters, coreset: Coreset) -> ClusterModel:
    """Return the model of another number of clusters, that of the estimator `other`."""
    wanted = other.n_clusters
    available = int(np.count_nonzero(coreset.weights > 0))
    if wanted > available:
        raise TooManyClustersError(
            f"the coreset has {available} point(s) with rows, too few for {wanted} cluster(s). Ask "
            f"for fewer, or fit again with max_clusters={wanted}, which spends budget again and "
            "needs rows enough for as many."
        )
    check_cost(refit_cost(len(coreset.points), wanted, coreset.points.shape[1]), "this refit")
    rng = np.random.default_rng(seed_of(other.random_state))
    in_ball = replace(coreset, points=model.domain.to_ball(coreset.points))
    merged = merge(in_ball, wanted, rng)
    found = Clustering(merged.centers, merged.sizes, model.n_rows, merged.precision)
    return replace(
        model,
        parameters=public_parameters(other.get_params(deep=False)),
        privacy_statement=replace(model.privacy_statement, kind="refit", n_clusters=wanted),
        participation=None,
        **cluster_fields(model.domain, found),
    )
