"""Vote splitting: why the survivors are chosen by k-means and not by rank.

Four public blobs, four elections, no noise (the PE-means paper, Figure 1). Above, the k candidates
with most votes survive: where many candidates crowd one blob they split its votes, and the blob
loses its seat. Below, weighted k-means on all voted candidates keeps one survivor a blob.

Run it with ``python examples/vote_splitting.py [FILE.png]``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from privclust.algorithms.pe_means import keep_leaders, next_generation
from privclust.domain import Ball
from privclust.engines.numpy import NumpyEngine
from privclust.geometry.grid import FloatArray
from privclust.geometry.packing import sphere_packing
from privclust.geometry.weighted_kmeans import weighted_kmeans
from privclust.privacy.budget import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries import NearestVotes
from privclust.testing import NoNoise, noise_from

CLUSTERS = 4
ROUNDS = 4
VARIATIONS = 25

Selection = Callable[[FloatArray, FloatArray, np.random.Generator], FloatArray]


def most_votes(population: FloatArray, votes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Let the k candidates with most votes survive."""
    return population[np.argsort(-votes, kind="stable")[:CLUSTERS]]


def by_k_means(population: FloatArray, votes: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Let the k centres of the voted candidates survive."""
    return weighted_kmeans(population, votes, CLUSTERS, rng).centers


def elections(rows: FloatArray, select: Selection) -> list[tuple[FloatArray, FloatArray]]:
    """Return each round's population and its survivors."""
    rng = np.random.default_rng(4)
    names = [f"votes {number}" for number in range(1, ROUNDS + 1)]
    plan = make_plan(Budget(8.0, 1e-6), [Slot(name, 1 / ROUNDS) for name in names])
    curator = Curator.open(NumpyEngine(rows, Ball([0.0, 0.0], 1.0)), plan)
    population = sphere_packing((VARIATIONS + 1) * CLUSTERS, 2, rng)
    rounds = []
    for name in names:
        release = curator.measure(name, NearestVotes(population))
        survivors = select(population, keep_leaders(release.values, len(rows)), rng)
        rounds.append((population, survivors))
        population = next_generation(survivors, VARIATIONS, rng)
    return rounds


def draw(rows: FloatArray, file: str) -> None:
    """Draw both selections, a column a round."""
    figure, axes = plt.subplots(2, ROUNDS, figsize=(12, 7), sharex=True, sharey=True)
    titles = ("most votes survive", "weighted k-means survives")
    for line, select, title in zip(axes, (most_votes, by_k_means), titles, strict=True):
        for number, (axis, (population, survivors)) in enumerate(
            zip(line, elections(rows, select), strict=True), 1
        ):
            axis.scatter(*rows.T, s=4, color="0.8", label="rows (public here)")
            axis.scatter(*population.T, s=7, color="tab:blue", label="candidates")
            axis.scatter(
                *survivors.T, s=110, facecolor="none", edgecolor="tab:red", lw=2, label="survivors"
            )
            axis.set_title(f"round {number}: {title}", fontsize=9)
            axis.set(aspect="equal", xlim=(-1, 1), ylim=(-1, 1))
            axis.set(xticks=(-0.5, 0, 0.5), yticks=(-0.5, 0, 0.5))
    figure.supxlabel("first coordinate, in radii of the domain", fontsize=10)
    figure.supylabel("second coordinate", fontsize=10)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="upper center", ncol=3)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    blobs = make_blobs(1000, 2, centers=CLUSTERS, cluster_std=0.9, random_state=3)[0]
    blobs -= blobs.mean(axis=0)
    blobs /= np.linalg.norm(blobs, axis=1).max()
    target = sys.argv[1] if len(sys.argv) > 1 else "vote_splitting.png"
    with noise_from(NoNoise()):
        draw(blobs, target)
    print(f"wrote {target}")
