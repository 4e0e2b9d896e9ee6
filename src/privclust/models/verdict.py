"""Whether clusters can be relied on, in a word and its reason: from what the fit reported."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privclust.models._column_notes import all_other, at_bounds, unmatched
from privclust.models._fit_notes import explained_share, listed, perhaps_unread
from privclust.models._soft_borders import soft_borders
from privclust.models.suppression import reported

if TYPE_CHECKING:
    from privclust.models.cluster_model import ClusterModel

GOOD, FAIR = 50, 20
"""Per cent of the variance of rows that good and fair clusters explain at least."""
POOR_RECOVERY = 0.65
"""Below this adjusted Rand index, two clusterings agree poorly (Steinley 2004)."""


def verdict(model: ClusterModel) -> str:
    """Return how good clusters are: good, fair, poor or in doubt, and why; or that it is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> rows = np.repeat([[-0.5, 0.0], [0.5, 0.0]], 5000, axis=0)
    >>> verdict(PrivateKMeans(2, delta=1e-6, radius=1.0).fit(rows).model_)
    'Quality: good. That means: clusters explain half of the variance of rows or more.'
    """
    if model.fit_warning is not None:
        return "Quality: poor. The fit warned that it may be much worse than k-means."
    if model.quality is None and not model.measured_quality:
        return "Quality: not measured for these clusters."
    if len(model.cluster_sizes) < 2 or not model.domain.centers_are_means:
        return "Quality: not judged, since there is no variance between means to judge it by."
    share = explained_share(model)
    if share is None or share < FAIR:
        return (
            f"Quality: poor. It is not certain that clusters explain {FAIR} % of the variance of "
            "rows: rows of one cluster differ much, or noise hides how they differ."
        )
    hidden = int((~reported(model)).sum())
    if hidden:
        return f"Quality: fair. Noise is as large as {hidden} of the clusters; do not use those."
    if unmatched(model) is not None:
        return "Quality: fair. A column may not have been read; see below."
    if all_other(model) is not None:
        return "Quality: fair. A category tells nothing apart, and perhaps was not read; see below."
    found = _by_share(model, share)
    unread = [repr(name) for name in perhaps_unread(model)]
    if unread:
        word = found.removeprefix("Quality: ").partition(".")[0]
        return (
            f"Quality: in doubt. Perhaps no cell of {listed(unread)} was read, see below; if cells "
            f"were, clusters are {word}."
        )
    if at_bounds(model) is not None:
        return (
            f"{found} That is the variance of rows as bounds cut them, and some centres lie at a "
            "bound, see below."
        )
    return found


def _by_share(model: ClusterModel, share: int) -> str:
    """Return what the explained part of the variance makes of clusters, if nothing is in doubt."""
    unstable = _low_stability(model)
    if share < GOOD:
        return (
            f"Quality: fair. Clusters explain at least {FAIR} % of the variance of rows, and "
            f"perhaps less than {GOOD} %: rows of one cluster differ much, or noise hides how "
            f"they differ.{unstable and f' Besides, {unstable}'}"
        )
    if unstable:
        return (
            f"Quality: fair. Clusters explain half of the variance of rows or more, but {unstable}"
        )
    return "Quality: good. That means: clusters explain half of the variance of rows or more."


def _low_stability(model: ClusterModel) -> str:
    """Return that the estimated stability is poor; empty if it is not, or takes long to know."""
    borders = soft_borders(model)
    if borders is None or borders.stability >= POOR_RECOVERY:
        return ""
    return (
        "another fit may draw other borders: stability is "
        f"{math.floor(100 * borders.stability) / 100:.2f}, and below {POOR_RECOVERY} it is poor. "
        "Fewer clusters may be more stable; k_path shows it."
    )
