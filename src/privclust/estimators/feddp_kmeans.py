"""The estimator of FedDP-KMeans."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from privclust.algorithms import feddp_kmeans
from privclust.algorithms.feddp_kmeans import FedDPPlan
from privclust.domains.ball import Ball
from privclust.domains.base import Domain
from privclust.errors import ParameterError, safe_repr
from privclust.estimators._fit_task import Algorithm, Task
from privclust.estimators._input import OpenTable, open_table
from privclust.estimators.base import PrivateClusterer
from privclust.kernels.grid import GRID, FloatArray
from privclust.privacy.integers import is_integer
from privclust.sources.frames import schema_of


class FedDPKMeans(PrivateClusterer):
    """Private k-means for federations whose server has some public rows (Scott et al. 2025).

    The guarantee is (epsilon, delta)-differential privacy for adding or removing one row, for
    everything the fitted object holds. Few queries, so few rounds of a federation; the more the
    server's rows are like those of the clients, the better.

    Parameters
    ----------
    radius : float
        Instead of `bounds`: no row lies farther than this from the origin. Without either, rows
        are taken to lie in the ball around the mean of `server_data` that holds all of it.
    n_rows : int, optional
        A number of rows you type because it is public; without it noisy sizes are added up.
        If it is exact, the guarantee is for replacing one row instead, at up to twice mu.
    server_data : array of shape (q, n_features), optional
        Public rows, such as published ones; some may be unlike those of the clients. Without any,
        points spread over the domain stand in, which suffices for few columns only.
    rounds : int, default=1
        Lloyd steps after the first centres; 0 for none.

    Attributes
    ----------
    n_rows_ : int
        The number you typed, or the sum of noisy sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import FedDPKMeans, Federation
    >>> rng = np.random.default_rng(0)
    >>> clients = {
    ...     name: np.vstack([rng.normal(center, 1.0, (2000, 2)) for center in (20, 60)])
    ...     for name in ("north", "south", "west")
    ... }
    >>> public = rng.uniform(0, 100, (50, 2))
    >>> model = FedDPKMeans(2, server_data=public, delta=1e-6, bounds=(0, 100), random_state=0)
    >>> np.sort(model.fit(Federation.in_process(clients)).cluster_centers_[:, 0]).round(-1)
    array([20., 60.])
    """

    algorithm: ClassVar[Algorithm] = feddp_kmeans
    server_data: FloatArray | None = None
    rounds: int = 1

    def plan(self, task: Task) -> FedDPPlan:
        """Plan a fit that starts from the server's rows; `task` says what is public."""
        server = None if self.server_data is None else _checked(self.server_data)
        if server is not None:
            server = _in_ball(task.domain, server)
        return feddp_kmeans.plan(
            task.n_clusters, task.n_columns, task.budget, task.n_rows, server, _rounds(self.rounds)
        )

    def _open(self, X: Any) -> OpenTable:
        around = None
        if self.server_data is not None:
            public = _checked(self.server_data)
            if self.bounds is None and self.radius is None:
                around = ball_around(public)
        return open_table(self, X, around)


def ball_around(points: FloatArray) -> Ball:
    """Return the ball around the mean of public points that holds all of them."""
    middle = points.mean(axis=0)
    return Ball(middle, max(float(np.linalg.norm(points - middle, axis=1).max()), 1e-9))


def _checked(server_data: object) -> FloatArray:
    if not isinstance(server_data, np.ndarray):
        raise ParameterError(
            f"server_data must be a NumPy array of public rows, got {safe_repr(server_data)}. "
            "Convert it, for instance with numpy.asarray(rows, dtype=float)."
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
    if not is_integer(rounds) or not 0 <= rounds <= 100:
        raise ParameterError(
            f"rounds must be an integer between 0 and 100, got {safe_repr(rounds)}. One is "
            "enough for most tables."
        )
    return int(rounds)
