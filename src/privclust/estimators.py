"""The scikit-learn face: one thin class per algorithm."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from privclust import fitting
from privclust.algorithms import hdpe_means, pe_means, private_kmeans
from privclust.bounds import Bounds
from privclust.geometry.grid import FloatArray


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
        Number of centres.
    epsilon : float, default=1.0
        Strength of the promise; smaller is stronger. Infinity adds no noise: NOT PRIVATE, for
        teaching on public rows.
    delta : float
        Probability with which the promise may fail. Required: type a value well below one over
        the number of rows, such as 1e-6.
    bounds : mapping, pair of arrays, or path
        Lower and upper bound of each column: ``{"age": (0, 120)}``, ``([0], [120])``, or the path
        of a bounds file (docs/bounds.md). From knowledge of the field, not from the rows.
    radius : float
        Instead of `bounds`: no row lies farther than this from the origin.
    scale : {"bounds", "none"}, optional
        "bounds" (the default with `bounds`): columns count equally, each by its bounds. "none"
        (the default with `radius`): columns count in their own units.
    n_rows : int, optional
        A number of rows you type because it is public; without it a noisy count is measured.
        If it is exact, the promise is for replacing one row instead, at up to twice mu.
    max_clusters : int, optional
        The largest number of clusters you may later ask `refit` for; default max(32, 2·n_clusters).
        Where rows and budget do not suffice for that many, the coreset has fewer points.
    random_state : int, optional
        Seed of public choices such as where cells are split. Noise never depends on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        Noisy centres in your own units, the largest cluster first.
    center_stderr_ : array of shape (n_clusters, n_features)
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
    releases_ : tuple of Release
        Everything that was learned from the rows.
    privacy_statement_ : Statement
        The promise in words (print it) and as JSON (``to_json()``).
    domain_ : Box or Ball
        What you promised about the values.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features,)
        Column names, where the table has any.

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
        max_clusters: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.scale = scale
        self.n_rows = n_rows
        self.max_clusters = max_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Find noisy centres of the rows of `X`: an array, or a pandas, Polars or Arrow table.

        Missing values count as the middle of their column, values out of bounds as the bound.
        """
        table = fitting.open_table(self, X)
        del X
        cells = self.max_clusters
        if cells is not None:
            cells = fitting.whole_number("max_clusters", cells)
        plan = partial(private_kmeans.plan, max_clusters=cells)
        fitting.fit(self, table, plan, private_kmeans.run)
        return self

    def refit(self, n_clusters: int) -> Self:
        """Return a new fitted estimator with another number of clusters.

        It follows from `coreset_`: no row is read and nothing is spent.
        """
        check_is_fitted(self)
        other: Self = fitting.refit(self, n_clusters)
        return other

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the nearest centre of each row. Labels of protected rows are protected data."""
        check_is_fitted(self)
        return fitting.labels(self, X)

    def transform(self, X: Any) -> FloatArray:
        """Return each row's distances to the centres, in radii of the domain."""
        check_is_fitted(self)
        return fitting.distances(self, X)

    def fit_predict(self, X: Any, y: None = None) -> NDArray[np.int64]:
        """Fit, then label the same rows: for the holder of the data, not for release."""
        return self.fit(X).predict(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        return fitting.tags(super().__sklearn_tags__())


class PEMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Private k-means by private evolution: rows vote for candidate centres, noisily.

    The promise is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Best up to about 16 columns; see `HDPEMeans` for more.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres.
    epsilon : float, default=1.0
        Strength of the promise; smaller is stronger. Infinity adds no noise: NOT PRIVATE, for
        teaching on public rows.
    delta : float
        Probability with which the promise may fail. Required: type a value well below one over
        the number of rows, such as 1e-6.
    bounds : mapping, pair of arrays, or path
        Lower and upper bound of each column: ``{"age": (0, 120)}``, ``([0], [120])``, or the path
        of a bounds file (docs/bounds.md). From knowledge of the field, not from the rows.
    radius : float
        Instead of `bounds`: no row lies farther than this from the origin.
    scale : {"bounds", "none"}, optional
        "bounds" (the default with `bounds`): columns count equally, each by its bounds. "none"
        (the default with `radius`): columns count in their own units.
    n_rows : int, optional
        A number of rows you type because it is public; without it a noisy count is measured.
        If it is exact, the promise is for replacing one row instead, at up to twice mu.
    random_state : int, optional
        Seed of public choices such as candidates. Noise never depends on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        Noisy centres in your own units, the largest cluster first.
    cluster_sizes_ : array of shape (n_clusters,)
        Noisy numbers of rows.
    n_rows_ : int
        The number you typed, or the noisy count.
    releases_ : tuple of Release
        Everything that was learned from the rows.
    privacy_statement_ : Statement
        The promise in words (print it) and as JSON (``to_json()``).
    domain_ : Box or Ball
        What you promised about the values.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features,)
        Column names, where the table has any.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PEMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 1.0, (5000, 2)) for center in (20, 60)])
    >>> model = PEMeans(2, epsilon=1.0, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
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
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.scale = scale
        self.n_rows = n_rows
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Find noisy centres of the rows of `X`: an array, or a pandas, Polars or Arrow table.

        Missing values count as the middle of their column, values out of bounds as the bound.
        """
        table = fitting.open_table(self, X)
        del X
        fitting.fit(self, table, pe_means.plan, pe_means.run)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the nearest centre of each row. Labels of protected rows are protected data."""
        check_is_fitted(self)
        return fitting.labels(self, X)

    def transform(self, X: Any) -> FloatArray:
        """Return each row's distances to the centres, in radii of the domain."""
        check_is_fitted(self)
        return fitting.distances(self, X)

    def fit_predict(self, X: Any, y: None = None) -> NDArray[np.int64]:
        """Fit, then label the same rows: for the holder of the data, not for release."""
        return self.fit(X).predict(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        return fitting.tags(super().__sklearn_tags__())


class HDPEMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Private k-means for many columns: evolution in a projection, then noisy means.

    The promise is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. For more than 16 columns and many rows per cluster.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres.
    epsilon : float, default=1.0
        Strength of the promise; smaller is stronger. Infinity adds no noise: NOT PRIVATE, for
        teaching on public rows.
    delta : float
        Probability with which the promise may fail. Required: type a value well below one over
        the number of rows, such as 1e-6.
    bounds : mapping, pair of arrays, or path
        Lower and upper bound of each column: ``{"age": (0, 120)}``, ``([0], [120])``, or the path
        of a bounds file (docs/bounds.md). From knowledge of the field, not from the rows.
    radius : float
        Instead of `bounds`: no row lies farther than this from the origin.
    scale : {"bounds", "none"}, optional
        "bounds" (the default with `bounds`): columns count equally, each by its bounds. "none"
        (the default with `radius`): columns count in their own units.
    n_rows : int, optional
        A number of rows you type because it is public; without it a noisy count is measured.
        If it is exact, the promise is for replacing one row instead, at up to twice mu.
    random_state : int, optional
        Seed of public choices such as candidates. Noise never depends on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        Noisy centres in your own units, the largest cluster first.
    cluster_sizes_ : array of shape (n_clusters,)
        Noisy numbers of rows.
    n_rows_ : int
        The number you typed, or the noisy count.
    releases_ : tuple of Release
        Everything that was learned from the rows.
    privacy_statement_ : Statement
        The promise in words (print it) and as JSON (``to_json()``).
    domain_ : Box or Ball
        What you promised about the values.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features,)
        Column names, where the table has any.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import HDPEMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 1.0, (5000, 32)) for center in (20, 60)])
    >>> model = HDPEMeans(2, epsilon=1.0, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> np.sort(model.cluster_centers_.mean(axis=1)).round(-1)
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
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.scale = scale
        self.n_rows = n_rows
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Find noisy centres of the rows of `X`: an array, or a pandas, Polars or Arrow table.

        Missing values count as the middle of their column, values out of bounds as the bound.
        """
        table = fitting.open_table(self, X)
        del X
        fitting.fit(self, table, hdpe_means.plan, hdpe_means.run)
        return self

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the nearest centre of each row. Labels of protected rows are protected data."""
        check_is_fitted(self)
        return fitting.labels(self, X)

    def transform(self, X: Any) -> FloatArray:
        """Return each row's distances to the centres, in radii of the domain."""
        check_is_fitted(self)
        return fitting.distances(self, X)

    def fit_predict(self, X: Any, y: None = None) -> NDArray[np.int64]:
        """Fit, then label the same rows: for the holder of the data, not for release."""
        return self.fit(X).predict(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Any:
        return fitting.tags(super().__sklearn_tags__())
