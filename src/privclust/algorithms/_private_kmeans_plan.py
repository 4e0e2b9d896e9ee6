"""What PrivateKMeans fixes before any row is read, and what follows from noisy counts of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privclust.algorithms._background_points import POINTS
from privclust.algorithms._cells import CHUNK, cells_cost
from privclust.algorithms._cost import Cost, Measured, total
from privclust.algorithms._lift import STEPS_MAX
from privclust.algorithms._locate import LOCATE_STEPS
from privclust.algorithms._lone_cells import FAR_SLOT
from privclust.algorithms._merge import STARTS
from privclust.algorithms._quality import NODES_MAX, QUALITY_SLOT
from privclust.models._weighted_kmeans import kmeans_seconds
from privclust.privacy.plan import Plan

MANY_COLUMNS = 32
"""Beyond this many columns clusters are found in a projection."""
COMPONENTS, MOST_COMPONENTS, COLUMNS_PER_COMPONENT = 16, 48, 3
ROOMY = 60.0
"""With at least so many rows per cluster, times mu, the projection of a wide table has more
dimensions, so that clusters that hardly differ from each other stay apart."""

SAMPLE_ROWS = 2**16
SAMPLE_SIGNAL = 300.0
"""A sample has so many rows, and so many per cluster for each standard deviation of a count."""
FULL_STEPS = 2
"""The last steps of refinement measure all rows, also where there is a sample."""
DISTANCE_SHARE = {False: 0.1, True: 0.03}
"""Without and with a projection: the means of many columns need more of the budget."""
SIZE_SHARE = 0.02
HARMLESS, LEAST_MOVES = 0.001, 0.1
"""Refining may raise the loss by this part of it, by noise on means of clusters of average size, if
it has so much of the budget at least."""
CELLS_PER_CLUSTER = 3
ROWS_PER_CELL, ROWS_PER_POINT = 8.0, 24.0
"""A cell needs this many rows for each standard deviation that all of the budget would give: one
that clusters are found by, and one that only makes the coreset finer."""


@dataclass(frozen=True)
class PrivateKMeansPlan:
    """What is fixed before any row is read; every field is public.

    Attributes
    ----------
    n_clusters, n_columns : int
        k and d.
    n_rows : int or None
        A number the user typed, or None to use a noisy count.
    max_clusters : int
        How many cells the coreset should have.
    spending : Plan
        The count, and one slot that stands for all the rest until rows have been counted.
    rows_per_unit : int
        As how many rows one unit counts at most.
    noise_ratio : float
        How many times as large as the budget needs the noise will be.
    """

    n_clusters: int
    n_columns: int
    n_rows: int | None
    max_clusters: int
    spending: Plan
    rows_per_unit: int = 1
    noise_ratio: float = 1.0

    @property
    def mu(self) -> float:
        """One over the noise on a number of rows that all of the budget goes to."""
        return self.mu_of_units / self.rows_per_unit

    @property
    def mu_of_units(self) -> float:
        """One over the noise on a number of units that all of the budget goes to."""
        return self.spending.reserve.mu / self.noise_ratio

    @property
    def projects(self) -> bool:
        """Whether clusters are found in a projection."""
        return self.n_columns > MANY_COLUMNS

    def sampling_exponent(self, n_rows: int) -> int:
        """Return h where clusters are found in a sample of rate 2^-h."""
        units_needed = SAMPLE_SIGNAL * self.n_clusters / min(self.mu_of_units, 1.0)
        spare = n_rows / max(SAMPLE_ROWS, units_needed * self.rows_per_unit)
        return int(math.log2(max(spare, 1.0)))

    def sampled_rows(self, n_rows: int) -> float:
        """Return how many of so many rows clusters are found in; a typed number sets the rate."""
        return n_rows * 2.0 ** -self.sampling_exponent(self.n_rows or n_rows)

    def signal(self, n_rows: int) -> float:
        """Return rows per cluster in standard deviations of a count with all of the budget."""
        return n_rows * self.mu / self.n_clusters

    def moves_needed(self, n_rows: int) -> float:
        """Return which part of the budget refining needs, so that it does no harm by its noise.

        The variance of a mean is that of d coordinates, and clips are about as wide as clusters.
        Clusters much smaller than the average need more.
        """
        return max(self.n_columns / (HARMLESS * max(self.signal(n_rows), 1.0) ** 2), LEAST_MOVES)

    def cells_wanted(self, n_rows: float) -> int:
        """Return how many cells so many rows are split into."""
        signal = n_rows * self.mu
        found = min(CELLS_PER_CLUSTER * self.n_clusters, int(signal / ROWS_PER_CELL))
        kept = min(self.max_clusters, int(signal / ROWS_PER_POINT))
        return max(found, kept, 2 * self.n_clusters)

    def can_confirm(self, n_rows: int, left: float) -> bool:
        """Tell whether refining can spare, of what splitting left, what confirming costs."""
        kept = self.moves_needed(n_rows) + DISTANCE_SHARE[False] + SIZE_SHARE + QUALITY_SLOT.share
        return not self.projects and left - kept >= FAR_SLOT.share

    def components(self, n_rows: int) -> int:
        """Return in how many dimensions clusters are found."""
        if not self.projects:
            return self.n_columns
        if self.signal(n_rows) < ROOMY:
            return COMPONENTS
        return min(max(COMPONENTS, self.n_columns // COLUMNS_PER_COMPONENT), MOST_COMPONENTS)

    def cost(self) -> Cost:
        """Return what a fit costs at most."""
        k, d, cells = float(self.n_clusters), float(self.n_columns), self.cost_cells
        p = float(min(self.n_columns, MOST_COMPONENTS)) if self.projects else d
        merging = kmeans_seconds(cells + POINTS, k, p, STARTS)
        # Cells are compared with each other: with those alike, and with those around.
        arrays = 32 * (cells + POINTS) * (p + d) + 40 * cells * min(cells, CHUNK)
        return total(self.cost_queries(), merging + 1e-7 * cells**2, arrays)

    def cost_queries(self) -> list[Measured]:
        """Return the queries, as many as there can be, with as many shells as is typical."""
        k, d, cells = float(self.n_clusters), float(self.n_columns), self.cost_cells
        p = float(min(self.n_columns, MOST_COMPONENTS)) if self.projects else d
        measured = [
            # The first step has a core and a shell.
            Measured(d + 2, 1, d, LOCATE_STEPS + 1, passes=1),
            # Cells double from step to step, each measured twice: four to six times the last.
            cells_cost(cells, p, times=5),
            Measured(0, 1, p, 2 * math.log2(cells), passes=0),
            Measured(k * (d + 2), k, d, STEPS_MAX if self.projects else 4, passes=FULL_STEPS),
            Measured(k, k, d),
            Measured(NODES_MAX, k, d),
        ]
        if self.projects:
            # What lies aside of cells may double them, and so may their tails.
            most = 4 * cells * (d + 2)
            measured.append(Measured(cells * (d + 2), cells, d, passes=0, largest=most))
        return measured

    @property
    def cost_cells(self) -> float:
        """The cells that rows are split into: fewer where a typed number of rows is small."""
        wanted = float(max(CELLS_PER_CLUSTER * self.n_clusters, self.max_clusters))
        if self.n_rows is not None:
            wanted = min(wanted, self.n_rows * self.mu / ROWS_PER_CELL)
        return max(wanted, 2.0 * self.n_clusters)
