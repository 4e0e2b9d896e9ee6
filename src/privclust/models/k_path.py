"""How many clusters? Every number at once, from a coreset: no row is read and nothing is spent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from privclust.kernels.grid import FloatArray, IntArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models._notebook import k_path_html
from privclust.models._plotting import plots
from privclust.models._refit_points import (
    CLEAR,
    around_centers,
    check_for_rows,
    public_generator,
    refit_cells,
    refit_centers,
    refit_seconds,
)
from privclust.models.cluster_model import ClusterModel
from privclust.models.clustering import Coreset
from privclust.models.quality import Quality
from privclust.models.stability import stability, stability_seconds

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 16.0
"""Squared distance of two centres in variances along a line: four standard deviations. Halves of a
Gaussian cluster are 2.6 to 3.7 apart, eighths 7, and up to 13 as a noisy coreset shows them."""
CERTAIN = 3.0
"""A cluster has at least so many standard errors of its size."""
LEVEL_ERROR = 0.1
"""Standard error of a loss beside that from noise on cells, as a part of the loss: cells show only
roughly how far rows lie from centres that were not fitted. Two standard errors held 97 % of the
losses on the rows of the tuning settings of `python -m benchmarks stability`."""
HOW_TO_READ = (
    "A good k is one up to which the loss falls steeply and after which it falls slowly, if its "
    "stability is near 1."
)
STABILITY_OFF = 0.07
"""How far a predicted stability is from that of fits, on average over the held-out tables of
`python -m benchmarks stability`."""
ON_STABILITY = (
    "Stability estimates how much another fit would find again: 1 if the same rows are together, 0 "
    f"if that is chance. On tables where it was measured it was off by {STABILITY_OFF:g} on "
    "average. A high one does not say that the fit is good."
)


@dataclass(frozen=True)
class Choice:
    """What one number of clusters gives: the fit itself, or ``refit`` with another number.

    Attributes
    ----------
    n_clusters : int
        k.
    loss, stderr : float
        Mean squared distance of rows to their centre, in radii of the domain, and its standard
        error. Most of the error is the same for all k: how losses compare is known better. If
        `KPath.is_capped`, rows far out count as nearer ones.
    stability : float
        The adjusted Rand index to expect between this clustering of the rows and that of another
        fit of the same rows: 1 if the same rows are together, 0 if it is chance. A high one does
        not say that the fit is good: a bad one may be found again every time.
    silhouette : float
        1 if rows are at their own centre, 0 if the next centre is as near (as estimated from the
        coreset; for k = 1 it is 0).
    distinct : bool
        Whether every cluster is apart from the others and larger than noise.
    """

    n_clusters: int
    loss: float
    stderr: float
    stability: float
    silhouette: float
    distinct: bool


@dataclass(frozen=True)
class KPath:
    """Numbers of clusters beside each other.

    Attributes
    ----------
    choices : tuple of Choice
        One for each number of clusters, from 1 up.
    is_capped : bool, default=False
        Whether losses are capped ones, as `Quality.capped_loss` is: noise hides what far rows add.
    max_clusters : int, default=0
        Up to how many clusters the fit was to choose from. If the path ends before, the coreset has
        no more points with rows.
    dataset : str, optional
        The data set's name in its ledger, if the fit is recorded.

    Examples
    --------
    >>> two = Choice(1, 0.5, 0.01, 1.0, 0.0, True), Choice(2, 0.1, 0.01, 0.9, 0.8, True)
    >>> print(KPath(two, is_capped=True, max_clusters=32))  # doctest: +ELLIPSIS
      k  capped loss    ± stderr   stability  silhouette
      1          0.5        0.01        1.00       0.000
      2          0.1        0.01        0.90       0.800
    The path ends at 2 and not at 32: the coreset has no more points with rows. More rows or ...
    A good k is one up to which the loss falls steeply and after which it falls slowly, if ...
    Stability estimates how much another fit would find again: 1 if the same rows are ...
    """

    choices: tuple[Choice, ...]
    is_capped: bool = False
    max_clusters: int = 0
    dataset: str | None = None

    @property
    def elbow(self) -> int:
        """The most clusters that are all distinct in this fit; 1 if clusters shade into each other.

        It is no advice. Where clusters are far apart it is their number; elsewhere another fit of
        the same rows has another one (`python -m benchmarks elbow`).
        """
        return max(choice.n_clusters for choice in self.choices if choice.distinct)

    def __str__(self) -> str:
        loss = "capped loss" if self.is_capped else "loss"
        lines = [f"{'k':>3}{loss:>13}{'± stderr':>12}{'stability':>12}{'silhouette':>12}"]
        lines += [
            f"{choice.n_clusters:>3}{choice.loss:>13.4g}{choice.stderr:>12.2g}"
            f"{choice.stability:>12.2f}{choice.silhouette:>12.3f}"
            for choice in self.choices
        ]
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return k_path_html(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw losses with their errors, and stabilities on a second scale at the right.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new picture.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = plots().plot_k_path(self, ax)
        return drawn

    @property
    def notes(self) -> list[str]:
        """What to know when reading it, in sentences."""
        return [*filter(None, [self.shortened]), HOW_TO_READ, ON_STABILITY]

    @property
    def shortened(self) -> str | None:
        """Why the path ends before `max_clusters`, in words; None if it does not."""
        last = len(self.choices)
        if last >= self.max_clusters:
            return None
        return (
            f"The path ends at {last} and not at {self.max_clusters}: the coreset has no more "
            "points with rows. More rows or a larger epsilon may give it more."
        )


def k_path_of(model: ClusterModel) -> KPath:
    """Return what a model and its refits with 1, 2, … clusters are like.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> fitted = PrivateKMeans(2, delta=1e-6, radius=1.0, max_clusters=4, random_state=0)
    >>> path = k_path_of(fitted.fit(np.zeros((1000, 2))).model_)
    >>> path.choices[0].n_clusters
    1
    """
    cells = refit_cells(model)
    if len(model.fitted.centers) > 1:  # a single one was released, and needs no points
        check_for_rows(cells)
    points = around_centers(model, cells)
    wanted = max_clusters_of(model)
    most = max(1, min(wanted, int(np.count_nonzero(cells.weights))))
    with threadpool_limits(1):
        choices = tuple(_choice(model, cells, points, k) for k in range(1, most + 1))
    dataset = model.privacy_statement.dataset
    return KPath(choices, _is_capped(model.fitted.quality), wanted, dataset)


def _is_capped(quality: Quality | None) -> bool:
    """Tell whether cells are as wide as the capped loss says, or as radii of clipped rows do."""
    return quality is None or quality.loss_stderr >= CLEAR * quality.loss


def max_clusters_of(model: ClusterModel) -> int:
    """Return up to how many clusters a model was fitted to choose from."""
    typed = model.parameters.get("max_clusters")
    if isinstance(typed, int | np.integer) and typed > 0:
        return int(typed)
    return max(32, 2 * len(model.fitted.centers))


class PathCost(NamedTuple):
    """What a path of k takes: seconds of one core, and bytes."""

    seconds: float
    memory: float


def path_cost(n_points: int, max_clusters: int, n_columns: int) -> PathCost:
    """Return what every number of clusters up to `max_clusters` costs, of a coreset's points.

    Examples
    --------
    >>> path_cost(100, 32, 2).seconds < 10
    True
    """
    most = min(max_clusters, n_points)
    seconds = sum(
        refit_seconds(n_points, k, n_columns) + stability_seconds(n_points, k, n_columns)
        for k in range(1, most + 1)
    )
    return PathCost(seconds, 16.0 * n_points * most * n_columns)


def _choice(model: ClusterModel, cells: Coreset, coreset: Coreset, n_clusters: int) -> Choice:
    """Return what `n_clusters` give, by cells and by these around the released centres."""
    points, weights, known = coreset.points, coreset.weights, coreset.precision
    centers = refit_centers(model, coreset, n_clusters, public_generator(model))
    cluster = nearest(to_grid(points), to_grid(centers))
    squares = ((points[:, None] - centers) ** 2).sum(axis=2)
    apart = squares[np.arange(len(points)), cluster]
    mean_squares = apart + known.radii**2
    whole = max(float(weights.sum()), 1.0)
    loss = float(weights @ mean_squares) / whole
    # Centres move along with noise, but at a minimum that changes the loss only in second order.
    through_weights = (known.size_stderr * (mean_squares - loss)) ** 2
    through_points = 4 * (weights * known.center_stderr) ** 2 * apart
    noise = float(np.sqrt((through_weights + through_points).sum())) / whole
    stderr = math.hypot(noise, LEVEL_ERROR * loss)
    squares[np.arange(len(points)), cluster] = np.inf
    to_next = squares.min(axis=1) + known.radii**2
    shares = 1 - np.sqrt(mean_squares / np.where(to_next > 0, to_next, 1.0))
    silhouette = float(weights @ shares) / whole if n_clusters > 1 else 0.0
    distinct = n_clusters == 1 or _distinct(coreset, centers, cluster, mean_squares)
    return Choice(n_clusters, loss, stderr, stability(cells, n_clusters), silhouette, distinct)


def _distinct(
    coreset: Coreset, centers: FloatArray, cluster: IntArray, mean_squares: FloatArray
) -> bool:
    """Tell whether all clusters are apart from each other and larger than noise."""
    (k, d), weights = centers.shape, coreset.weights
    sizes = np.bincount(cluster, weights, k)
    errors = np.sqrt(np.bincount(cluster, coreset.precision.size_stderr**2, k))
    if (sizes <= CERTAIN * errors).any():
        return False
    variance = np.bincount(cluster, weights * mean_squares, k) / sizes / d
    moved = np.bincount(cluster, (weights * coreset.precision.center_stderr) ** 2, k) / sizes**2
    between = ((centers[:, None] - centers) ** 2).sum(axis=2)
    np.fill_diagonal(between, np.inf)
    # Noise moves centres apart, on average by its variance in each column.
    least = (variance[:, None] + variance) * APART / 2 + (moved[:, None] + moved) * d
    return bool((between > least).all())
