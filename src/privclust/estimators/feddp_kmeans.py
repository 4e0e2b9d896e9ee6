"""FedDP-KMeans' scikit-learn face."""

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

from privclust.algorithms import feddp_kmeans
from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.domains.bounds import Bounds
from privclust.errors import ParameterError, shown
from privclust.estimators import _fit, _methods
from privclust.estimators._input import open_table
from privclust.kernels.grid import GRID, FloatArray
from privclust.sources.frames import schema_of
from privclust.sources.guard import clears_frames


class FedDPKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Private k-means for federations whose server has some public rows (Scott et al. 2025).

    The promise is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Few questions, so few rounds of a federation; the more the
    server's rows are like those of the clients, the better.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of centres; 8 as scikit-learn has it.
    server_data : array of shape (q, n_features), optional
        Public rows, such as published ones; some may be unlike those of the clients. Without any,
        points spread over the domain stand in, which suffices for few columns only.
    rounds : int, default=1
        Lloyd steps after the first centres; 0 for none.
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
        Instead of `bounds`: no row lies farther than this from the origin. Without either, rows
        are taken to lie in the ball around the mean of `server_data` that holds all of it.
    scale : {"bounds", "none"}, optional
        "bounds" (the default with `bounds`): columns count equally, each by its bounds. "none"
        (the default with `radius`): columns count in their own units.
    n_rows : int, optional
        A number of rows you type because it is public; without it noisy sizes are added up.
        If it is exact, the promise is for replacing one row instead, at up to twice mu.
    unit : str, optional
        Column of ids, such as "patient_id": all rows with one id are protected together, rows
        without an id as one. With a federation, "client" protects all rows of a client together.
        By default every row is protected alone.
    unit_rows : int, default=1
        How many rows of one id count; more are scaled down together. Noise grows with it, which is
        why it is 1. Sizes and `n_rows` are counted so, too.
    ledger : str, optional
        Path or URL of the ledger that pays for the fit (docs/ledger.md); without one the fit is
        unrecorded.
    dataset : str, optional
        The data set's name in the ledger.
    random_state : int, optional
        Seed of public choices such as the starts of k-means; by default a new one each time.
        Noise never depends on it.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_coordinates)
        Noisy centres in your own units, the largest cluster first.
    cluster_sizes_ : array of shape (n_clusters,)
        Noisy numbers of rows.
    n_rows_ : int
        The number you typed, or the sum of noisy sizes.
    attendance_ : tuple of Attendance
        With a federation: how many clients answered each question; of a fit that was resumed,
        each that was asked since.
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
    >>> from privclust import FedDPKMeans, Federation
    >>> rng = np.random.default_rng(0)
    >>> silos = {
    ...     name: np.vstack([rng.normal(center, 1.0, (2000, 2)) for center in (20, 60)])
    ...     for name in ("north", "south", "west")
    ... }
    >>> public = rng.uniform(0, 100, (50, 2))
    >>> model = FedDPKMeans(2, server_data=public, delta=1e-6, bounds=(0, 100), random_state=0)
    >>> np.sort(model.fit(Federation.in_process(silos)).cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        server_data: FloatArray | None = None,
        rounds: int = 1,
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
        self.server_data = server_data
        self.rounds = rounds
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
        """Find noisy centres of the rows of `X`, a `Federation` or any table.

        Missing values count as the middle of their column, values out of bounds as the bound.
        `resume` is a run of the ledger, to go on with a fit that was interrupted (docs/ledger.md).
        """
        public = None if self.server_data is None else _checked(self.server_data)
        around = None
        if public is not None and self.bounds is None and self.radius is None:
            around = ball_around(public)
        table = open_table(self, X, around)
        server = None if public is None else _in_ball(table.domain, public)
        plan = partial(feddp_kmeans.plan, server=server, rounds=_rounds(self.rounds))
        _fit.fit(self, table, plan, feddp_kmeans.run, resume)
        return self

    predict = _methods.predict
    transform = _methods.transform
    fit_predict = _methods.fit_predict
    fit_transform = _methods.fit_transform
    profile = _methods.profile
    _n_features_out = property(_methods.n_features_out)

    def __sklearn_tags__(self) -> Any:
        return _fit.tags(super().__sklearn_tags__())


def ball_around(points: FloatArray) -> Ball:
    """Return the ball around the mean of public points that holds all of them."""
    middle = points.mean(axis=0)
    return Ball(middle, max(float(np.linalg.norm(points - middle, axis=1).max()), 1e-9))


def _checked(server_data: object) -> FloatArray:
    if not isinstance(server_data, np.ndarray):
        raise ParameterError(
            f"server_data must be a NumPy array of public rows, got {shown(server_data)}. Convert "
            "it, for instance with numpy.asarray(rows, dtype=float)."
        )
    schema_of(server_data)
    points = server_data.astype(np.float64)
    if len(points) == 0 or not np.isfinite(points).all():
        raise ParameterError(
            "server_data must have at least one row and finite numbers only. Leave out rows with "
            "missing values."
        )
    return points


def _in_ball(domain: Domain, points: FloatArray) -> FloatArray:
    if points.shape[1] != domain.center.size:
        raise ParameterError(
            f"server_data has {points.shape[1]} columns and the table {domain.center.size}. Give "
            "the same columns in the same order."
        )
    return domain.to_grid(points) / GRID


def _rounds(rounds: object) -> int:
    if not isinstance(rounds, int) or isinstance(rounds, bool) or not 0 <= rounds <= 100:
        raise ParameterError(
            f"rounds must be a whole number between 0 and 100, got {shown(rounds)}. One is enough "
            "for most tables."
        )
    return rounds
