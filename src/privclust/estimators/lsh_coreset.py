"""The LSH coreset's scikit-learn face."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)

from privclust.algorithms import lsh_coreset
from privclust.domains.bounds import Bounds
from privclust.estimators import _fit, _methods
from privclust.estimators._input import open_table
from privclust.sources.guard import clears_frames


class LSHCoreset(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Private k-means on a few noisy means that stand for all rows: those of a tree's leaves.

    The promise is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Cells of the tree are cones from the middle of the bounds,
    so clusters in one direction from there are told apart badly.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres; 8 as scikit-learn has it.
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
    scale : {"bounds", "none"}, optional
        "bounds" (the default with `bounds`): columns count equally, each by its bounds. "none"
        (the default with `radius`): columns count in their own units.
    n_rows : int, optional
        A number of rows you type because it is public; without it a noisy count is measured.
        If it is exact, the promise is for replacing one row instead, at up to twice mu.
    unit : str, optional
        Column of ids, such as "patient_id": all rows with one id are protected together, rows
        without an id as one. By default every row is protected alone.
    unit_rows : int, default=1
        How many rows of one id count; more are scaled down together. Noise grows with it, which is
        why it is 1. Sizes and `n_rows` are counted so, too.
    ledger : str, optional
        Path or URL of the ledger that pays for the fit (docs/ledger.md); without one the fit is
        unrecorded.
    dataset : str, optional
        The data set's name in the ledger.
    random_state : int, optional
        Seed of public choices such as planes; by default a new one each time.
        Noise never depends on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_coordinates)
        Noisy centres in your own units, the largest cluster first.
    cluster_sizes_ : array of shape (n_clusters,)
        Noisy numbers of rows.
    n_rows_ : int
        The number you typed, or the noisy count.
    releases_ : tuple of Release
        Everything that was learned from the rows.
    privacy_statement_ : Statement
        The promise in words (print it) and as JSON (``to_json()``).
    domain_ : Box, Ball or Mixed
        What you promised about the values.
    n_features_in_ : int
        Number of columns.
    feature_names_in_, center_names_ : array
        Names of the table's columns, and of those of the centres, where there are any: a category
        has one for each level, such as "ward=A", in which a centre has the level's share.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import LSHCoreset
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 1.0, (5000, 2)) for center in (20, 60)])
    >>> model = LSHCoreset(2, epsilon=1.0, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
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
        ledger: str | None = None,
        dataset: str | None = None,
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
        self.ledger = ledger
        self.dataset = dataset
        self.random_state = random_state

    @clears_frames
    def fit(self, X: Any, y: None = None, *, resume: str | None = None) -> Self:
        """Find noisy centres of the rows of `X`.

        `X` is an array, a pandas, Polars or Arrow table, or something larger than memory: paths of
        Parquet or CSV files, a Polars LazyFrame, a DuckDB relation, a DataFrame of Spark
        (docs/scale.md).

        Missing values count as the middle of their column, values out of bounds as the bound.
        `resume` is a run of the ledger, to go on with a fit that was interrupted (docs/ledger.md).
        """
        table = open_table(self, X)
        _fit.fit(self, table, lsh_coreset.plan, lsh_coreset.run, resume)
        return self

    predict = _methods.predict
    transform = _methods.transform
    fit_predict = _methods.fit_predict
    fit_transform = _methods.fit_transform
    profile = _methods.profile
    _n_features_out = property(_methods.n_features_out)

    def __sklearn_tags__(self) -> Any:
        return _fit.tags(super().__sklearn_tags__())
