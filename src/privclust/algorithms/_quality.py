"""How far rows lie from the final centres: the loss, and how much of it lies far out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privclust.algorithms._cells import SMALLEST
from privclust.algorithms._far_rows import FarRows, expected_tail, far_share, ratio
from privclust.algorithms._refine import Centers
from privclust.kernels.grid import FloatArray
from privclust.models.quality import MEASURED_AS, Quality
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot
from privclust.queries.squared_distances import FARTHEST, SquaredDistanceVotes

QUALITY_SLOT = Slot(MEASURED_AS, 0.02, l0=2)
CAP_RADII = 2.5
"""Rows count as far that lie more than so many typical radii from their centre: of a typical row's
cluster or of a typical cluster, whichever is wider. Where most rows are equal, their own cluster
says nothing of the others."""
NODES_MAX = 21
"""From the smallest cap to the largest distance, squares grow by a factor of four."""
FEWEST = 5.0
"""With fewer rows than so many standard errors of the number of votes, no loss is reported."""
FALSE_ALARMS, FALSE_WARNINGS = 0.01, 0.05
"""Of fits to rows none of which is far, so many at most report a far share, and so many judge by
one whether to warn."""


class MeasuredQuality(NamedTuple):
    """What is reported of a loss, and what a warning is judged by."""

    reported: Quality | None
    far: FarRows


def measure_quality(
    curator: Curator, centers: Centers, sizes: FloatArray, n_rows: int
) -> MeasuredQuality:
    """Measure the loss of final centres on the scale of their clusters' widths.

    None if there are too few rows. That is judged by `n_rows`, which has noise of its own: to judge
    by the votes would pick those whose noise is large, and their errors would hold too seldom.
    """
    weights = np.maximum(sizes, 1.0)
    of_rows = float(np.sqrt(weights @ centers.widths**2 / weights.sum()))
    typical = max(of_rows, float(np.median(centers.widths)), SMALLEST)
    nodes = _nodes(CAP_RADII * typical, centers.points)
    release = curator.measure(MEASURED_AS, SquaredDistanceVotes(centers.points, nodes))
    if n_rows < FEWEST * release.sigma * np.sqrt(nodes.size):
        return MeasuredQuality(None, FarRows())
    votes, sigma = release.values, release.sigma
    reported = quality_of(nodes, votes, sigma)
    if reported is None:
        return MeasuredQuality(None, FarRows())
    share, stderr = far_share(nodes, votes, sigma, FALSE_WARNINGS) or (None, None)
    tail = expected_tail(nodes, votes, sigma)
    return MeasuredQuality(reported, FarRows(share, stderr, tail))


def quality_of(nodes: FloatArray, votes: FloatArray, sigma: float) -> Quality | None:
    """Return the losses that noisy votes for squared distances come to.

    Examples
    --------
    >>> nodes, votes = np.array([0.0, 0.25, 1.0]), np.array([6000.0, 3960.0, 40.0])
    >>> found = quality_of(nodes, votes, sigma=10.0)
    >>> found.capped_loss, found.loss
    (0.1, 0.103)
    >>> round(found.far_share, 3), round(found.far_share_stderr, 3)
    (0.029, 0.007)
    """
    if votes.sum() <= 0:
        return None
    capped = ratio(votes, np.minimum(nodes, nodes[1]), np.ones(nodes.size), sigma)
    loss = ratio(votes, nodes, np.ones(nodes.size), sigma)
    far = far_share(nodes, votes, sigma, FALSE_ALARMS) or (None, None)
    return Quality(float(np.sqrt(nodes[1])), *capped, *loss, *far)


def _nodes(cap: float, centers: FloatArray) -> FloatArray:
    """Return 0, the squared cap, and its multiples up to the farthest that a row can lie."""
    # Votes are split linearly: more nodes below the cap would add noise and tell nothing more.
    farthest = min((1 + float(np.linalg.norm(centers, axis=1).min())) ** 2, FARTHEST)
    multiples = cap**2 * 4.0 ** np.arange(NODES_MAX - 1)
    return np.array([0.0, *multiples[multiples < farthest / 2], farthest])
