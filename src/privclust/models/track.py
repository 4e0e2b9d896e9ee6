"""Clusters that keep their names from one model to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from privclust.errors import ColumnError, ParameterError
from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import FloatArray, IntArray
from privclust.models._notebook import series_html
from privclust.models._plotting import plots
from privclust.models._soft_borders import soft_borders
from privclust.models.cluster_model import ClusterModel, FittedEstimator, model_of
from privclust.models.compare import CHANCE, moved, shift_statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAR = 2.0
"""A centre farther than so many radii of a cluster from where one was last is another cluster."""


@dataclass(frozen=True, eq=False)
class Series:
    """Models of one table at T times, their clusters by ids that last.

    Attributes
    ----------
    ids : tuple of arrays
        For each model the ids of its clusters; those of the first are 0, 1, …
    names : tuple of str
        What the coordinates are called.
    centers, center_stderr : array of shape (T, n_ids, d)
        In your own units; NaN where a model has no such cluster.
    sizes, size_stderr : array of shape (T, n_ids)
        Noisy numbers of rows; NaN where a model has no such cluster.
    drifted : array of shape (T, n_ids)
        Whether a centre lies farther from where it was first than noise and the chance of which
        rows came explain, and than other borders do where these are soft. Where clusters lie apart,
        a thousandth of series say so of some cluster though none moved.

    Examples
    --------
    `track` shows one.
    """

    ids: tuple[IntArray, ...]
    names: tuple[str, ...]
    centers: FloatArray
    center_stderr: FloatArray
    sizes: FloatArray
    size_stderr: FloatArray
    drifted: NDArray[np.bool_]

    def plot(self) -> tuple[Axes, Axes]:
        """Draw where clusters went, and how large they were; those that drifted are in colour.

        Returns
        -------
        tuple of matplotlib Axes
            Of a new picture: places, and sizes.
        """
        drawn: tuple[Axes, Axes] = plots().plot_series(self)
        return drawn

    def rows(self) -> list[list[str]]:
        """Return a table as texts: its header, then each cluster's models, sizes and drift."""
        rows = [["id", "models", "first size", "last size", "drifted"]]
        for number in range(self.sizes.shape[1]):
            there = np.flatnonzero(~np.isnan(self.sizes[:, number]))
            sizes = [f"{self.sizes[place, number]:,.0f}" for place in there[[0, -1]]]
            since = np.flatnonzero(self.drifted[:, number])
            drift = f"from model {since[0]}" if since.size else "no"
            rows.append([str(number), f"{there[0]} to {there[-1]}", *sizes, drift])
        return rows

    @property
    def title(self) -> str:
        """How many clusters were followed, and how many drifted."""
        times, count = self.sizes.shape
        return (
            f"{count:,} cluster{'s' if count > 1 else ''} in {times:,} "
            f"model{'s' if times > 1 else ''}: {int(self.drifted.any(axis=0).sum()):,} drifted"
        )

    def __str__(self) -> str:
        return "\n".join(
            f"{number:>3}  {models:<8}{first:>12}{last:>12}  {drifted}"
            for number, models, first, last, drifted in self.rows()
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return series_html(self)


def track(models: Sequence[ClusterModel | FittedEstimator]) -> Series:
    """Follow the clusters of models of the same columns, given in the order of their times.

    Clusters are matched one to one, so that all together move least; one that is far from all that
    are known gets a new id. Columns count as they do in the later model, so that bounds, weights
    and scales may change. Nothing is read and nothing is spent.

    Parameters
    ----------
    models : sequence of fitted estimators or ClusterModels
        At least one, the oldest first.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> def week(*centers):
    ...     rows = np.vstack([rng.normal(center, 1.0, (9000, 2)) for center in centers])
    ...     return PrivateKMeans(2, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> series = track([week(20, 60), week(20, 61), week(20, 62)])
    >>> [sorted(ids.tolist()) for ids in series.ids], bool(series.drifted[-1].any())
    ([[0, 1], [0, 1], [0, 1]], True)
    """
    if not models:
        raise ParameterError("there is no model to follow. Give a list of one or more.")
    series = [model_of(model) for model in models]
    names = series[0].coordinate_names
    if any(model.coordinate_names != names for model in series):
        raise ColumnError(
            "the models have different columns, so their centres cannot be followed. Give models "
            "that were fitted to the same columns in the same order."
        )
    ids = _ids(series)
    n_ids = 1 + max(int(some.max()) for some in ids)

    def laid_out(parts: list[FloatArray | None], shape: tuple[int, ...]) -> FloatArray:
        found = np.full((len(series), n_ids, *shape), np.nan)
        for time, part in enumerate(parts):
            found[time, ids[time]] = np.nan if part is None else part
        return found

    center = series[0].cluster_centers.shape[1:]
    return Series(
        tuple(ids),
        names,
        laid_out([model.cluster_centers for model in series], center),
        laid_out([model.center_stderr for model in series], center),
        laid_out([model.cluster_sizes for model in series], ()),
        laid_out([model.size_stderr for model in series], ()),
        _drifted(series, ids, n_ids),
    )


def _ids(models: Sequence[ClusterModel]) -> list[IntArray]:
    known = models[0].cluster_centers
    ids = [np.arange(len(known))]
    for model in models[1:]:
        found, to_ball = model.cluster_centers, model.domain.to_ball
        # Radii are of the model's own domain, so distances are, too: another one has other units.
        squares = squared_gaps(to_ball(known), to_ball(found))
        # Beyond the limit all are equally far: who leaves must not push others off their places.
        limit = _limit(model)
        one, other = linear_sum_assignment(np.minimum(squares, limit))
        near = squares[one, other] < limit
        here = np.full(len(found), -1)
        here[other[near]] = one[near]
        new = np.flatnonzero(here < 0)
        here[new] = len(known) + np.arange(len(new))
        known = np.vstack([known, found[new]])
        known[here] = found
        ids.append(here)
    return ids


def _limit(model: ClusterModel) -> float:
    """Return the square of how far a cluster may have moved, in radii of the model's domain."""
    if model.cluster_radii is None:
        return np.inf
    return float((FAR * np.median(model.cluster_radii)) ** 2)


def _drifted(models: Sequence[ClusterModel], ids: list[IntArray], n_ids: int) -> NDArray[np.bool_]:
    """Compare each cluster with the first model that has it."""
    drifted = np.zeros((len(models), n_ids), dtype=bool)
    borders = [soft_borders(model) for model in models]
    first: dict[int, tuple[int, int]] = {}
    chance = CHANCE / (len(models) * n_ids)
    for time, (model, here) in enumerate(zip(models, ids, strict=True)):
        for place, number in enumerate(here.tolist()):
            since, start = first.setdefault(number, (time, place))
            pair = models[since], model, np.array([start]), np.array([place])
            statistics = shift_statistics(*pair, (borders[since], borders[time]))
            drifted[time, number] = moved(*pair, statistics, chance)[0]
    return drifted
