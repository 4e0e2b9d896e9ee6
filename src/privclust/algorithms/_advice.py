"""What to say after a fit that may well be bad: one warning, from Releases and public numbers.

`python -m benchmarks robustness` and `utility` count how many bad fits it misses, and how many good
ones it meets. The limits were chosen on the design half of the former and the tables of the latter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privclust.algorithms._enough_rows import advice_on_sizes, is_noisy, was_warned
from privclust.errors import Message, Parameter
from privclust.kernels.grid import FloatArray
from privclust.models.formatting import with_error
from privclust.models.quality import Quality

if TYPE_CHECKING:
    from privclust.algorithms.private_kmeans import PrivateKMeansPlan

SEEN = 2.0
"""A cluster shows above the noise if its size has so many standard errors."""
UNSEEN_SHARE = 0.15
"""From this part of all clusters on, those that do not show are worth a word."""
FAR_SHARE = 0.7
"""From this part of the loss on, rows far from every centre are."""


def advise(
    sizes: FloatArray, sigma: float, quality: Quality | None, plan: PrivateKMeansPlan
) -> Message | None:
    """Return what to say of a fit, by the first reason that holds; None if there is none.

    Parameters
    ----------
    sizes : array of shape (k,)
        As they were released: noise may have made them negative.
    sigma : float
        Standard error of each.
    quality : Quality, optional
        How far rows lie from their centres.
    plan : PrivateKMeansPlan
        What the fit followed. If its number of rows was warned of, nothing is said again.
    """
    if was_warned(plan) or not is_noisy(plan):
        return None
    return advice_on_sizes(sizes, sigma, plan) or _on_unseen(sizes, sigma) or _on_far(quality)


def _on_unseen(sizes: FloatArray, sigma: float) -> Message | None:
    k, unseen = len(sizes), int((sizes < SEEN * sigma).sum())
    if unseen < UNSEEN_SHARE * k:
        return None
    return Message(
        f"{unseen} of {k} clusters have sizes that noise may explain (below "
        f"{SEEN * sigma:,.0f} rows). Their centres say little, and others may be missing. "
        "Clusters show with more rows, with a larger ",
        Parameter("epsilon"),
        ", or with ",
        # If none shows there are too few rows, which was said above.
        Parameter("n_clusters", max(1, k - unseen)),
        ".",
    )


def _on_far(quality: Quality | None) -> Message | None:
    if quality is None or quality.far_share is None or quality.far_share_stderr is None:
        return None
    if quality.far_share < FAR_SHARE:
        return None
    share = with_error(100 * quality.far_share, 100 * quality.far_share_stderr)
    return Message(
        f"about {share} % of the loss comes from rows far from every centre. They may be "
        "outliers, or clusters that were not found. A larger ",
        Parameter("n_clusters"),
        " or ",
        Parameter("epsilon"),
        " may find them.",
    )
