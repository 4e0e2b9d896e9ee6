"""Profiles: what other columns are like in each cluster of a model, worked out from two results."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from privclust.domains._number_column import NumberColumn
from privclust.domains.columns import Column
from privclust.kernels.grid import UNIT, FloatArray, IntArray, to_grid
from privclust.models._cluster_frame import profile_frame
from privclust.models._notebook import guarantee, profile_html
from privclust.models._plotting import plots
from privclust.models._ratio_intervals import ratio_ends
from privclust.models.cluster_model import ClusterModel, FittedEstimator, model_of
from privclust.models.formatting import aligned, cluster_names, counted
from privclust.models.intervals import Intervals, Z
from privclust.models.statement import Statement
from privclust.privacy.release import Release
from privclust.queries.profiles import count_units, split_sums, value_units

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

NOTE = (
    "Means of the cells that are there, or the most frequent level, with 95 % intervals by the "
    "noise alone. Each has noise of its own, so that shares of a column need not add up to 100 %."
)
"""What is said below the table of a profile."""
MEAN = "mean"
SEEN = 4.0
"""Standard errors of a share of missing cells above which it is named."""


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """What one column is like in each of k clusters.

    Attributes
    ----------
    column : Column
        What was declared of it.
    labels : tuple of str
        Its levels or ranges, and "missing".
    shares : Intervals of shape (k, labels)
        Of a cluster's rows, between 0 and 1.
    means : Intervals of shape (k,), or None
        Of numbers, and of dates in days since the first of January 1970, where a cell is there;
        those beyond the bounds count as the bound. On a logarithmic scale, the mean is that of the
        logarithms. None for categories.
    """

    column: Column
    labels: tuple[str, ...]
    shares: Intervals
    means: Intervals | None


@dataclass(frozen=True, eq=False)
class ProfileEstimates:
    """Sizes of clusters, shape (k,), and what each column is like in them, with their intervals."""

    sizes: Intervals
    columns: tuple[ColumnProfile, ...]


@dataclass(frozen=True, eq=False)
class Profile:
    """What other columns are like in each cluster of a model; its statement says how private.

    Intervals hold the truth in 95 of 100 cases, by the noise alone: the truth is that of the rows
    nearest to each of the model's centres, clipped to the declared bounds.

    Attributes
    ----------
    clusters : str
        Hash of the centres, so that a profile is not taken for that of another model.
    sizes : Intervals of shape (k,)
        Numbers of rows of each cluster.
    columns : tuple of ColumnProfile
        Shares of levels and ranges, and means of numbers and dates.
    releases : tuple of Release
        The noisy results that all numbers follow from.
    privacy_statement : Statement
        The guarantee of the profile and of the model it is grouped by, together: in words (print
        it) and as JSON (``to_json()``).

    Examples
    --------
    An estimator's `profile` shows one.
    """

    clusters: str
    sizes: Intervals
    columns: tuple[ColumnProfile, ...]
    releases: tuple[Release, ...]
    privacy_statement: Statement

    @classmethod
    def of(
        cls,
        clusters: str,
        columns: tuple[Column, ...],
        n_clusters: int,
        releases: tuple[Release, ...],
        statement: Statement,
    ) -> Profile:
        """Return the profile that follows from two results, the `releases`.

        `clusters` is the hash of the centres, of which there are `n_clusters`; `columns` are those
        that were profiled, and `statement` is its guarantee.
        """
        found = found_in(releases, columns, n_clusters)
        return cls(clusters, found.sizes, found.columns, releases, statement)

    def __getitem__(self, name: str) -> ColumnProfile:
        """Return what was found about one column."""
        for column in self.columns:
            if column.column.name == name:
                return column
        known = ", ".join(repr(column.column.name) for column in self.columns)
        raise KeyError(f"the profile has no column {name!r}; it has {known}.")

    def rows(self) -> list[list[str]]:
        """Return a table as texts: its header, sizes, and each column's mean or frequent level."""
        clusters = range(len(self.sizes.values))
        return [
            ["", *cluster_names(len(clusters))],
            ["rows", *(_size(self.sizes, cluster) for cluster in clusters)],
            *(
                [_row_name(one), *(summary(one, cluster) for cluster in clusters)]
                for one in self.columns
            ),
        ]

    @property
    def notes(self) -> list[str]:
        """What to know when reading the table, in sentences."""
        return [NOTE, *filter(None, [missing_shares(self)])]

    def __str__(self) -> str:
        statement = self.privacy_statement
        return "\n".join(
            [
                f"{statement.subject}.",
                aligned(self.rows()),
                *filter(None, [statement.counted_as]),
                *self.notes,
                f"Privacy guarantee, with the model: {guarantee(statement)}",
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return profile_html(self)

    def plot(self, column: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw what share of each cluster has each level, or lies in each range, of a column.

        Parameters
        ----------
        column : str, optional
            Which of the profiled columns; by default the first one.
        ax : matplotlib Axes, optional
            Where to draw; by default in a new picture.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = plots().plot_profile(self, column, ax)
        return drawn

    def to_frame(self) -> pd.DataFrame:
        """Return a line for each cluster: its size, means and shares, with their 95 % intervals.

        A column ``name`` stands beside ``name_lower`` and ``name_upper``. Numbers and dates have
        their means by their own names, levels and ranges their shares by ``name=level``.
        """
        return profile_frame(self)


def frequent_places(column: ColumnProfile, most: int) -> IntArray:
    """Return all ranges of a column, or its most frequent levels, in their order."""
    if column.means is not None:
        return np.arange(len(column.labels))
    ranked = np.argsort(-column.shares.values.sum(axis=0), kind="stable")
    return np.sort(ranked[:most])


def mean_name(column: ColumnProfile) -> str:
    """Say what the means of a column are: on a logarithmic scale, those of logarithms."""
    declared = column.column
    on_logs = isinstance(declared, NumberColumn) and declared.transform != "none"
    return "mean of logarithms, as a number" if on_logs else MEAN


def _row_name(column: ColumnProfile) -> str:
    name = column.column.name
    return name if mean_name(column) == MEAN else f"{name}, by logarithms"


def missing_shares(profile: Profile) -> str | None:
    """Return of which columns cells are missing, and how many, in words; None if noise hides it."""
    parts = np.maximum(profile.sizes.values, 1.0)
    parts = parts / parts.sum()
    found = []
    for one in profile.columns:
        share = float(parts @ one.shares.values[:, -1])
        errors = (one.shares.upper - one.shares.values)[:, -1] / Z
        if share > SEEN * np.linalg.norm(parts * errors):
            found.append(f"{one.column.name!r} {100 * share:.1f} %")
    if not found:
        return None
    return f"Cells that are missing, or of no declared level: {', '.join(found)}."


def summary(column: ColumnProfile, cluster: int) -> str:
    """Return a column's mean in a cluster, or its most frequent level, with its interval."""
    if column.means is not None:
        return format_interval(column, cluster)
    place = int(column.shares.values[cluster].argmax())
    return f"{column.labels[place]} {format_interval(column, cluster, place)}"


def _size(sizes: Intervals, cluster: int) -> str:
    size, lower, upper = (
        counted(float(side[cluster])) for side in (sizes.values, sizes.lower, sizes.upper)
    )
    return f"{size} ({lower} to {upper})"


def format_interval(column: ColumnProfile, cluster: int, place: int | None = None) -> str:
    """Return the share of a place in a cluster, or the column's mean there, with its interval."""
    if place is not None:
        shares = column.shares
        value, lower, upper = (
            f"{100 * side[cluster, place]:.1f}"
            for side in (shares.values, shares.lower, shares.upper)
        )
        return f"{value} % ({lower} to {upper})"
    means = column.means
    assert means is not None
    step = float(means.upper[cluster] - means.lower[cluster]) / 4
    value, lower, upper = (
        column.column.format_value(float(side[cluster]), step)
        for side in (means.values, means.lower, means.upper)
    )
    return f"{value} ({lower} to {upper})"


def clusters_of(fitted: ClusterModel | FittedEstimator) -> str:
    """Return a hash of a model's centres, as rows are assigned to them."""
    model = model_of(fitted)
    centers = to_grid(model.domain.to_ball(model.cluster_centers))
    return sha256(centers.tobytes()).hexdigest()[:16]


def found_in(
    releases: tuple[Release, ...], columns: tuple[Column, ...], n_clusters: int
) -> ProfileEstimates:
    """Work out what the results of both queries say.

    All counts of a cluster's rows, the one beside the sums and the totals of all tallies, are put
    together by their precision into one size, by which shares divide. Means divide by that less the
    missing cells of their column, which add 0 to its sum.
    """
    tallies, *rest = releases
    numbers = [column.number for column in columns if column.number is not None]
    labels = [column.labels for column in columns]
    cuts = np.cumsum([len(names) for names in labels])[:-1]
    votes = np.split(tallies.values.reshape(n_clusters, -1), cuts, axis=1)
    counts = [part.sum(axis=1) for part in votes]
    variances = [len(names) * tallies.sigma**2 for names in labels]
    sums, stderr = np.empty((n_clusters, 0)), 0.0
    for release in rest:
        sums, counted = split_sums(release.values, len(numbers))
        stderr = release.sigma * UNIT / value_units(len(numbers))
        counts.append(counted)
        variances.append((release.sigma * UNIT / count_units(len(numbers))) ** 2)
    precision = 1 / np.array(variances)
    variance = 1 / precision.sum()
    sizes = variance * (np.array(counts) * precision[:, None]).sum(axis=0)
    # Sizes have votes in them, of each column as many as it has places.
    present = (
        (sizes - part[:, -1], variance + tallies.sigma**2 - 2 * variance / part.shape[1])
        for column, part in zip(columns, votes, strict=True)
        if column.number is not None
    )
    means = iter(
        _means(number, column_sums, rows, stderr**2, variance_of_rows)
        for number, column_sums, (rows, variance_of_rows) in zip(
            numbers, sums.T, present, strict=True
        )
    )
    return ProfileEstimates(
        Intervals.around(sizes, float(np.sqrt(variance))),
        tuple(
            ColumnProfile(
                column,
                names,
                _shares(part, sizes, tallies.sigma**2, variance),
                None if column.number is None else next(means),
            )
            for column, names, part in zip(columns, labels, votes, strict=True)
        ),
    )


def _shares(
    votes: FloatArray, sizes: FloatArray, variance_above: float, variance_below: float
) -> Intervals:
    """Divide votes by sizes, in which their own noise is too: as often as there are places."""
    shared = variance_below / votes.shape[1]
    below = np.broadcast_to(sizes[:, None], votes.shape)
    return _ratios(votes, below, variance_above, variance_below, shared).within(0.0, 1.0)


def _means(
    number: NumberColumn,
    sums: FloatArray,
    sizes: FloatArray,
    variance_above: float,
    variance_below: float,
) -> Intervals:
    """Divide sums by sizes and return them from half widths to the user's units."""
    found = _ratios(sums, sizes, variance_above, variance_below, 0.0).within(-1.0, 1.0)
    sides = (found.values, found.lower, found.upper)
    return Intervals(*(number.units(number.center + number.half_widths * side) for side in sides))


def _ratios(
    above: FloatArray,
    below: FloatArray,
    variance_above: float,
    variance_below: float,
    covariance: float,
) -> Intervals:
    ends = ratio_ends(above, below, variance_above, variance_below, covariance, Z)
    return Intervals(above / np.maximum(below, 1.0), *ends)
