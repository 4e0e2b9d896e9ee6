"""What votes for squared distances say of rows far from every centre."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from privclust.kernels.grid import FloatArray

VISIBLE = 2.0
"""The node at the cap, and the two beyond it, have so many standard errors of votes, if a tail is
seen at all."""
_FALLS: FloatArray = np.linspace(0.02, 0.9, 45)
"""By which factor the number of rows may fall while squared distances grow by 4."""


@dataclass(frozen=True)
class Tail:
    """Rows beyond the cap of a loss, if their number falls geometrically as far as nodes reach.

    Attributes
    ----------
    share : float
        The part of the loss that is theirs then, as expected by the votes for all nodes: 0 if too
        few are seen.
    rows : float
        As how many rows at one distance they make that part.
    """

    share: float = 0.0
    rows: float = 0.0


@dataclass(frozen=True)
class FarRows:
    """Rows beyond the cap of a loss; all of it follows from one Release.

    Attributes
    ----------
    share, stderr : float or None
        This part of the loss lies beyond the cap, with its standard error; None if noise may
        explain it.
    tail : Tail
        How many there may be where noise hides them.
    """

    share: float | None = None
    stderr: float | None = None
    tail: Tail = Tail()


def far_share(
    nodes: FloatArray, votes: FloatArray, sigma: float, false_alarms: float
) -> tuple[float, float] | None:
    """Return the share of the loss beyond the cap and its error, as seen from the best distance.

    Of fits to rows none of which is far, at most a part `false_alarms` gets a share. Whatever
    distance rows are capped at beyond the cap, the share that is left is too small, since as much
    is missing of the far part as of the whole. What noise does grows with the distance.

    Examples
    --------
    >>> nodes = np.array([0.0, 0.01, 0.04, 0.16, 0.64, 2.0])
    >>> share, _ = far_share(nodes, np.array([9000.0, 900.0, 90.0, 3.0, -4.0, 5.0]), 5.0, 0.01)
    >>> round(share, 3)
    0.221
    """
    if nodes.size < 3:
        return None
    whole = np.minimum(nodes, nodes[2:, None])
    beyond = whole - np.minimum(nodes, nodes[1])
    clear = -float(ndtri(false_alarms / len(beyond)))
    least = beyond @ votes - clear * sigma * np.linalg.norm(beyond, axis=1)
    best = int(np.argmax(least))
    if least[best] <= 0:
        return None
    share, error = ratio(votes, beyond[best], whole[best], sigma)
    return (share if 0 < share < 1 else 1.0), error  # noise may leave less than nothing near


def expected_tail(nodes: FloatArray, votes: FloatArray, sigma: float) -> Tail:
    """Return what rows beyond the second node are expected to be, those that noise hides included.

    Every factor by which their number may fall is weighed by how well the votes agree with it.

    Examples
    --------
    >>> nodes = np.array([0.0, *(0.01 * 4.0 ** np.arange(6))])
    >>> slow = expected_tail(nodes, 8000 * np.array([1, 1, 0.3, 0.1, 0.03, 0.01, 0]), 5.0)
    >>> fast = expected_tail(nodes, 8000 * np.array([1, 1, 0.1, 0.01, 0.001, 0, 0]), 5.0)
    >>> slow.share > 0.65 > 0.4 > fast.share
    True
    """
    visible = VISIBLE * sigma
    # Where no row is seen near, nothing falls, and what two nodes have is too often noise.
    if nodes.size < 4 or votes[1] < visible or np.maximum(votes[2:4], 0.0).sum() < visible:
        return Tail()
    # The last node is the end of what rows can reach, and its votes those of all rows near it.
    seen = votes[2:-1] if nodes.size > 4 else votes[2:]
    shapes = _FALLS[:, None] ** np.arange(nodes.size - 2)
    fitted = shapes[:, : seen.size]
    first = np.maximum(fitted @ seen / (fitted**2).sum(axis=1), 0.0)
    misfit = ((seen - first[:, None] * fitted) ** 2).sum(axis=1) / (2 * sigma**2)
    likelihood = np.exp(misfit.min() - misfit)
    likelihood /= likelihood.sum()
    rows, beyond = first[:, None] * shapes, nodes[2:]
    near, far = max(float(votes[1]), 0.0) * nodes[1], rows @ beyond
    share = float(likelihood @ (far / np.maximum(near + far, 1e-300)))
    expected = likelihood @ rows
    equal = (expected @ beyond) ** 2 / max(float(expected @ beyond**2), 1e-300)
    return Tail(share, float(equal))


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
