"""Two models beside each other: which clusters are the same, and how far they moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from privclust.domains.reader import Use
from privclust.errors import ColumnError
from privclust.kernels.grid import FloatArray, IntArray
from privclust.models._coordinates import format_shift
from privclust.models._fit_notes import listed
from privclust.models._matching import matched
from privclust.models._model_differences import differences
from privclust.models._notebook import comparison_html
from privclust.models._soft_borders import SoftBorders, soft_borders
from privclust.models.cluster_model import ClusterModel, FittedEstimator, model_of
from privclust.models.formatting import aligned
from privclust.models.suppression import reported

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 1e-3
"""How often some cluster of two models seems to have moved though none has, if they lie apart."""
BORDERS = (
    "Where clusters shade into each other, another fit of the same rows may draw other borders, "
    "which looks like a move. How far that moves centres is not known of both models."
)
SOFT_BORDERS = (
    "Clusters shade into each other, so that another fit of the same rows may draw other borders. "
    "How far that moves centres and changes sizes is estimated from both models and explains as "
    "much: ± has it, and what moved by less is not said to have moved."
)
SHOWN_COLUMNS, MOST_COLUMNS = 6, 12
"""Columns that a table shows, and that it shows at most where clusters moved by more of them."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Clusters of one model and their counterparts in another.

    Attributes
    ----------
    pairs : array of shape (m, 2)
        A cluster before and the cluster after that is matched to it: one to one, so that all
        together move least. With different numbers of clusters some have no counterpart.
    names : tuple of str
        What the coordinates are called.
    shifts, shift_stderr : array of shape (m, d)
        Centre after less centre before, in your own units, and its standard error from noise.
    size_shifts, size_stderr : array of shape (m,)
        The same of the sizes.
    distances : array of shape (m,)
        How far centres moved, in radii of the first model's domain.
    moved : array of shape (m,)
        Whether a centre moved farther than noise and the chance of which rows came explain, and
        than other borders do where these are soft. Where clusters lie apart, a thousandth of
        comparisons say so of some cluster though none moved. Clusters that a report would leave out
        for their size never did.
    moved_columns : array of shape (m, d)
        By which coordinates: of each cluster that moved, those whose own shift noise and chance do
        not explain. It is the same test of one coordinate at a time, its chance divided by d;
        where many shifted a little, none may stand out.
    uses : tuple of str
        What each coordinate is: a number, a share of a category, or a date.
    gone, new : tuple of int
        Clusters without a counterpart, before and after.
    border_stderr : array of shape (m, d), or None
        How far centres lie elsewhere in other fits of the same rows, where clusters shade into each
        other, as estimated from both models' coresets; 0 where such fits agree. None if a model
        has no coreset, or one that takes longer than a second.
    size_border_stderr : array of shape (m,), or None
        The same of sizes.
    differences : tuple of str, default=()
        In what the models count or were declared otherwise, which centres do not show, and whether
        errors are unknown, in sentences. If sizes cannot be compared, the first one says so.

    Examples
    --------
    `compare` shows one.
    """

    pairs: IntArray
    names: tuple[str, ...]
    shifts: FloatArray
    shift_stderr: FloatArray
    size_shifts: FloatArray
    size_stderr: FloatArray
    distances: FloatArray
    moved: NDArray[np.bool_]
    moved_columns: NDArray[np.bool_]
    uses: tuple[Use, ...]
    gone: tuple[int, ...]
    new: tuple[int, ...]
    border_stderr: FloatArray | None
    size_border_stderr: FloatArray | None
    differences: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """What to know when reading the table: what it leaves out, and how models differ."""
        visible = set(self._shown_columns().tolist())
        hidden = [repr(name) for place, name in enumerate(self.names) if place not in visible]
        left_out = [
            f"Columns that moved less and are not shown ({len(hidden):,}): {listed(hidden)}."
        ]
        borders = [self.on_borders] if self.on_borders else []
        return [*self.differences, *borders, *(left_out if hidden else [])]

    @property
    def on_borders(self) -> str:
        """What borders that another fit would draw otherwise do to the table; empty if nothing."""
        if self.border_stderr is None:
            return BORDERS if self.moved.any() else ""
        return SOFT_BORDERS if self.border_stderr.any() else ""

    @property
    def errors(self) -> FloatArray:
        """Standard errors of shifts, from noise and, where borders are soft, from these."""
        return _with_borders(self.shift_stderr, self.border_stderr)

    @property
    def size_errors(self) -> FloatArray:
        """The same of sizes."""
        return _with_borders(self.size_stderr, self.size_border_stderr)

    def rows(self) -> list[list[str]]:
        """Return a table as texts: its header, then each cluster and its counterpart."""
        columns, moves, errors = self._shown_columns(), self.moves(), self.errors
        size_errors = self.size_errors
        rows = [["clusters", "size", *(self.names[column] for column in columns), ""]]
        for place, (before, after) in enumerate(self.pairs):
            size = format_shift("number", self.size_shifts[place], size_errors[place])
            shifts = [
                format_shift(self.uses[column], self.shifts[place, column], errors[place, column])
                for column in columns
            ]
            rows.append([f"{before} -> {after}", size, *shifts, moves[place]])
        rows += [[f"{cluster} -> ", "gone"] for cluster in self.gone]
        rows += [[f"  -> {cluster}", "new"] for cluster in self.new]
        return rows

    def moves(self, yes: str = "moved", no: str = "") -> list[str]:
        """Return of each pair of clusters in words if it moved and by what.

        `yes` begins what is said of those that moved, `no` is said of others.
        """
        found = [[self.names[one] for one in np.flatnonzero(row)] for row in self.moved_columns]
        return [
            (f"{yes}: {listed(names)}" if names else yes) if moved else no
            for moved, names in zip(self.moved, found, strict=True)
        ]

    @property
    def title(self) -> str:
        """How many clusters moved, and what the numbers of the table are."""
        moved, count = int(self.moved.sum()), len(self.pairs)
        return (
            f"{moved} of {count} cluster{'s' if count > 1 else ''} moved farther than noise and "
            f"chance explain{self._beside_dates}; numbers are after less before"
        )

    @property
    def _beside_dates(self) -> str:
        """How many moved by what is no date: those of two periods always do by dates."""
        of_dates = np.array([use == "date" for use in self.uses])
        if not self.moved_columns[:, of_dates].any():
            return ""
        names = listed([repr(name) for name, one in zip(self.names, of_dates, strict=True) if one])
        others = int(self.moved_columns[:, ~of_dates].any(axis=1).sum())
        return f", {others} of them by another column than {names}, which moves with time"

    def _shown_columns(self) -> IntArray:
        """Return the columns that a table shows: those by which clusters moved come first."""
        farthest = np.abs(self.shifts).max(axis=0, initial=0.0)
        ranked = np.lexsort([-farthest, -self.moved_columns.sum(axis=0)])
        moved = int(self.moved_columns.any(axis=0).sum())
        count = min(max(SHOWN_COLUMNS, moved), MOST_COLUMNS)
        return np.sort(ranked[:count])

    def __str__(self) -> str:
        return "\n".join([f"{self.title}:", aligned(self.rows()), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return comparison_html(self)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas DataFrame with a line for each pair of clusters.

        It has the clusters ``before`` and ``after``, whether they ``moved``, the ``distance`` and
        the shifts of size and centre, each followed by its standard error as the table shows it.
        """
        from privclust.models._cluster_frame import comparison_frame  # pandas takes a second

        return comparison_frame(self)


def compare(
    before: ClusterModel | FittedEstimator, after: ClusterModel | FittedEstimator
) -> Comparison:
    """Match the clusters of two fitted models of the same columns, and say how far they moved.

    Nothing is read and nothing is spent. Where clusters shade into each other, two fits of the same
    rows draw their borders differently; how far that moves centres is estimated from the models.

    Parameters
    ----------
    before, after : fitted estimators or ClusterModels
        Two models of the same columns, such as last year's and this year's.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> def fitted(*centers):
    ...     rows = np.vstack([rng.normal(center, 1.0, (9000, 2)) for center in centers])
    ...     return PrivateKMeans(2, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> found = compare(fitted(20, 60), fitted(20, 70))
    >>> bool(found.moved[found.distances.argmax()]), found.shifts.max().round(-1).item()
    (True, 10.0)
    """
    before, after = model_of(before), model_of(after)
    names = before.coordinate_names
    if names != after.coordinate_names:
        raise ColumnError(
            "the two models have different columns, so their centres cannot be compared. Compare "
            "models that were fitted to the same columns in the same order."
        )
    start, end = (before.domain.to_ball(model.cluster_centers) for model in (before, after))
    pairs = matched(start, end)
    one, other = pairs.T
    borders = soft_borders(before), soft_borders(after)
    of_centers = [None if soft is None else soft.centers for soft in borders]
    of_sizes = [None if soft is None else soft.sizes for soft in borders]
    statistics = shift_statistics(before, after, one, other, borders)
    chance = CHANCE / max(1, len(pairs))
    has_moved = moved(before, after, one, other, statistics, chance)
    return Comparison(
        pairs,
        names,
        after.cluster_centers[other] - before.cluster_centers[one],
        np.hypot(_center_errors(before)[one], _center_errors(after)[other]),
        after.cluster_sizes[other] - before.cluster_sizes[one],
        np.hypot(_size_errors(before)[one], _size_errors(after)[other]),
        np.linalg.norm(end[other] - start[one], axis=1),
        has_moved,
        has_moved[:, None] & _standing_out(statistics, chance),
        tuple(after.domain.coordinate_uses),
        _without(one, len(before.cluster_centers)),
        _without(other, len(after.cluster_centers)),
        _border_errors(of_centers, one, other),
        _border_errors(of_sizes, one, other),
        tuple(differences(before, after)),
    )


def moved(
    before: ClusterModel,
    after: ClusterModel,
    one: IntArray,
    other: IntArray,
    statistics: FloatArray,
    chance: float,
) -> NDArray[np.bool_]:
    """Test the shift of each pair of clusters by its `shift_statistics`.

    `chance` is how often an unmoved cluster may seem to have moved.
    """
    certain = reported(before)[one] & reported(after)[other]
    far = statistics.sum(axis=1) > chi2.isf(chance, statistics.shape[1])
    return np.asarray(far & certain)


def _standing_out(statistics: FloatArray, chance: float) -> NDArray[np.bool_]:
    """Test each coordinate's shift alone, so that one of all stands out by this chance."""
    return np.asarray(statistics > chi2.isf(chance / statistics.shape[1], 1))


def shift_statistics(
    before: ClusterModel,
    after: ClusterModel,
    one: IntArray,
    other: IntArray,
    borders: tuple[SoftBorders | None, SoftBorders | None],
) -> FloatArray:
    """Return squared shifts over their variance by noise, by which rows came, and by borders.

    Rows of a cluster are taken to scatter alike in all columns, on their scales. `borders` are the
    `soft_borders` of both.
    """
    shifts = after.cluster_centers[other] - before.cluster_centers[one]
    d = shifts.shape[1]
    variance = np.hypot(_center_errors(before)[one], _center_errors(after)[other]) ** 2
    for model, chosen, soft in ((before, one, borders[0]), (after, other, borders[1])):
        if soft is not None:
            variance += soft.centers[chosen] ** 2
        if model.cluster_radii is None:
            continue
        rows = np.maximum(model.cluster_sizes[chosen], 1.0)
        radii = np.maximum(model.cluster_radii[chosen], np.median(model.cluster_radii))
        lengths = model.domain.slopes(model.cluster_centers[chosen]) * model.domain.scales
        variance += (radii**2 / (d * rows))[:, None] * lengths**2
    # An unknown error is NaN and stays so: nothing is larger than it.
    return np.asarray(shifts**2 / np.where(variance <= 0, 1e-300, variance))


def _with_borders(noise: FloatArray, borders: FloatArray | None) -> FloatArray:
    return noise if borders is None else np.asarray(np.hypot(noise, borders))


def _border_errors(
    borders: list[FloatArray | None], one: IntArray, other: IntArray
) -> FloatArray | None:
    before, after = borders
    return None if before is None or after is None else np.hypot(before[one], after[other])


def _center_errors(model: ClusterModel) -> FloatArray:
    """Return standard errors of centres; NaN where a model does not know its own."""
    known = model.center_stderr
    return np.full(model.cluster_centers.shape, np.nan) if known is None else known


def _size_errors(model: ClusterModel) -> FloatArray:
    """Return standard errors of sizes; NaN where a model does not know its own."""
    known = model.size_stderr
    return np.full(model.cluster_sizes.shape, np.nan) if known is None else known


def _without(paired: IntArray, count: int) -> tuple[int, ...]:
    return tuple(sorted(set(range(count)) - set(paired.tolist())))
