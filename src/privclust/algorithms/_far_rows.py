"""What votes for squared distances say of rows far from every centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from privclust.kernels.grid import FloatArray

CLEAR = 3.0
"""A node has rows beyond doubt that has so many standard errors of votes."""
GROWING = 0.7
"""A tail has no visible end if its loss falls by no more than this factor from node to node."""
MATTERS = 0.2
"""And if its last visible node has more than this part of the visible loss."""


@dataclass(frozen=True)
class FarRows:
    """Rows beyond the cap of a loss; all of it follows from one Release.

    Attributes
    ----------
    share, stderr : float or None
        About this part of the loss is theirs, with its standard error; None if noise may explain
        it.
    endless : bool
        Whether their loss falls so slowly with the distance that noise may hide most of it.
    """

    share: float | None = None
    stderr: float | None = None
    endless: bool = False


def far_rows(nodes: FloatArray, votes: FloatArray, sigma: float, false_alarms: float) -> FarRows:
    """Return what noisy votes say of rows beyond the second node.

    Of fits to rows none of which is far, at most a part `false_alarms` gets a share.

    Examples
    --------
    >>> nodes = np.array([0.0, 0.01, 0.04, 0.16, 0.64, 2.0])
    >>> ends = far_rows(nodes, np.array([9000.0, 900.0, 90.0, 3.0, -4.0, 5.0]), 5.0, 0.01)
    >>> round(ends.share, 3), ends.endless
    (0.221, False)
    >>> far_rows(nodes, np.array([9000.0, 900.0, 300.0, 90.0, 12.0, 0.0]), 5.0, 0.01).endless
    True
    """
    seen = _share(nodes, votes, sigma, false_alarms) if nodes.size > 2 else None
    share, stderr = seen or (None, None)
    return FarRows(share, stderr, _is_endless(nodes, votes, sigma))


def _share(
    nodes: FloatArray, votes: FloatArray, sigma: float, false_alarms: float
) -> tuple[float, float] | None:
    """Return the share of the loss beyond the cap and its error, as seen from the best distance.

    Whatever distance rows are capped at beyond the cap, the share that is left is too small, since
    as much is missing of the far part as of the whole. What noise does grows with the distance.
    """
    whole = np.minimum(nodes, nodes[2:, None])
    beyond = whole - np.minimum(nodes, nodes[1])
    clear = -float(ndtri(false_alarms / len(beyond)))
    least = beyond @ votes - clear * sigma * np.linalg.norm(beyond, axis=1)
    best = int(np.argmax(least))
    if least[best] <= 0:
        return None
    share, error = ratio(votes, beyond[best], whole[best], sigma)
    return (share if 0 < share < 1 else 1.0), error  # noise may leave less than nothing near


def _is_endless(nodes: FloatArray, votes: FloatArray, sigma: float) -> bool:
    """Tell whether the loss of visible nodes falls too slowly for the rest of it to be little."""
    visible = np.flatnonzero(votes[2:] > CLEAR * sigma) + 2
    if not visible.size:
        return False
    last = int(visible[-1])
    losses = np.maximum(votes * nodes, 0.0)
    after, unseen = 0.0, 0.0
    # The last node is the end of what rows can reach, and its votes those of all rows near it.
    if last + 1 < nodes.size - 1:
        after, unseen = losses[last + 1], sigma * nodes[last + 1]
    falls = after + losses[last] <= GROWING * (losses[last] + losses[last - 1])
    ends = after + unseen <= GROWING * losses[last]
    matters = losses[last] > MATTERS * losses[1 : last + 1].sum()
    return bool(matters and not falls and not ends)


def ratio(
    votes: FloatArray, above: FloatArray, below: FloatArray, sigma: float
) -> tuple[float, float]:
    """Return one weighted sum of noisy votes over another, and its standard error.

    Both sums have the noise of the same votes, and to first order a vote moves the ratio r by
    (above - r·below) over the sum below.
    """
    divisor = float(votes @ below)
    found = float(votes @ above) / divisor
    return found, sigma * float(np.linalg.norm(above - found * below)) / abs(divisor)
