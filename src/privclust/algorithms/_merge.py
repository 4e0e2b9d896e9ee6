"""Merge a coreset's points to clusters: public mathematics, at no cost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privclust.algorithms._background_points import background
from privclust.algorithms._distances import Distances
from privclust.kernels.grid import FloatArray, to_grid
from privclust.kernels.nearest import nearest
from privclust.models._weighted_kmeans import weighted_kmeans
from privclust.models.clustering import Coreset, Precision

STARTS = 20
BACKGROUND_PROOF, SURE_BACKGROUND_PROOF = 1.0, 2.5
"""Standard deviations of far rows that must be seen: more where clusters have so many rows that a
centre is worth more among these than it could be far out."""
CERTAIN = 2.0
"""Standard deviations of rows that a point must hold to say where outliers may be."""


class Merged(NamedTuple):
    """Clusters of a coreset's points, and what noise on these means for them."""

    centers: FloatArray
    sizes: FloatArray
    precision: Precision


def merge(coreset: Coreset, n_clusters: int, rng: np.random.Generator) -> Merged:
    """Cluster a coreset's points by weight."""
    points, weights = coreset.points, coreset.weights
    return merge_around(coreset, weighted_kmeans(points, weights, n_clusters, rng, STARTS).centers)


def merge_around(coreset: Coreset, centers: FloatArray) -> Merged:
    """Return the clusters that a coreset's points form around centres."""
    points, weights, known = coreset.points, coreset.weights, coreset.precision
    cluster = nearest(to_grid(points), to_grid(centers))

    def add(values: FloatArray) -> FloatArray:
        return np.bincount(cluster, values, len(centers)).astype(np.float64)

    sizes = add(weights)
    held = np.maximum(sizes, 1.0)
    apart = ((points - centers[cluster]) ** 2).sum(axis=1)
    # Noise moves a mean through its points, and through their weights where these lie apart.
    through_weights = known.size_stderr**2 * apart / points.shape[1]
    variance = add((weights * known.center_stderr) ** 2 + through_weights) / held**2
    precision = Precision(
        np.sqrt(variance),
        np.sqrt(add(known.size_stderr**2)),
        np.sqrt(add(weights * (apart + known.radii**2)) / held),
    )
    return Merged(centers, sizes, precision)


def with_background(
    coreset: Coreset,
    width: float,
    distances: Distances,
    rng: np.random.Generator,
    only_sure: bool = False,
) -> Coreset:
    """Add points for rows far from all others; `distances`, in `width`, says how many there are."""
    certain = coreset.weights > CERTAIN * coreset.precision.size_stderr
    proof = SURE_BACKGROUND_PROOF if only_sure else BACKGROUND_PROOF
    points, weights = background(coreset.points, certain, width, distances, proof, rng)
    known, nothing = coreset.precision, np.zeros(len(points))
    return Coreset(
        np.vstack([coreset.points, points]),
        np.concatenate([coreset.weights, weights]),
        Precision(
            np.concatenate([known.center_stderr, nothing]),
            np.concatenate([known.size_stderr, nothing]),
            np.concatenate([known.radii, nothing]),
        ),
    )
