"""One warning after a fit that may well be bad, by the first reason that holds."""

from __future__ import annotations

import numpy as np
import pytest

from privclust.algorithms import private_kmeans
from privclust.algorithms._advice import FAR_SHARE, SEEN, TAIL_ROWS, advise
from privclust.algorithms._far_rows import FarRows, Tail
from privclust.algorithms._private_kmeans_plan import PrivateKMeansPlan
from privclust.errors import FitWarning, Message
from privclust.privacy.accounting import Budget

SIGMA = 30.0
GOOD = FarRows()
NONE, HIDDEN = Tail(), Tail(0.8, 30.0)


def plan(k: int, n_rows: int | None = None) -> PrivateKMeansPlan:
    return private_kmeans.plan(k, 4, Budget(1.0, 1e-6), n_rows)


def said(unseen: int, k: int = 20, rows: FarRows = GOOD) -> Message | None:
    """Return what is said of a fit with so many clusters that noise may explain."""
    sizes = np.full(k, 1000.0)
    sizes[:unseen] = SEEN * SIGMA - 1.0
    return advise(sizes, SIGMA, rows, plan(k))


def far(share: float, tail: Tail = NONE) -> FarRows:
    return FarRows(share, 0.01, tail)


@pytest.mark.parametrize(
    "rows",
    [
        GOOD,
        far(FAR_SHARE - 0.01),
        FarRows(tail=Tail(FAR_SHARE - 0.01, 5.0)),
        FarRows(tail=Tail(0.99, 20 * TAIL_ROWS + 1)),
    ],
)
def test_of_good_fits_nothing_is_said(rows: FarRows) -> None:
    assert said(0, rows=rows) is None


def test_clusters_that_noise_may_explain_are_counted() -> None:
    assert said(2) is None
    assert said(3) == (
        "3 of 20 clusters have sizes that noise may explain (below 60 rows). Their centres say "
        "little, and others may be missing. Clusters show with more rows, with a larger epsilon, "
        "or with n_clusters=17."
    )


def test_of_few_clusters_each_counts() -> None:
    assert said(1, k=6) is not None
    assert said(1, k=7) is None


def test_without_noise_nothing_is_said() -> None:
    exact = private_kmeans.plan(2, 4, Budget(64.0, 1e-6))
    assert advise(np.zeros(2), 1.0, far(0.9), exact) is None


def test_a_large_share_of_the_loss_from_far_rows_is_named() -> None:
    assert said(0, rows=far(0.812)) == (
        "rows far from every centre have 81.2 ± 1.0 % of the loss or more. They may be "
        "outliers, or clusters that were not found. A larger n_clusters or epsilon may find them."
    )


@pytest.mark.parametrize("rows", [FarRows(tail=HIDDEN), far(0.3, HIDDEN)])
def test_a_tail_that_noise_may_hide_is_named(rows: FarRows) -> None:
    assert said(0, rows=rows) == (
        "the farther rows lie from every centre the fewer they are, but so slowly that most of the "
        "loss may come from a few that noise hides. A larger epsilon shows more of them."
    )


def test_only_the_first_reason_is_given() -> None:
    few = advise(np.full(20, 10.0), SIGMA, far(0.9), plan(20))
    assert few is not None
    assert "can hardly be found" in few
    both = said(10, rows=far(0.9))
    assert both is not None
    assert both.startswith("10 of 20")


def test_nothing_is_said_twice() -> None:
    with pytest.warns(FitWarning, match="can hardly be found"):
        planned = plan(20, n_rows=50)
    assert advise(np.full(20, 2.0), SIGMA, far(0.9), planned) is None
