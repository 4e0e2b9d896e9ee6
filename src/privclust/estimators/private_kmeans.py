"""The flagship's scikit-learn face."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from privclust.algorithms import _scale, private_kmeans, seeded_kmeans
from privclust.algorithms.private_kmeans import CELLS_PER_CLUSTER
from privclust.domains.bounds import Bounds
from privclust.estimators import _fit, _methods
from privclust.estimators._cost import check_cost
from privclust.estimators._derived_cost import hierarchy_cost, mixture_cost, sample_cost
from privclust.estimators._init import start_of
from privclust.estimators._input import MEASURED, open_table
from privclust.estimators._parameters import seed_of, whole_number
from privclust.models.hierarchy import Hierarchy, hierarchy
from privclust.models.k_path import KPath
from privclust.models.mixture import Mixture, mixture
from privclust.models.synthetic import sample
from privclust.tracebacks import clears_frames


class PrivateKMeans(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Private k-means that is nearly as accurate as k-means; start here.

    The promise is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Any number of columns; bounds may be loose and the number
    of rows need not be known.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres; 8 as scikit-learn has it. `k_path` compares others at no cost.
    epsilon : float, default=1.0
        Strength of the promise; smaller is stronger. At 1, one row makes no outcome more than
        e = 2.7 times as likely, but for `delta`. Infinity adds no noise: NOT PRIVATE, for teaching
        on public rows.
    delta : float
        The remainder that the guarantee allows beside epsilon. Required: type a value well below
        one over the number of rows, such as 1e-6.
    bounds : mapping, pair of arrays, or path
        Lower and upper bound of each column: ``{"age": (0, 120)}``, ``([0], [120])``, or the path
        of a bounds file (docs/bounds.md). From knowledge of the field, not from the rows.
    radius : float
        Instead of `bounds`: no row lies farther than this from the origin, in your own units.
    scale : {"bounds", "private", "none"}, optional
        "bounds" (the default with `bounds`): columns count equally, each by its bounds. "private":
        each by how its rows spread, which is measured at 3 % of the budget. "none" (the default
        with `radius`): columns count in their own units.
    n_rows : int, optional
        A number of rows you type because it is public; without it a noisy count is measured.
        If it is exact, the promise is for replacing one row instead, at up to twice mu.
    unit : str, optional
        Column of ids, such as "patient_id": all rows with one id are protected together, rows
        without an id as one. With a federation, "client" protects all rows of a client together.
        By default every row is protected alone.
    unit_rows : int, default=1
        How many rows of one id count; more are scaled down together. Noise grows with it, which is
        why it is 1. Sizes and `n_rows` are counted so, too.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "euclidean": distances as k-means has them. "cosine": rows, such as embeddings, count by
        their direction alone, and no `bounds` are needed. They have a column for each dimension, or
        one Arrow or Polars column of vectors of one length. A row of zeros lies at the origin, a
        missing number counts as 0.
    max_clusters : int, optional
        The largest number of clusters you may later ask `refit` for; default max(32, 2·n_clusters),
        enough to look past the elbow. Where rows and budget do not suffice for that many, the
        coreset has fewer points.
    ledger : str, optional
        Path or URL of the ledger that pays for the fit (docs/ledger.md); without one the fit is
        unrecorded.
    dataset : str, optional
        The data set's name in the ledger.
    period : str, optional
        Which of its periods the fit belongs to, such as "2026-W07", if the data set has any
        (docs/series.md).
    init : fitted model or array, optional
        Where to start: a model of the same columns, such as last week's, or public points in your
        own units. It must be public: released before, or never private. Starting costs nothing,
        and leaves more than twice the budget for the means (docs/series.md).
    random_state : int, optional
        Seed of public choices such as where cells are split; by default a new one each time.
        Noise never depends on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_coordinates)
        Noisy centres in your own units, the largest cluster first; with ``metric="cosine"``
        directions of length 1.
    center_stderr_ : array of shape (n_clusters, n_coordinates)
        Standard errors of the centres, from the noise alone: about the mean of a cluster's rows,
        each clipped to a public radius around the centre.
    cluster_sizes_, size_stderr_ : array of shape (n_clusters,)
        Noisy numbers of rows, and their standard errors.
    cluster_radii_ : array of shape (n_clusters,)
        Root mean square distances of rows to their centre, in the units of `transform`; clipped
        and noisy.
    coreset_ : Coreset
        Weighted points, in your own units, that stand for all rows.
    n_rows_ : int
        The number you typed, or the noisy count.
    attendance_ : tuple of Attendance
        With a federation: how many clients answered each question; of a fit that was resumed,
        each that was asked since.
    releases_ : tuple of Release
        Everything that was learned from the rows.
    privacy_statement_ : Statement
        The promise in words (print it) and as JSON (``to_json()``).
    domain_ : Box, Ball, Mixed or Sphere
        What you promised about the values.
    n_features_in_ : int
        Number of columns.
    feature_names_in_, center_names_ : array
        Names of the table's columns, and of those of the centres, where there are any: a category
        has one for each level, such as "ward=A", in which a centre has the level's share.

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

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: Bounds | None = None,
        radius: float | None = None,
        scale: str | None = None,
        n_rows: int | None = None,
        unit: str | None = None,
        unit_rows: int = 1,
        metric: str = "euclidean",
        max_clusters: int | None = None,
        ledger: str | None = None,
        dataset: str | None = None,
        period: str | None = None,
        init: Any = None,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.scale = scale
        self.n_rows = n_rows
        self.unit = unit
        self.unit_rows = unit_rows
        self.metric = metric
        self.max_clusters = max_clusters
        self.ledger = ledger
        self.dataset = dataset
        self.period = period
        self.init = init
        self.random_state = random_state

    @clears_frames
    def fit(self, X: Any, y: None = None, *, resume: str | None = None) -> Self:
        """Find noisy centres of the rows of `X`.

        `X` is an array, a pandas, Polars or Arrow table, or something larger than memory: paths of
        Parquet or CSV files, a Polars LazyFrame, a DuckDB relation, a DataFrame of Spark
        (docs/scale.md), or a `Federation` whose rows stay with its clients (docs/federated.md).

        Missing values count as the middle of their column, values out of bounds as the bound.
        `resume` is a run of the ledger, to go on with a fit that was interrupted (docs/ledger.md).
        """
        table = open_table(self, X, may_measure_scale=self.init is None)
        cells = self.max_clusters
        if cells is not None:
            cells = whole_number("max_clusters", cells)
        if self.init is None:
            make_plan = _scale.plan if self.scale == MEASURED else private_kmeans.plan
            plan = partial(make_plan, max_clusters=cells)
            _fit.fit(self, table, plan, private_kmeans.run, resume)
        else:
            most = CELLS_PER_CLUSTER * whole_number("n_clusters", self.n_clusters)
            start = start_of(self.init, table, most, self.epsilon)
            seeded = partial(seeded_kmeans.plan, max_clusters=cells, start=start)
            _fit.fit(self, table, seeded, seeded_kmeans.run, resume)
        return self

    def refit(self, n_clusters: int) -> Self:
        """Return a new fitted estimator with another number of clusters, `n_clusters`.

        It follows from `coreset_`: no row is read and nothing is spent.
        """
        check_is_fitted(self)
        other: Self = _fit.refit(self, n_clusters)
        return other

    def k_path(self) -> KPath:
        """Return loss and silhouette for 1 up to `max_clusters` clusters, and where the elbow is.

        It follows from `coreset_`: no row is read and nothing is spent. Print it for a table. To
        choose among up to k clusters, fit with ``n_clusters=k``: the coreset is then fine enough.
        """
        check_is_fitted(self)
        return _fit.choices(self)

    def hierarchy(self) -> Hierarchy:
        """Return which clusters merge first, from centres and noisy sizes: nothing is spent.

        ``privclust.models.plots.draw_hierarchy`` draws it as a tree.
        """
        check_is_fitted(self)
        check_cost(hierarchy_cost(*self.cluster_centers_.shape), "this hierarchy")
        return hierarchy(self.model_)

    def mixture(self) -> Mixture:
        """Return a Gaussian mixture, one component a cluster, from `coreset_`: nothing is spent.

        It is coarse: how columns vary together within a cell of the coreset is not known, so within
        cells they are taken to vary alike and alone (docs/postprocessing.md).
        """
        check_is_fitted(self)
        cost = mixture_cost(len(self.coreset_.points), *self.cluster_centers_.shape)
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
        rng, wanted = np.random.default_rng(seed_of(random_state)), whole_number("n_rows", n_rows)
        check_cost(sample_cost(wanted, self.cluster_centers_.shape[1]), "this sample")
        return sample(self.model_, wanted, rng)

    predict = _methods.predict
    transform = _methods.transform
    fit_predict = _methods.fit_predict
    fit_transform = _methods.fit_transform
    profile = _methods.profile
    _n_features_out = property(_methods.n_features_out)

    def __sklearn_tags__(self) -> Any:
        return _fit.tags(super().__sklearn_tags__())
