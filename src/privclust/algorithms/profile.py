"""What other columns are like in each cluster: means of numbers, shares of categories and ranges.

Two questions, both of every row. Tallies count, in each cluster, the rows of each level or range
of each column; sums add up the numbers and dates, beside a count. Each column's tally and each
column's sum gets the same part of mu². All counts of a cluster's rows, the one beside the sums and
the totals of all tallies, are put together by their precision into one size, by which shares and
means divide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privclust.algorithms._cost import Cost, Measured, total
from privclust.algorithms._ratios import ratio_ends
from privclust.domains._number_column import NumberColumn
from privclust.domains.base import Domain
from privclust.domains.columns import Column
from privclust.kernels.grid import UNIT, FloatArray
from privclust.models.intervals import Intervals, Z
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan, Slot, make_plan
from privclust.privacy.release import Release
from privclust.queries.profiles import (
    ProfileSums,
    ProfileTallies,
    count_units,
    split_sums,
    value_units,
)

TALLIES, SUMS = "tallies", "sums"


@dataclass(frozen=True, eq=False)
class ProfilePlan:
    """The questions of a profile, and their slots."""

    tallies: ProfileTallies
    sums: ProfileSums | None
    spending: Plan

    def cost(self) -> Cost:
        """Return what a profile costs."""
        k, d = map(float, self.tallies.centers.shape)
        measured = [Measured(self.tallies.size, k, d + len(self.tallies.n_places))]
        if self.sums is not None:
            measured.append(Measured(self.sums.size, k, d + self.sums.n_values))
        return total(measured)


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
        Of numbers, and of dates in days since the first of January 1970; missing cells count as the
        middle of the bounds, those beyond them as the bound. On a logarithmic scale, the mean is
        that of the logarithms. None for categories.
    """

    column: Column
    labels: tuple[str, ...]
    shares: Intervals
    means: Intervals | None


@dataclass(frozen=True, eq=False)
class Found:
    """Sizes of clusters, shape (k,), and what each column is like in them."""

    sizes: Intervals
    columns: tuple[ColumnProfile, ...]


def plan(centers: FloatArray, domain: Domain, budget: Budget) -> ProfilePlan:
    """Share a budget among the questions of a profile: one part per tally, and one per sum."""
    tallied, summed = len(domain.noted), domain.n_numbers
    tallies = ProfileTallies(centers, domain.n_places)
    slots = [Slot(TALLIES, tallied / (tallied + summed), l0=tallied)]
    sums = None
    if summed:
        sums = ProfileSums(centers, tallied, summed)
        slots.append(Slot(SUMS, summed / (tallied + summed), l0=summed + 1))
    return ProfilePlan(tallies, sums, make_plan(budget, slots))


def run(curator: Curator, planned: ProfilePlan) -> None:
    """Ask both questions, whatever the first answer is."""
    curator.measure(TALLIES, planned.tallies)
    if planned.sums is not None:
        curator.measure(SUMS, planned.sums)


def found_in(releases: tuple[Release, ...], columns: tuple[Column, ...], n_clusters: int) -> Found:
    """Work out what the answers to both questions say."""
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
    means = iter(
        _means(number, column_sums, sizes, stderr**2, variance)
        for number, column_sums in zip(numbers, sums.T, strict=True)
    )
    return Found(
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
    return Intervals(*(number.units(number.center + number.reach * side) for side in sides))


def _ratios(
    above: FloatArray,
    below: FloatArray,
    variance_above: float,
    variance_below: float,
    covariance: float,
) -> Intervals:
    ends = ratio_ends(above, below, variance_above, variance_below, covariance, Z)
    return Intervals(above / np.maximum(below, 1.0), *ends)
