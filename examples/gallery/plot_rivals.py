"""
All estimators on one table
===========================

Fifteen made-up towns, 6,000 rows, epsilon 1: every estimator of the package, and k-means, which
guarantees nothing. The number in each panel is the loss over that of k-means, so 1 is as good as no
privacy at all.

What to look for are towns without a cross, and crosses between two towns. A published method pays
for its guarantee by losing some. ``PrivateKMeans`` spends its budget on first finding where rows
are and then splitting what is large, and seldom loses one.

This is one fit each on one easy table, so it shows *how* methods fail, not how often. That was
measured over 37 tables and five values of epsilon: :doc:`/benchmarks`.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

import privclust

BLUE, RED, GREY, PALE = "#0072b2", "#d55e00", "#888888", "#d0d3d8"

TOWNS = 15
rng = np.random.default_rng(7)
places = rng.uniform(10, 90, (TOWNS, 2))
rows = places[rng.integers(0, TOWNS, 6000)] + rng.normal(0, 2.2, (6000, 2))

# %%
# All private estimators take the same words. Bounds are declared: here a square of 100 by
# 100 km, typed, not read off the rows.

PRIVATE = (
    "PrivateKMeans",
    "PEMeans",
    "HDPEMeans",
    "FastLloyd",
    "FedDPKMeans",
    "DPLloyd",
    "LSHCoreset",
    "BalcanKMeans",
)
found = {"k-means, not private": KMeans(TOWNS, n_init=10, random_state=0).fit(rows)}
for name in PRIVATE:
    estimator = getattr(privclust, name)
    model = estimator(TOWNS, epsilon=1.0, delta=1e-6, bounds=(0, 100), random_state=0)
    found[name] = model.fit(rows)

# %%
# HDPEMeans is made for many columns and projects two onto others here, and FedDPKMeans would
# rather have public rows to start from: neither is at home on this table.

figure, grid = plt.subplots(
    3, 3, layout="constrained", figsize=(6.4, 7.4), sharex=True, sharey=True
)
losses = {
    name: (cdist(rows, model.cluster_centers_).min(axis=1) ** 2).mean()
    for name, model in found.items()
}
reference = losses["k-means, not private"]
for axes, (name, model) in zip(grid.flat, found.items(), strict=True):
    color = {"k-means, not private": GREY, "PrivateKMeans": RED}.get(name, BLUE)
    axes.scatter(*rows.T, s=1, color=PALE, linewidth=0, rasterized=True)
    axes.scatter(*model.cluster_centers_.T, s=40, marker="x", color=color, clip_on=False)
    axes.set_title(f"{name}\n{losses[name] / reference:.2f}")
    axes.set(aspect="equal", xlim=(0, 100), ylim=(0, 100), xticks=(), yticks=())
figure.suptitle("Fifteen towns at epsilon 1: who finds them all?")
plt.show()
