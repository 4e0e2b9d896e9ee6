"""
Vote splitting
==============

Private evolution finds centres by elections: every row votes for the nearest of many candidates,
a few candidates survive, and their children stand in the next election. Who should survive?

The obvious rule keeps the candidates with most votes. It fails just where evolution did well:
where many candidates stand in one blob they *split* its votes. Each has fewer than a lone
candidate elsewhere, so the blob loses its seat, and the next generation is born somewhere else.

``PEMeans`` therefore runs weighted k-means on all candidates, with votes as weights. What counts
then is how many votes lie in a place, not how many candidates share them. Humphries, Lin and
Yekhanin saw this; here are four made-up blobs and four elections without noise, so that nothing
but the rule differs.
"""

from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from privclust.algorithms._packing import sphere_packing
from privclust.algorithms.pe_means import keep_leaders, next_generation
from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.kernels.grid import FloatArray
from privclust.models._weighted_kmeans import weighted_kmeans
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.noise import NoNoise
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import NearestVotes
from privclust.testing import noise_from

BLUE, RED, GREY = "#0072b2", "#d55e00", "#a8aeb7"

CLUSTERS, ROUNDS, CHILDREN = 4, 4, 25
Rule = Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]

# %%
# The two rules
# -------------
# Each is given all candidates and their votes, and returns four survivors.


def most_votes(candidates: FloatArray, votes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Let the candidates with most votes survive."""
    return candidates[np.argsort(-votes, kind="stable")[:CLUSTERS]]


def by_k_means(candidates: FloatArray, votes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Let the centres of the voted candidates survive."""
    return weighted_kmeans(candidates, votes, CLUSTERS, rng).centers


# %%
# The elections
# -------------
# Rows sit behind an engine and only the Curator calls it, as in every fit. With ``NoNoise`` its
# results are exact: fine for rows that are made up, and marked as not private in each Release.


def elections(rows: FloatArray, rule: Rule) -> list[tuple[FloatArray, FloatArray]]:
    """Return the candidates and the survivors of each round."""
    rng = np.random.default_rng(4)
    names = [f"votes {number}" for number in range(1, ROUNDS + 1)]
    plan = make_plan(Budget(8.0, 1e-6), [Slot(name, 1 / ROUNDS) for name in names])
    curator = Curator.open(NumpyEngine(rows, Ball([0.0, 0.0], 1.0)), plan)
    candidates = sphere_packing((CHILDREN + 1) * CLUSTERS, 2, rng)
    rounds = []
    for name in names:
        release = curator.measure(name, NearestVotes(candidates))
        survivors = rule(candidates, keep_leaders(release.values, len(rows)), rng)
        rounds.append((candidates, survivors))
        candidates = next_generation(survivors, CHILDREN, rng)
    return rounds


rows = make_blobs(1000, 2, centers=CLUSTERS, cluster_std=0.9, random_state=3)[0]
rows -= rows.mean(axis=0)
rows /= np.linalg.norm(rows, axis=1).max()
with noise_from(NoNoise()):
    history = {
        "most votes survive": elections(rows, most_votes),
        "weighted k-means": elections(rows, by_k_means),
    }

# %%
# What came of it
# ---------------
# On the left every blob still has candidates. On the right, after four rounds of keeping the
# most-voted, two blobs have none left, and their rows belong to centres far away.

figure, grid = plt.subplots(
    2, 2, layout="constrained", figsize=(6.4, 7.1), sharex=True, sharey=True
)
for line, (name, rounds) in zip(grid, history.items(), strict=True):
    for axes, number in zip(line, (1, ROUNDS), strict=True):
        candidates, survivors = rounds[number - 1]
        axes.scatter(*rows.T, s=5, color=GREY, label="rows", rasterized=True)
        axes.scatter(*candidates.T, s=9, color=BLUE, label="candidates")
        axes.scatter(*survivors.T, s=130, facecolor="none", edgecolor=RED, lw=2, label="survivors")
        axes.set_title(f"round {number}: {name}")
        axes.set(aspect="equal", xlim=(-1, 1), ylim=(-1, 1), xticks=(), yticks=())
figure.suptitle("Ranking loses two of four blobs; weighted k-means keeps all")
figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
