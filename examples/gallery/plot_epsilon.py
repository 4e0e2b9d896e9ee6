"""
Epsilon against error
=====================

How much accuracy does a stronger guarantee cost? Here are 4,000 made-up rows in eight clusters,
fitted three times at each epsilon. Each dot is one fit: how much larger its loss is than that of
k-means.

The line is what :func:`privclust.forecast` says *before* anything is fitted, from the numbers of
rows, columns and clusters alone. It reads no table and costs nothing, so it is the right place to
choose epsilon: fits to try one out would all have to be paid for.

Two things to see. Halving epsilon costs about four times the extra loss, as noise of twice the
size does. And there is a cliff: below some epsilon noise hides whole clusters, and fits differ
widely from each other. More rows move the cliff to the left.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from privclust import PrivateKMeans, forecast

BLUE, RED = "#0072b2", "#d55e00"

ROWS, COLUMNS, CLUSTERS, DELTA = 4000, 4, 8, 1e-6
rng = np.random.default_rng(1)
middles = rng.uniform(-0.8, 0.8, (CLUSTERS, COLUMNS))
rows = middles[rng.integers(0, CLUSTERS, ROWS)] + rng.normal(0, 0.08, (ROWS, COLUMNS))


def loss(centers: np.ndarray) -> float:
    """Return the mean squared distance of rows to the nearest centre."""
    return float((cdist(rows, centers).min(axis=1) ** 2).mean())


# %%
# At the smallest epsilon a fit warns that clusters will hardly be found and says what would do. We
# know, and want to see it.

epsilons = np.repeat([0.125, 0.25, 0.5, 1, 2, 4], 3)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    fits = [
        PrivateKMeans(CLUSTERS, epsilon=epsilon, delta=DELTA, bounds=(-1, 1)).fit(rows)
        for epsilon in epsilons
    ]
reference = loss(KMeans(CLUSTERS, n_init=10, random_state=0).fit(rows).cluster_centers_)
measured = np.array([loss(model.cluster_centers_) / reference - 1 for model in fits])

# %%
# The forecast needs no rows.

grid = np.geomspace(0.1, 5, 200)
expected = [
    forecast(ROWS, COLUMNS, CLUSTERS, epsilon=epsilon, delta=DELTA).ratio - 1 for epsilon in grid
]

figure, axes = plt.subplots(layout="constrained", figsize=(6.4, 4.4))
axes.plot(grid, expected, color=BLUE, linewidth=2, label="forecast")
axes.scatter(epsilons, measured.clip(1e-4), s=28, color=RED, zorder=3, label="one fit")
axes.set(xscale="log", yscale="log", xlim=(0.1, 5), ylim=(1e-4, 5))
axes.set_xticks([0.125, 0.25, 0.5, 1, 2, 4], ["1/8", "1/4", "1/2", "1", "2", "4"])
axes.set_yticks([1e-4, 1e-3, 1e-2, 1e-1, 1], ["0.01 %", "0.1 %", "1 %", "10 %", "100 %"])
axes.minorticks_off()
axes.set_xlabel("epsilon; less is a stronger guarantee")
axes.set_ylabel("loss above that of k-means")
axes.text(0.16, 0.9, "noise hides clusters")
axes.legend(loc="upper right")
axes.set_title("A forecast that reads no row, and fits that did", fontsize=12)
plt.show()
