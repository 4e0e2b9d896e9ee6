"""How far rows lie from the final centres: the loss, and how much of it lies far out."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from privclust.algorithms._cells import SMALLEST
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
FALSE_ALARMS = 0.01
"""Of fits to rows none of which is far, so many at most have a far share."""


def measure_quality(
    curator: Curator, centers: Centers, sizes: FloatArray, n_rows: int
) -> Quality | None:
    """Measure the loss of final centres on the scale of their clusters' radii.

    None if there are too few rows. That is judged by `n_rows`, which has noise of its own: to judge
    by the votes would pick those whose noise is large, and their errors would hold too seldom.
    """
    weights = np.maximum(sizes, 1.0)
    of_rows = float(np.sqrt(weights @ centers.radii**2 / weights.sum()))
    typical = max(of_rows, float(np.median(centers.radii)), SMALLEST)
    nodes = _nodes(CAP_RADII * typical, centers.points)
    release = curator.measure(MEASURED_AS, SquaredDistanceVotes(centers.points, nodes))
    if n_rows < FEWEST * release.sigma * np.sqrt(nodes.size):
        return None
    return quality_of(nodes, release.values, release.sigma)


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
    capped = _ratio(votes, np.minimum(nodes, nodes[1]), np.ones(nodes.size), sigma)
    loss = _ratio(votes, nodes, np.ones(nodes.size), sigma)
    far = _far_share(nodes, votes, sigma)
    return Quality(float(np.sqrt(nodes[1])), *capped, *loss, *(far or (None, None)))


def _nodes(cap: float, centers: FloatArray) -> FloatArray:
    """Return 0, the squared cap, and its multiples up to the farthest that a row can lie."""
    # Votes are split linearly: more nodes below the cap would add noise and tell nothing more.
    farthest = min((1 + float(np.linalg.norm(centers, axis=1).min())) ** 2, FARTHEST)
    multiples = cap**2 * 4.0 ** np.arange(NODES_MAX - 1)
    return np.array([0.0, *multiples[multiples < farthest / 2], farthest])


def _far_share(nodes: FloatArray, votes: FloatArray, sigma: float) -> tuple[float, float] | None:
    """Return the share of the loss beyond the cap and its error, as seen from the best distance.

    Whatever distance rows are capped at beyond the cap, the share that is left is too small, since
    as much is missing of the far part as of the whole. What noise does grows with the distance.
    """
    if nodes.size < 3:
        return None
    whole = np.minimum(nodes, nodes[2:, None])
    beyond = whole - np.minimum(nodes, nodes[1])
    clear = -float(ndtri(FALSE_ALARMS / len(beyond)))
    least = beyond @ votes - clear * sigma * np.linalg.norm(beyond, axis=1)
    best = int(np.argmax(least))
    if least[best] <= 0:
        return None
    share, error = _ratio(votes, beyond[best], whole[best], sigma)
    return (share if 0 < share < 1 else 1.0), error  # noise may leave less than nothing near


def _ratio(
    votes: FloatArray, above: FloatArray, below: FloatArray, sigma: float
) -> tuple[float, float]:
    """Return one weighted sum of noisy votes over another, and its standard error.

    Both sums have the noise of the same votes, and to first order a vote moves the ratio r by
    (above - r·below) over the sum below.
    """
    divisor = float(votes @ below)
    ratio = float(votes @ above) / divisor
    return ratio, sigma * float(np.linalg.norm(above - ratio * below)) / abs(divisor)
