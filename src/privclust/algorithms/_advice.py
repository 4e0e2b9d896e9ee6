"""What to say after a fit that may well be bad: one warning, from Releases and public numbers.

`python -m benchmarks robustness` and `utility` count how many bad fits it misses, and how many good
ones it meets. The limits were chosen on the design half of the former and the tables of the latter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from privclust.algorithms._enough_rows import advice_on_sizes, is_noisy, was_warned
from privclust.algorithms._far_rows import FarRows
from privclust.errors import Message, Parameter
from privclust.kernels.grid import FloatArray
from privclust.models.formatting import percent_with_error

if TYPE_CHECKING:
    from privclust.algorithms._private_kmeans_plan import PrivateKMeansPlan

SEEN = 2.0
"""A cluster shows above the noise if its size has so many standard errors."""
UNSEEN_SHARE = 0.15
"""From this part of all clusters on, those that do not show are worth a word."""
FAR_SHARE = 0.65
"""From this part of the loss on, rows far from every centre are."""
TAIL_ROWS = 15.0
"""Far rows that noise hides matter if there are no more for each cluster: to a few of them k-means
would give centres of their own, and to many it cannot."""


def advise(
    sizes: FloatArray, sigma: float, far: FarRows, plan: PrivateKMeansPlan
) -> Message | None:
    """Return what to say of a fit, by the first reason that holds; None if there is none.

    Parameters
    ----------
    sizes : array of shape (k,)
        As they were released: noise may have made them negative.
    sigma : float
        Standard error of each.
    far : FarRows
        What is known of rows far from every centre.
    plan : PrivateKMeansPlan
        What the fit followed. If its number of rows was warned of, nothing is said again.
    """
    if was_warned(plan) or not is_noisy(plan):
        return None
    return (
        advice_on_sizes(sizes, sigma, plan) or _on_unseen(sizes, sigma) or _on_far(far, len(sizes))
    )


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


def most_is_far(far: FarRows, n_clusters: int) -> bool:
    """Tell whether rows far from every centre make most of the loss, or a few may well do so."""
    return (far.share or 0.0) >= FAR_SHARE or _is_hidden(far, n_clusters)


def _is_hidden(far: FarRows, n_clusters: int) -> bool:
    return far.tail.share >= FAR_SHARE and far.tail.rows <= TAIL_ROWS * n_clusters


def _on_far(far: FarRows, n_clusters: int) -> Message | None:
    if far.share is not None and far.stderr is not None and far.share >= FAR_SHARE:
        share = percent_with_error(far.share, far.stderr)
        return Message(
            f"rows far from every centre have {share} % of the loss or more. They may be "
            "outliers, or clusters that were not found. A larger ",
            Parameter("n_clusters"),
            " or ",
            Parameter("epsilon"),
            " may find them.",
        )
    if not _is_hidden(far, n_clusters):
        return None
    return Message(
        "the farther rows lie from every centre the fewer they are, but so slowly that most of the "
        "loss may come from a few that noise hides. A larger ",
        Parameter("epsilon"),
        " shows more of them.",
    )
