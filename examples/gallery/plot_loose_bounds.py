"""
Loose bounds
============

Bounds must come from knowledge of the field, never from the table, so they are always too wide.
Somebody who writes 0 to 120 for the age of schoolchildren is about ten times off. How much does
that cost?

For most methods, nearly everything. Noise has to hide one row, which may lie anywhere within the
bounds, so it grows with them, and whatever searches the bounds searches mostly empty space. The
squares of a *histogram* grow until all rows lie in one of them. *DPLloyd* starts from centres
spread over the bounds and adds noise as wide as they are.

``PrivateKMeans`` spends 1.5 % of its budget on looking where the rows are, from coarse to fine,
and sizes all later noise by what it found. That is why :doc:`/bounds` can say that loose is safe.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from privclust import DPLloyd, PrivateKMeans
from privclust.domains.box import Box
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import NearestVotes

RED, GREEN, INK, GREY = "#d55e00", "#009e73", "#1f2328", "#888888"

CLUSTERS, EPSILON, DELTA = 6, 1.0, 1e-6
rng = np.random.default_rng(5)
turn = np.arange(CLUSTERS) * 2 * np.pi / CLUSTERS
middles = 0.7 * np.column_stack([np.cos(turn), np.sin(turn)])
rows = middles[rng.integers(0, CLUSTERS, 5000)] + rng.normal(0, 0.08, (5000, 2))

# %%
# The naive way
# -------------
# Cut the bounds into 32 by 32 squares, count rows in each with noise, drop counts that may be
# noise alone, and run k-means on the rest. It keeps the same guarantee, and at tight bounds it does
# well.


def naive(width: float) -> FloatArray:
    """Return centres found from a noisy histogram of the square from -width to width."""
    plan = make_plan(Budget(EPSILON, DELTA), [Slot("votes", 1.0)])
    box = Box([-width, -width], [width, width])
    curator = Curator.open(NumpyEngine(rows, box), plan)
    line = (np.arange(32) - 15.5) / 16 / np.sqrt(2)  # corners of a box lie on the unit sphere
    squares = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    counts = curator.measure("votes", NearestVotes(squares))
    kept = counts.values > 4 * counts.sigma
    points = box.from_ball(squares[kept])
    clusters = min(CLUSTERS, len(points))
    centers: FloatArray = (
        KMeans(clusters, random_state=0).fit(points, None, counts.values[kept]).cluster_centers_
    )
    return centers


def fitted(estimator: type[Any], width: float) -> FloatArray:
    """Return the centres that an estimator of the package finds."""
    model = estimator(CLUSTERS, epsilon=EPSILON, delta=DELTA, bounds=(-width, width)).fit(rows)
    return np.asarray(model.cluster_centers_)


# %%
# Three fits each, at bounds 1 to 1000 times too wide
# ---------------------------------------------------
# Rows lie within -1 and 1. The line goes through the middle of three fits, dots are all of them.

widths = np.array([1, 10, 100, 1000])
best = cdist(rows, KMeans(CLUSTERS, n_init=10, random_state=0).fit(rows).cluster_centers_)
reference = (best.min(axis=1) ** 2).mean()
ways: dict[str, Callable[[float], FloatArray]] = {
    "DPLloyd": partial(fitted, DPLloyd),
    "a noisy histogram": naive,
    "PrivateKMeans": partial(fitted, PrivateKMeans),
}
ratios = {
    name: np.array(
        [
            [(cdist(rows, way(width)).min(axis=1) ** 2).mean() / reference for _ in range(3)]
            for width in widths
        ]
    )
    for name, way in ways.items()
}

figure, axes = plt.subplots(layout="constrained", figsize=(6.4, 4.4))
for (name, ratio), color, marker in zip(ratios.items(), (GREEN, INK, RED), "vDo", strict=True):
    axes.plot(widths, np.median(ratio, axis=1), color=color, linewidth=2)
    axes.scatter(np.repeat(widths, 3), ratio, s=22, color=color, marker=marker, label=name)
axes.axhline(1, color=GREY, linewidth=1, linestyle="--", zorder=0)
axes.set(xscale="log", yscale="log")
axes.set_xticks(widths, ["tight", "10 times\ntoo wide", "100 times", "1000 times"])
axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
axes.minorticks_off()
axes.set_ylabel("loss over that of k-means")
axes.legend(loc="upper left")
axes.set_title("Wide bounds cost PrivateKMeans nearly nothing", fontsize=12)
plt.show()
