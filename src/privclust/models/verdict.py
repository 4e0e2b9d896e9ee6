"""Whether clusters can be relied on, in a word and its reason: from what the fit reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privclust.models._column_notes import unmatched
from privclust.models._fit_notes import at_the_middle, explained_share, listed
from privclust.models.suppression import reported

if TYPE_CHECKING:
    from privclust.models.cluster_model import ClusterModel

GOOD, FAIR = 50, 20
"""Per cent of the variance of rows that good and fair clusters explain at least."""


def verdict(model: ClusterModel) -> str:
    """Return how good clusters are: good, fair or poor, and why; or that nobody measured it.

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
    unread = [repr(name) for name in at_the_middle(model)]
    if unread:
        return (
            f"Quality: fair. Perhaps no cell of {listed(unread)} was read, see below; if cells "
            f"were, clusters are {'good' if share >= GOOD else 'fair'}."
        )
    if share < GOOD:
        return (
            f"Quality: fair. Clusters explain at least {FAIR} % of the variance of rows, and "
            f"perhaps less than {GOOD} %: rows of one cluster differ much."
        )
    return "Quality: good. That means: clusters explain half of the variance of rows or more."
