"""The scikit-learn face: one thin class per algorithm."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from threadpoolctl import threadpool_limits

from privclust.algorithms import pe_means
from privclust.domain import Ball, Box, Domain, from_unit
from privclust.engines.numpy import NumpyEngine
from privclust.privacy.budget import Budget
from privclust.privacy.curator import Curator


class PEMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Private k-means by private evolution: rows vote for candidate centres, noisily.

    The promise is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres.
    epsilon : float, default=1.0
        Strength of the promise; smaller is stronger.
    delta : float
        Probability with which the promise may fail. Required: type a value well below one over
        the number of rows, such as 1e-6.
    bounds : pair of arrays
        Lower and upper bound of each column, from knowledge of the field and not from the data.
        Columns then count equally, whatever their units.
    radius : float
        Instead of `bounds`: no row lies farther than this from the origin.
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
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PEMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 1.0, (5000, 2)) for center in (20, 60)])
    >>> model = PEMeans(2, epsilon=1.0, delta=1e-6, bounds=([0, 0], [100, 100]), random_state=0)
    >>> np.sort(model.fit(rows).cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        bounds: tuple[ArrayLike, ArrayLike] | None = None,
        radius: float | None = None,
        n_rows: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.n_rows = n_rows
        self.random_state = random_state

    def fit(self, X: NDArray[Any], y: None = None) -> Self:
        """Find noisy centres of the rows of `X`.

        Parameters
        ----------
        X : array of shape (n_rows, n_features)
            Rows of numbers. Missing values count as the middle of their column, values out of
            bounds as the bound.
        y : None
            Ignored.
        """
        n_columns = _columns_of(X)
        domain = _domain(self.bounds, self.radius, n_columns)
        budget = _budget(self.epsilon, self.delta)
        plan = pe_means.plan(
            _whole_number("n_clusters", self.n_clusters),
            n_columns,
            budget,
            None if self.n_rows is None else _whole_number("n_rows", self.n_rows),
        )
        curator = Curator.open(NumpyEngine(X, domain), plan.spending)
        del X  # no frame of ours shows rows, should a debugger print a traceback's variables
        # The engine spreads rows over the cores itself; BLAS threads beside it would only spin.
        with threadpool_limits(1, "blas"):
            found = pe_means.run(curator, plan, np.random.default_rng(self.random_state))
        largest_first = np.argsort(-found.sizes, kind="stable")
        self.cluster_centers_ = from_unit(domain, found.centers[largest_first])
        self.cluster_sizes_ = found.sizes[largest_first]
        self.n_rows_ = found.n_rows
        self.releases_ = curator.releases
        self.n_features_in_ = n_columns
        return self


def _columns_of(X: object) -> int:
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf":
        raise TypeError(
            "X must be a two-dimensional NumPy array of numbers. Convert it yourself, for instance "
            "with numpy.asarray(X, dtype=float): guessing types from values would reveal them."
        )
    if X.shape[1] == 0:
        raise ValueError("X has no columns; give at least one.")
    return int(X.shape[1])


def _budget(epsilon: float, delta: float | None) -> Budget:
    if delta is None:
        raise ValueError(
            "delta is missing. It is the probability with which the promise may fail: type a "
            "value well below one over the number of rows, such as delta=1e-6."
        )
    return Budget(epsilon, delta)


def _domain(
    bounds: tuple[ArrayLike, ArrayLike] | None, radius: float | None, n_columns: int
) -> Domain:
    if (bounds is None) == (radius is None):
        raise ValueError(
            "give one of bounds and radius. bounds=(lower, upper) holds one value per column, "
            "radius the largest distance from the origin; take them from knowledge of the field, "
            "not from the rows."
        )
    if radius is not None:
        return Ball(np.zeros(n_columns), radius)
    assert bounds is not None
    lower, upper = bounds
    box = Box(lower, upper)
    if box.lower.size != n_columns:
        raise ValueError(
            f"bounds are given for {box.lower.size} columns, X has {n_columns}. "
            "Give one lower and one upper value per column."
        )
    return box


def _whole_number(name: str, value: object) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)
