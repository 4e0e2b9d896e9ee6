"""PrivateKMeans from a start that is public: last week's centres, or rows that a server may show.

1. *Count* the rows (`_locate`). Where they are is known well enough.
2. *Measure* the start's cells, split the widest and measure again: rows may have come where no
   centre was, so that k-means on the cells can find a start that is better by far.
3. *Refine* from there, with most of the budget, and measure sizes and quality, as
   `private_kmeans` does.

What a start saves is the search, which takes more than half of a fit's budget without one, and
which at small epsilon may miss clusters altogether.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from privclust.algorithms._background_points import POINTS
from privclust.algorithms._cells import (
    CHUNK,
    SMALLEST,
    Cells,
    as_coreset,
    cells_cost,
    measure_cells,
    unmeasured,
)
from privclust.algorithms._cost import Cost, Measured, total
from privclust.algorithms._enough_rows import warn_of_typed_rows
from privclust.algorithms._locate import FIRST_SLOT, LOCATE_SHARE, locate_roughly
from privclust.algorithms._merge import STARTS, merge, with_background
from privclust.algorithms._private_kmeans_plan import FULL_STEPS, SIZE_SHARE, PrivateKMeansPlan
from privclust.algorithms._quality import NODES_MAX, QUALITY_SLOT
from privclust.algorithms._refine import Centers, distances_to, refine
from privclust.algorithms._split import settled, split, with_certain_tails
from privclust.algorithms._swap import swapped
from privclust.algorithms.private_kmeans import finish
from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models._weighted_kmeans import kmeans_seconds, weighted_kmeans
from privclust.models.clustering import Clustering, Coreset
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Plan, Slot, make_plan, numbered
from privclust.queries.shells import numbers_changed

CELL_SHARE = (0.05, 0.15)
"""Of the budget, for the start's cells and for those they are split into."""
WIDTH_SHARE = 0.02
DISTANCE_SHARE = 0.05
STEPS = 2
"""Of refinement: from a start that is near, more steps would only share out the budget."""
MOVED = 0.25
"""How far centres may have moved since, in radii of their clusters."""


@dataclass(frozen=True, eq=False)
class Start:
    """Public points to start from, and how far rows may lie from them.

    Attributes
    ----------
    points : array of shape (S, d)
        Points of the unit ball.
    radii : array of shape (S,)
        Root mean square distances to expect.
    """

    points: FloatArray
    radii: FloatArray


def start_from(points: FloatArray, most: int, rng: np.random.Generator) -> Start:
    """Return a start from public points of the unit ball, merged if there are more than `most`.

    Examples
    --------
    >>> points = np.array([[0.0, 0.0], [0.0, 0.1], [0.5, 0.5], [0.5, 0.6]])
    >>> start = start_from(points, 2, np.random.default_rng(0))
    >>> start.radii.round(3).tolist()
    [0.05, 0.05]
    """
    centers = points
    if len(points) > most:
        centers = weighted_kmeans(points, np.ones(len(points)), most, rng).centers
    cluster = nearest(to_grid(points), to_grid(centers))
    squares = ((points - centers[cluster]) ** 2).sum(axis=1)
    rows = np.bincount(cluster, minlength=len(centers))
    radii = np.sqrt(np.bincount(cluster, squares, len(centers)) / np.maximum(rows, 1))
    gaps = squared_gaps(centers, centers)
    np.fill_diagonal(gaps, np.inf)
    # A point by itself has no width, but for what rounding its mean leaves.
    alone = np.sqrt(np.minimum(gaps.min(axis=1), 1.0)) / 2
    return Start(centers, np.where(radii > SMALLEST, radii, alone))


def start_cost(n_points: int, most: int, n_columns: int) -> Cost:
    """Return what `start_from` costs."""
    kept = float(min(n_points, most))
    seconds = 3e-9 * kept**2 * n_columns
    if n_points > most:
        seconds += kmeans_seconds(n_points, most, n_columns, 10)
    return total([], seconds, 16 * kept**2 + 48.0 * n_points * n_columns)


@dataclass(frozen=True)
class SeededPlan:
    """What is fixed before any row is read: a plan of PrivateKMeans, and where to start."""

    private_kmeans: PrivateKMeansPlan
    start: Start

    @property
    def spending(self) -> Plan:
        """The slots."""
        return self.private_kmeans.spending

    @property
    def keeps_start(self) -> bool:
        """Whether there is a point for each cluster, so that most need not be looked for."""
        return len(self.start.points) == self.private_kmeans.n_clusters

    def sampled_rows(self, n_rows: int) -> float:
        """Return how many of so many rows cells are measured in."""
        return self.private_kmeans.sampled_rows(n_rows)

    def cost(self) -> Cost:
        """Return what a fit costs at most."""
        known, points = self.private_kmeans, float(len(self.start.points))
        k, d = float(known.n_clusters), float(known.n_columns)
        cells = max(known.cost_cells, points)
        queries = [
            Measured(2 * (d + 2), 1, d),
            cells_cost(points, d),
            cells_cost(cells, d),
            Measured(k * (d + 2), k, d, STEPS),
            Measured(k, k, d),
            Measured(NODES_MAX, k, d),
        ]
        coreset = cells + POINTS
        if not self.keeps_start:
            arrays = 32 * coreset * d + 40 * cells * min(cells, CHUNK)
            return total(queries, kmeans_seconds(coreset, k, d, STARTS), arrays)
        swap = 3e-9 * coreset * (coreset + k) * d
        # Where rows are as last time few centres are swapped; one in ten is many.
        arrays = 72 * coreset * max(coreset, k) + 32 * coreset * d
        return total(queries, (1 + k / 10) * swap, arrays)


def plan(
    n_clusters: int,
    n_columns: int,
    budget: Budget,
    n_rows: int | None = None,
    max_clusters: int | None = None,
    rows_per_unit: int = 1,
    noise_ratio: float = 1.0,
    *,
    start: Start,
) -> SeededPlan:
    """Plan a fit from public values, among them the start."""
    wide = numbers_changed(n_columns)
    spending = make_plan(
        budget, [Slot(FIRST_SLOT, LOCATE_SHARE, wide), Slot("rest", 1 - LOCATE_SHARE, wide)]
    )
    cells = max(32, 2 * n_clusters) if max_clusters is None else max_clusters
    planned = PrivateKMeansPlan(
        n_clusters, n_columns, n_rows, cells, spending, rows_per_unit, noise_ratio
    )
    warn_of_typed_rows(planned)
    return SeededPlan(planned, start)


def run(curator: Curator, plan: SeededPlan, rng: np.random.Generator) -> Clustering:
    """Find k clusters from the start, their sizes and how far noise may have moved them."""
    known, start = plan.private_kmeans, plan.start
    rng = _directions_of(start, rng)
    seen = locate_roughly(curator, known.n_columns)
    n_rows = known.n_rows or max(1, round(float(seen.counts[0])))
    steps = _plan_slots(curator, known)
    sample = curator.sample(known.sampling_exponent(n_rows))
    measured = _cells(sample, known, n_rows, start, rng)
    cells = settled(measured, known.n_clusters)
    width = float(np.median(cells.radii))
    around_cells = distances_to(sample, "width", cells.centers, np.full(len(cells.radii), width))
    coreset = as_coreset(sample, cells)
    # Centres that are there already: one whose cells were left out would seem to serve nobody.
    evidence = as_coreset(sample, with_certain_tails(measured)) if plan.keeps_start else coreset
    filled = with_background(evidence, width, around_cells, rng)
    centers, expected = _first_centers(filled, plan, rng)
    for number, (distances, sums) in enumerate(steps, 1):
        source = sample if number <= len(steps) - FULL_STEPS else curator
        histogram = distances_to(sample, distances, centers.points, centers.radii)
        centers = refine(source, sums, centers, histogram, expected)
    return finish(curator, known, centers, coreset)


def _directions_of(start: Start, rng: np.random.Generator) -> np.random.Generator:
    """Return a generator for this start alone.

    Whoever types the same seed every week would otherwise split along the same directions, and
    what they hide once would stay hidden.
    """
    content = sha256(start.points.tobytes()).digest()
    seed = [*rng.integers(2**32, size=4).tolist(), int.from_bytes(content, "little")]
    return np.random.default_rng(seed)


def _plan_slots(curator: Curator, plan: PrivateKMeansPlan) -> list[tuple[str, str]]:
    """Share out what is left after the count; return the slots of each step of refinement."""
    wide = numbers_changed(plan.n_columns)
    names = list(zip(numbered("distances", STEPS), numbered("sums", STEPS), strict=True))
    others = [
        *(
            Slot(name, share, wide)
            for name, share in zip(("start", "split"), CELL_SHARE, strict=True)
        ),
        Slot("width", WIDTH_SHARE),
        Slot("sizes", SIZE_SHARE),
        QUALITY_SLOT,
    ]
    moving = curator.left - sum(slot.share for slot in others) - DISTANCE_SHARE
    refining = [
        slot
        for distances, sums in names
        for slot in (Slot(distances, DISTANCE_SHARE / STEPS), Slot(sums, moving / STEPS, wide))
    ]
    curator.refine([*others, *refining])
    return names


def _cells(
    curator: Curator,
    plan: PrivateKMeansPlan,
    n_rows: int,
    start: Start,
    rng: np.random.Generator,
) -> Cells:
    """Measure the start's cells, then as many as the coreset should have."""
    # Rows that came since may lie beyond what the start saw; a radius shrinks when it is measured.
    radii = np.minimum(2 * np.maximum(start.radii, SMALLEST), 1.0)
    cells = measure_cells(curator, "start", unmeasured(start.points, radii))
    wanted = max(plan.cells_wanted(n_rows / 2**curator.sampling_exponent), len(start.points))
    while len(cells.centers) < wanted // 2:
        cells = split(cells, min(2 * len(cells.centers), wanted), rng)
    return measure_cells(curator, "split", split(cells, wanted, rng))


def _first_centers(
    coreset: Coreset, plan: SeededPlan, rng: np.random.Generator
) -> tuple[Centers, FloatArray]:
    """Return the start with centres swapped where that pays; of another number, merge the cells.

    And about how many rows each cluster has.
    """
    start, n_clusters = plan.start, plan.private_kmeans.n_clusters
    if plan.keeps_start:
        points = swapped(coreset, start.points)
        moved = MOVED * np.maximum(start.radii, np.median(start.radii))
        cluster = nearest(to_grid(coreset.points), to_grid(points))
        sizes = np.bincount(cluster, coreset.weights, n_clusters).astype(np.float64)
        radii = np.clip(start.radii, SMALLEST, 1.0)
        return Centers(points, moved**2 / points.shape[1], radii, radii), sizes
    merged = merge(coreset, n_clusters, rng)
    found = merged.precision
    radii = np.clip(found.radii, SMALLEST, 1.0)
    return Centers(merged.centers, found.center_stderr**2, radii, radii), merged.sizes
