"""
Private evolution, drawn
========================

One generation of ``PEMeans``, in four steps. Rows vote for the nearest of many candidate centres.
Noise goes on the votes, and nothing else is learned from the rows: one row more or less changes
one vote, wherever it lies. Candidates with too few noisy votes are dropped, weighted k-means on
the others gives the survivors, and survivors have children, most of them near and a few far away.
Survivors and children stand in the next election.

What to see: a candidate in an empty place may win noisy votes, but few against those of a blob.
The explanation is in :doc:`/explanations/private-evolution`.
"""

import matplotlib.pyplot as plt
import numpy as np

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

BLUE, RED, INK, GREY = "#0072b2", "#d55e00", "#1f2328", "#a8aeb7"

CLUSTERS, CHILDREN, ROUNDS = 3, 15, 5
rng = np.random.default_rng(2)
middles = np.array([(-0.45, 0.3), (0.45, 0.4), (0.1, -0.5)])
rows = middles[rng.integers(0, CLUSTERS, 1200)] + rng.normal(0, 0.1, (1200, 2))

# %%
# The votes
# ---------
# The rows are made up, so we may measure once without noise, for the first panel. A real fit has
# the second only: one of five elections at epsilon 1.


def votes_for(candidates: FloatArray) -> FloatArray:
    """Return the rows' votes as one election of a fit would."""
    names = [f"votes {number}" for number in range(1, ROUNDS + 1)]
    plan = make_plan(Budget(1.0, 1e-6), [Slot(name, 1 / ROUNDS) for name in names])
    curator = Curator.open(NumpyEngine(rows, Ball([0.0, 0.0], 1.0)), plan)
    return curator.measure("votes 1", NearestVotes(candidates)).values


candidates = sphere_packing((CHILDREN + 1) * CLUSTERS, 2, rng)
with noise_from(NoNoise()):
    exact = votes_for(candidates)
noisy = votes_for(candidates)

# %%
# The survivors and their children
# --------------------------------
# From here on everything follows from noisy votes and public dice, and costs nothing.

kept = keep_leaders(noisy, len(rows))
survivors = weighted_kmeans(candidates, kept, CLUSTERS, rng).centers
children = next_generation(survivors, CHILDREN, rng)

figure, grid = plt.subplots(2, 2, layout="constrained", figsize=(6.4, 7.1))
(voting, noised), (surviving, born) = grid
for axes in grid.flat:
    axes.set(aspect="equal", xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), xticks=(), yticks=())
nearest = candidates[((rows[:, None] - candidates) ** 2).sum(axis=2).argmin(axis=1)]
voting.plot(*np.stack([rows, nearest], axis=1).T, color=GREY, linewidth=0.3, rasterized=True)
voting.scatter(*rows.T, s=2, color=GREY, rasterized=True)
voting.scatter(*candidates.T, 6 + exact, color=BLUE)
voting.set_title("1. rows vote for the nearest")
noised.scatter(*candidates.T, 6 + noisy.clip(0), color=BLUE)
noised.set_title("2. noise goes on the votes")
surviving.scatter(*candidates[kept > 0].T, 6 + kept[kept > 0], color=BLUE)
surviving.scatter(*survivors.T, s=260, facecolor="none", edgecolor=RED, linewidth=2)
surviving.set_title("3. k-means finds survivors")
born.scatter(*children.T, s=9, color=BLUE)
born.scatter(*survivors.T, s=260, facecolor="none", edgecolor=RED, linewidth=2)
closer = born.inset_axes((0.04, 0.04, 0.38, 0.38))
closer.set(aspect="equal", xlim=(-0.05, 0.05), ylim=(-0.05, 0.05), xticks=(), yticks=())
west, south = survivors[survivors[:, 0].argmin()] - 0.05
closer.set(xlim=(west, west + 0.1), ylim=(south, south + 0.1))
closer.scatter(*children.T, s=9, color=BLUE)
closer.scatter(*survivors.T, s=60, marker="+", color=RED)
born.indicate_inset_zoom(closer, edgecolor=INK)
born.set_title("4. their children stand next")
figure.suptitle("One generation; nothing but noisy votes leaves the rows")
plt.show()
