"""PrivateKMeans: locate the rows, split them into cells, merge cells to k, refine the centres.

1. *Locate* (`_locate`): count the rows and find where they are, so that bounds may be loose.
   If there are many, a sample of them is measured from then on.
2. *Split* (`_split`): three times as many cells as clusters, in a projection if d > 32. Each cell
   is measured with the shells around it (`_cells`), so that a few far rows are neither lost nor
   set its width.
3. *Confirm* (`_lone_cells`): cells alone far out stay if enough rows lie as far out as they do.
4. *Merge* (`_merge`): weighted k-means on the cells, with a background for outliers; at no cost.
5. *Refine* (`_refine`): centres move to their means, rows clipped on the scale of each cluster; in
   high dimension the first step lifts them from the projection. The last two steps measure all
   rows.
6. *Sizes* and *quality*: rows vote for the final centres, and for how far they lie from them. What
   refining clear clusters does not need is spent here.

How the constants were found, and what else was tried: docs/design/flagship.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privclust.algorithms._advice import advise, most_is_far
from privclust.algorithms._cells import (
    SMALLEST,
    Cells,
    as_coreset,
    unmeasured,
)
from privclust.algorithms._enough_rows import warn_of_typed_rows
from privclust.algorithms._lift import (
    MARGIN,
    ProjectedCenters,
    lift,
    lifted_cells,
    steps_for,
)
from privclust.algorithms._locate import (
    FIRST_RADIUS,
    FIRST_SLOT,
    LOCATE_SHARE,
    locate,
    locate_roughly,
)
from privclust.algorithms._lone_cells import FAR_SLOT, confirmed, doubtful_cells
from privclust.algorithms._merge import merge, with_background
from privclust.algorithms._private_kmeans_plan import (
    DISTANCE_SHARE,
    FULL_STEPS,
    SIZE_SHARE,
    PrivateKMeansPlan,
)
from privclust.algorithms._quality import QUALITY_SLOT, measure_quality
from privclust.algorithms._refine import Centers, distances_to, refine
from privclust.algorithms._split import find_cells, schedule, settled, shares
from privclust.kernels.grid import GRID, to_grid
from privclust.kernels.projection import Projection, gaussian_projection
from privclust.models.clustering import Clustering, Coreset, Precision
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan, numbered
from privclust.queries.clusters import NearestVotes
from privclust.queries.shells import numbers_changed

SPLIT_SHARE = {False: 0.53, True: 0.29}
FAINT_SPLIT_SHARE = {False: 0.6, True: 0.36}
"""Without and with a projection: the means of many columns need more of the budget. Faint clusters
need more of it to be found at all."""
CORESET_SHARE = 0.02
FAINT, CLEAR = 30.0, 60.0
"""Rows per cluster, times mu: below, each split is measured once; above, refining takes longer."""
QUALITY_SHARE_MAX = 0.15
START_RADII = {False: 3.0, True: 1.3}
"""Splitting starts with this many times the radius of all rows, for those far out. If clusters are
not clear, noise would be as much wider, too."""


def plan(
    n_clusters: int,
    n_columns: int,
    budget: Budget,
    n_rows: int | None = None,
    max_clusters: int | None = None,
    rows_per_unit: int = 1,
    noise_ratio: float = 1.0,
) -> PrivateKMeansPlan:
    """Plan a fit from public values.

    Examples
    --------
    >>> [slot.name for slot in plan(8, 4, Budget(1.0, 1e-6)).spending.slots]
    ['locate 1', 'rest']
    """
    wide = numbers_changed(n_columns)
    first = Slot(FIRST_SLOT, LOCATE_SHARE, wide)
    spending = make_plan(budget, [first, Slot("rest", 1 - LOCATE_SHARE, wide)])
    cells = max(32, 2 * n_clusters) if max_clusters is None else max_clusters
    planned = PrivateKMeansPlan(
        n_clusters, n_columns, n_rows, cells, spending, rows_per_unit, noise_ratio
    )
    warn_of_typed_rows(planned)
    return planned


def run(curator: Curator, plan: PrivateKMeansPlan, rng: np.random.Generator) -> Clustering:
    """Find k clusters, their sizes and how far noise may have moved them."""
    seen = locate_roughly(curator, plan.n_columns)
    n_rows = plan.n_rows or max(1, round(float(seen.counts[0])))
    sample = curator.sample(plan.sampling_exponent(n_rows))
    whole = locate(sample, seen, n_rows)
    projection = _projection(plan, n_rows, rng) if plan.projects else None
    start = _start(whole, START_RADII[plan.signal(n_rows) < CLEAR], projection)
    cells, can_confirm = _split(sample, plan, n_rows, start, rng, projection)
    if can_confirm:
        cells = _confirm(sample, plan, cells)
    width = float(np.median(cells.radii))
    widths = np.full(len(cells.radii), width)
    around_cells = distances_to(sample, "width", cells.centers, widths, projection)
    coreset = as_coreset(sample, cells)
    filled = with_background(coreset, width, around_cells, rng, only_sure=can_confirm)
    merged = merge(filled, plan.n_clusters, rng)
    known = merged.precision
    if projection is None:
        n_steps = 4 if plan.signal(n_rows) > CLEAR else 2
        steps = _plan_refinement(curator, plan, n_steps, n_rows)
        radii = np.clip(known.radii, SMALLEST, 1.0)
        centers = Centers(merged.centers, known.center_stderr**2, radii, radii)
    else:
        projected = ProjectedCenters(merged.centers, known.center_stderr**2, projection)
        within = width * around_cells.quantile(0.6) / (MARGIN * float(whole.radii[0]))
        n_steps = _lift_steps(curator, plan, n_rows, within)
        steps = _plan_refinement(curator, plan, n_steps, n_rows)
        centers = lift(sample, steps.pop(0), whole, projected, n_rows)
    for number, slots in enumerate(steps, 1):
        source = sample if number <= len(steps) - FULL_STEPS else curator
        distances = distances_to(sample, slots[0], centers.points, centers.radii)
        centers = refine(source, slots[1], centers, distances, merged.sizes)
    if projection is not None:
        # In many columns nearly all rows lie as far out as their clip, which tells no width.
        centers = replace(centers, widths=centers.radii)
        coreset = lifted_cells(sample, cells, merged.centers, centers, projection)
    return finish(curator, plan, centers, coreset)


def finish(
    curator: Curator, plan: PrivateKMeansPlan, centers: Centers, coreset: Coreset
) -> Clustering:
    """Measure how many rows are nearest to each of the last centres, and how far they lie."""
    sizes = curator.measure("sizes", NearestVotes(centers.points))
    size_stderr = np.full(plan.n_clusters, sizes.sigma)
    n_rows = plan.n_rows or max(1, round(float(sizes.values.sum())))
    quality = measure_quality(curator, centers, sizes.values, n_rows)
    return Clustering(
        centers.points,
        np.maximum(sizes.values, 0.0),
        n_rows,
        Precision(np.sqrt(centers.variance), size_stderr, centers.widths),
        coreset,
        quality.reported,
        advise(sizes.values, sizes.sigma, quality.far, plan),
        most_is_far=most_is_far(quality.far, plan.n_clusters),
    )


def _split(
    curator: Curator,
    plan: PrivateKMeansPlan,
    n_rows: int,
    start: Cells,
    rng: np.random.Generator,
    projection: Projection | None,
) -> tuple[Cells, bool]:
    """Share out what is left after rows were located, and split until there are enough cells.

    Returns
    -------
    cells : Cells
        One of the rows, or more.
    can_confirm : bool
        Whether there is budget to confirm those alone far out.
    """
    faint = plan.signal(n_rows) < FAINT
    repeats = 1 if faint else 2
    steps = schedule(plan.cells_wanted(n_rows / 2**curator.sampling_exponent), repeats)
    slots = numbered("split", len(steps))
    left = curator.left
    granted = (FAINT_SPLIT_SHARE if faint else SPLIT_SHARE)[plan.projects] * left
    merging = DISTANCE_SHARE[plan.projects] / 2 * left
    wide = numbers_changed(plan.n_columns)
    curator.refine(
        [
            *(
                Slot(name, granted * part, wide)
                for name, part in zip(slots, shares(steps), strict=True)
            ),
            Slot("width", merging),
            Slot("rest", left - granted - merging, wide),
        ]
    )
    can_confirm = plan.can_confirm(n_rows, left - granted)
    cells = find_cells(curator, slots, steps, start, rng, projection, can_confirm)
    return settled(cells, plan.n_clusters), can_confirm


def _confirm(curator: Curator, plan: PrivateKMeansPlan, cells: Cells) -> Cells:
    """Leave out cells alone far out that noise may have made."""
    doubtful = doubtful_cells(cells, plan.n_clusters)
    left, width = curator.left, curator.plan.slot("width")
    if not doubtful.any():
        return cells
    rest = Slot("rest", left - FAR_SLOT.share - width.share, numbers_changed(plan.n_columns))
    curator.refine([FAR_SLOT, width, rest])
    return confirmed(curator, cells, doubtful, plan.n_clusters)


def _plan_refinement(
    curator: Curator, plan: PrivateKMeansPlan, n_steps: int, n_rows: int
) -> list[tuple[str, str]]:
    """Share out what is left after the cells were merged; return the slots of each step."""
    left = curator.left
    wide = numbers_changed(plan.n_columns)
    histograms = DISTANCE_SHARE[plan.projects] / 2
    last = [Slot("sizes", SIZE_SHARE), QUALITY_SLOT]
    if plan.projects:
        last.insert(0, Slot("cells", CORESET_SHARE, wide))
    else:
        spare = left - histograms - SIZE_SHARE - plan.moves_needed(n_rows)
        share = min(max(spare, QUALITY_SLOT.share), QUALITY_SHARE_MAX)
        last[-1] = replace(QUALITY_SLOT, share=share)
    moves = left - histograms - sum(slot.share for slot in last)
    names = list(zip(numbered("distances", n_steps), numbered("sums", n_steps), strict=True))
    slots = [
        slot
        for distances, sums in names
        for slot in (Slot(distances, histograms / n_steps), Slot(sums, moves / n_steps, wide))
    ]
    curator.refine([*slots, *last])
    return names


def _lift_steps(curator: Curator, plan: PrivateKMeansPlan, n_rows: int, within: float) -> int:
    mu2 = curator.left * plan.spending.reserve.mu2 / (plan.rows_per_unit * plan.noise_ratio) ** 2
    return steps_for(plan.n_columns, n_rows / plan.n_clusters, mu2, within)


def _projection(plan: PrivateKMeansPlan, n_rows: int, rng: np.random.Generator) -> Projection:
    drawn = gaussian_projection(plan.n_columns, plan.components(n_rows), rng)
    return Projection(drawn.directions / GRID, drawn.gain * MARGIN)


def _start(whole: Centers, widen: float, projection: Projection | None) -> Cells:
    """Return the cell that holds all rows, wider than most of them reach, as projected."""
    radius = min(widen * float(whole.radii[0]), FIRST_RADIUS)
    if projection is None:
        return unmeasured(whole.points, np.array([radius]))
    return unmeasured(projection(to_grid(whole.points)) / GRID, np.array([MARGIN * radius]))
