"""The estimator of the library's own algorithm."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from privclust.algorithms import _scale, private_kmeans, seeded_kmeans
from privclust.algorithms._enough_rows import advice_on_typed_rows
from privclust.algorithms._private_kmeans_plan import CELLS_PER_CLUSTER, PrivateKMeansPlan
from privclust.algorithms.seeded_kmeans import SeededPlan
from privclust.estimators import _refit
from privclust.estimators._common_parameters import seed_of
from privclust.estimators._cost_check import check_cost
from privclust.estimators._derived_cost import (
    hierarchy_cost,
    k_path_cost,
    mixture_cost,
    sample_cost,
)
from privclust.estimators._fit_task import Algorithm, Task
from privclust.estimators._init import start_of
from privclust.estimators._input import MEASURED, OpenTable, open_table
from privclust.estimators.base import PrivateClusterer
from privclust.kernels.grid import FloatArray
from privclust.models._coreset_cells import coreset_of
from privclust.models.cluster_model import ClusterModel, FittedEstimator
from privclust.models.clustering import Clustering
from privclust.models.hierarchy import Hierarchy, hierarchy
from privclust.models.k_path import KPath, k_path_of, max_clusters_of
from privclust.models.mixture import Mixture, mixture
from privclust.models.synthetic import sample
from privclust.privacy.curator import Curator
from privclust.privacy.integers import integer


class PrivateKMeans(PrivateClusterer):
    """Private k-means that is nearly as accurate as k-means; start here.

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Any number of columns; bounds may be loose and the number
    of rows need not be known.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres; 8 as scikit-learn has it. `k_path` compares others at no cost.
    scale : {"bounds", "private", "none"}, optional
        "bounds" (the default with `bounds`): columns count equally, each by its bounds. "private":
        each by how its rows spread, which is measured at 3 % of the budget. "none" (the default
        with `radius`): columns count in their own units.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "euclidean": distances as k-means has them. "cosine": rows, such as embeddings, count by
        their direction alone, and no `bounds` are needed. They have a column for each dimension, or
        one Arrow or Polars column of vectors of one length. A row of zeros lies at the origin, a
        missing number counts as 0.
    max_clusters : int, optional
        The largest number of clusters you may later ask `refit` for; default max(32, 2·n_clusters),
        enough to look beyond. Where rows and budget do not suffice for that many, the
        coreset has fewer points.
    init : fitted model or array, optional
        Where to start: a model of the same columns, such as last week's, or public points in your
        own units. It must be public: released before, or never private. Starting costs nothing,
        and leaves more than twice the budget for the means (docs/series.md).

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_coordinates)
        Noisy centres in your own units, the largest cluster first; with ``metric="cosine"``
        directions of length 1.
    center_stderr_ : array of shape (n_clusters, n_coordinates)
        Standard errors of the centres, from the noise alone: about the mean of a cluster's rows,
        each clipped to a public radius around the centre.
    size_stderr_ : array of shape (n_clusters,)
        Standard errors of the sizes.
    cluster_radii_ : array of shape (n_clusters,)
        Root mean square distances of rows to their centre, in the units of `transform`; clipped
        and noisy.
    coreset_ : Coreset
        Weighted points, in your own units, that stand for all rows.
    quality_ : Quality or None
        Mean squared distance of rows to their centre, capped and as it is, with standard errors.
        None if there are too few rows for it, so that noise hides it. Not there after `refit`.
        ``print(model.model_)`` judges it.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 1.0, (5000, 2)) for center in (20, 60)])
    >>> model = PrivateKMeans(2, delta=1e-6, bounds=(0, 1000), random_state=0).fit(rows)
    >>> np.sort(model.cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    algorithm: ClassVar[Algorithm] = private_kmeans
    metric: str = "euclidean"
    max_clusters: int | None = None
    init: ClusterModel | FittedEstimator | FloatArray | None = None

    def plan(self, task: Task) -> PrivateKMeansPlan | SeededPlan:
        """Plan a fit, from a start if there is one; `task` says what is public."""
        cells = self.max_clusters
        if cells is not None:
            cells = integer("max_clusters", cells)
        given = (
            task.n_clusters,
            task.n_columns,
            task.budget,
            task.n_rows,
            cells,
            task.unit.total_rows,
            task.noise_ratio,
        )
        if self.init is not None:
            most = CELLS_PER_CLUSTER * task.n_clusters
            start = start_of(self.init, task, most, self.epsilon)
            return seeded_kmeans.plan(*given, start=start)
        return _scale.plan(*given) if self.scale == MEASURED else private_kmeans.plan(*given)

    def run(
        self,
        curator: Curator,
        plan: PrivateKMeansPlan | SeededPlan,
        rng: np.random.Generator,
    ) -> Clustering:
        """Return clusters by `plan`, from what `curator` releases; `rng` makes public choices."""
        if isinstance(plan, SeededPlan):
            found = seeded_kmeans.run(curator, plan, rng)
            return replace(found, warned=advice_on_typed_rows(plan.private_kmeans))
        found = private_kmeans.run(curator, plan, rng)
        return replace(found, warned=advice_on_typed_rows(plan))

    def refit(self, n_clusters: int) -> Self:
        """Return a new fitted estimator with another number of clusters, `n_clusters`.

        It follows from `coreset_` and the released centres: no row is read and nothing is spent.
        With the number of the fit it has the released centres themselves; half or one and a half
        times as many are a little rougher than those of a fit of their own (docs/benchmarks.md).
        """
        check_is_fitted(self)
        run = self.privacy_statement_.run
        # Parameters may have been changed since the fit; the statement says what held then.
        spent = {"epsilon": run.epsilon}
        if run.epsilon < math.inf:
            spent["delta"] = run.delta
        other: Self = clone(self)
        other.set_params(n_clusters=integer("n_clusters", n_clusters), **spent)
        other.model_ = _refit.refit(self.model_, other)
        return other

    def k_path(self) -> KPath:  # type: ignore[override]  # other estimators say what lacks
        """Return loss, stability and silhouette for 1 up to `max_clusters` clusters.

        They are those of ``refit(k)`` and follow from `coreset_` and the released centres: no row
        is read and nothing is spent. Print it for a table. To choose among up to k clusters, fit
        with ``n_clusters=k``: the coreset is then fine enough.
        """
        check_is_fitted(self)
        n_points, n_columns = coreset_of(self.model_).points.shape
        cost = k_path_cost(n_points, max_clusters_of(self.model_), n_columns)
        check_cost(cost, "this k_path")
        return k_path_of(self.model_)

    def hierarchy(self) -> Hierarchy:
        """Return which clusters merge first, from centres and noisy sizes: nothing is spent."""
        check_is_fitted(self)
        check_cost(hierarchy_cost(*self.cluster_centers_.shape), "this hierarchy")
        return hierarchy(self.model_)

    def mixture(self) -> Mixture:
        """Return a Gaussian mixture, one component a cluster, from `coreset_`: nothing is spent.

        It is coarse: how columns vary together within a cell of the coreset is not known, so within
        cells they are taken to vary alike and alone (docs/postprocessing.md).
        """
        check_is_fitted(self)
        cost = mixture_cost(len(coreset_of(self.model_).points), *self.cluster_centers_.shape)
        check_cost(cost, "this mixture")
        return mixture(self.model_)

    def sample(self, n_rows: int, random_state: int | None = None) -> Any:
        """Return synthetic rows in your own units, from `coreset_`: nothing is spent.

        An array; an Arrow table where a bounds file declares categories, dates or logarithms. Rows
        are drawn around the coreset's points, as wide as its cells are, and lie within the bounds.

        Parameters
        ----------
        n_rows : int
            How many rows to draw; as many as you like, since they are made up.
        random_state : int, optional
            Seed of the draw, which touches nothing private; by default a new one each time.
        """
        check_is_fitted(self)
        rng, wanted = np.random.default_rng(seed_of(random_state)), integer("n_rows", n_rows)
        check_cost(sample_cost(wanted, self.cluster_centers_.shape[1]), "this sample")
        return sample(self.model_, wanted, rng)

    def _open(self, X: Any) -> OpenTable:
        return open_table(self, X, may_measure_scale=self.init is None)
