"""Other numbers of clusters from what a fit released: no row is read and nothing is spent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from privclust.algorithms._merge import merge_around
from privclust.errors import Message, Parameter, TooManyClustersError
from privclust.estimators._common_parameters import Parameters
from privclust.estimators._cost_check import check_cost
from privclust.estimators._derived_cost import refit_cost
from privclust.estimators._fit import cluster_fields, public_parameters
from privclust.models._border_errors import border_errors
from privclust.models._refit_points import (
    around_centers,
    check_for_rows,
    inherited_stderr,
    public_generator,
    refit_cells,
    refit_centers,
)
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Clustering


def refit(model: ClusterModel, other: Parameters) -> ClusterModel:
    """Return the model with the number of clusters of the estimator `other`.

    With as many clusters as the fit had, these are the clusters that it released.
    """
    wanted, parameters = other.n_clusters, public_parameters(other.get_params(deep=False))
    if wanted == len(model.fitted.centers):
        return replace(_fit_itself(model), parameters=parameters)
    cells = refit_cells(model)
    check_for_rows(cells)
    available = int(np.count_nonzero(cells.weights))
    if wanted > available:
        raise TooManyClustersError(
            Message(
                f"the coreset has {available} point(s) with rows, too few for {wanted} cluster(s). "
                "Ask for fewer, or fit again with ",
                Parameter("max_clusters", wanted),
                ", which spends budget again and needs rows enough for as many.",
            )
        )
    check_cost(refit_cost(len(cells.points), wanted, cells.points.shape[1]), "this refit")
    points = around_centers(model, cells)
    with threadpool_limits(1):
        centers = refit_centers(model, points, wanted, public_generator(model))
    merged = merge_around(points, centers)
    borders, noise = border_errors(points, centers), merged.precision
    inherited = inherited_stderr(model, points, centers)
    precision = replace(
        noise,
        center_stderr=np.sqrt(noise.center_stderr**2 + inherited**2 + borders.centers**2),
        size_stderr=np.hypot(noise.size_stderr, borders.sizes),
    )
    found = Clustering(merged.centers, merged.sizes, model.n_rows, precision)
    return replace(
        model,
        parameters=parameters,
        privacy_statement=replace(model.privacy_statement, kind="refit", n_clusters=wanted),
        refit_from=model.fitted,
        **cluster_fields(model.domain, found),
    )


def _fit_itself(model: ClusterModel) -> ClusterModel:
    """Return the model that the fit released."""
    if model.refit_from is None:
        return model
    fitted = model.refit_from
    return replace(
        model,
        cluster_centers=fitted.centers,
        cluster_sizes=fitted.sizes,
        center_stderr=fitted.center_stderr,
        size_stderr=fitted.size_stderr,
        cluster_radii=fitted.radii,
        quality=fitted.quality,
        privacy_statement=replace(
            model.privacy_statement, kind="fit", n_clusters=len(fitted.centers)
        ),
        refit_from=None,
    )
