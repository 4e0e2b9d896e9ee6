"""Which clusters belong together: released centres, merged two by two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privclust.errors import Message, Parameter, ParameterError, safe_repr
from privclust.kernels.distances import squared_gaps
from privclust.kernels.grid import FloatArray, IntArray
from privclust.models._notebook import hierarchy_html
from privclust.models._plotting import plots
from privclust.models.cluster_model import ClusterModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Clusters and what they merge to, the nearest first (Ward's rule, by noisy sizes).

    Attributes
    ----------
    linkage : array of shape (k - 1, 4)
        One line a merge, as SciPy has it: its two parts, its height, and of how many clusters it
        is made. Parts below k are clusters of the model, k + i is what merge i made. The height is
        what the merge adds to the root mean square distance, in radii of the domain, if it alone
        were made.
    sizes : array of shape (2k - 1,)
        Noisy numbers of rows: of the clusters, then of the merges.
    centers : array of shape (2k - 1, d)
        In your own units: of the clusters, then of the merges.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(center, 1.0, (9000, 2)) for center in (10, 20, 80)])
    >>> model = PrivateKMeans(3, delta=1e-6, bounds=(0, 100), random_state=0).fit(rows)
    >>> tree = model.hierarchy()
    >>> groups = tree.cut(2)[np.argsort(model.cluster_centers_[:, 0])]
    >>> bool(groups[0] == groups[1] != groups[2])
    True
    >>> tree
    Hierarchy of 3 clusters: 2 merges; print it for a table of them
    """

    linkage: FloatArray
    sizes: FloatArray
    centers: FloatArray

    @property
    def n_clusters(self) -> int:
        """How many clusters the model has."""
        return len(self.linkage) + 1

    def cut(self, n_clusters: int) -> IntArray:
        """Return each cluster's group when `n_clusters` groups are left, group 0 the largest."""
        k = self.n_clusters
        if not 1 <= n_clusters <= k:
            raise ParameterError(
                Message(
                    Parameter("n_clusters"),
                    f" must lie between 1 and {k}, the clusters of the model; got "
                    f"{safe_repr(n_clusters)}. More clusters are what refit is for.",
                )
            )
        group = np.arange(2 * k - 1)
        for made, (one, other) in enumerate(self.linkage[: k - n_clusters, :2], k):
            group[np.isin(group, group[[int(one), int(other)]])] = made
        _, numbers = np.unique(group[:k], return_inverse=True)
        together = np.bincount(numbers, self.sizes[:k])
        rank = np.argsort(np.argsort(-together, kind="stable"), kind="stable")
        return np.asarray(rank[numbers], dtype=np.int64)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw merges as a tree: clusters below, and the higher a merge, the farther apart.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default in a new picture.

        Returns
        -------
        matplotlib Axes
        """
        drawn: Axes = plots().plot_hierarchy(self, ax)
        return drawn

    def rows(self) -> list[list[str]]:
        """Return a table as texts: its header, then each merge, the nearest first."""
        rows = [["merge", "parts", "size", "height"]]
        for number, (one, other, height, _) in enumerate(self.linkage, self.n_clusters):
            parts = f"{int(one)} + {int(other)}"
            rows.append([str(number), parts, f"{self.sizes[number]:,.0f}", f"{height:.4f}"])
        return rows

    def __str__(self) -> str:
        return "\n".join(
            f"{number:>5}  {parts:<12}{size:>12}{height:>10}"
            for number, parts, size, height in self.rows()
        )

    def __repr__(self) -> str:
        k = self.n_clusters
        return f"Hierarchy of {k:,} clusters: {k - 1:,} merges; print it for a table of them"

    def _repr_html_(self) -> str:
        return hierarchy_html(self)


def hierarchy(model: ClusterModel) -> Hierarchy:
    """Merge the centres of a model two by two, each time those that cost least."""
    points, k = model.domain.to_ball(model.cluster_centers), len(model.cluster_centers)
    sizes = np.maximum(model.cluster_sizes, 1.0)
    # An empty cluster would merge with any other at no cost; one of a row goes to the nearest.
    whole = float(sizes.sum())
    points = np.vstack([points, np.zeros((k - 1, points.shape[1]))])
    sizes = np.concatenate([sizes, np.zeros(k - 1)])
    leaves = np.ones(2 * k - 1)
    there = list(range(k))
    linkage = np.zeros((k - 1, 4))
    for step in range(k - 1):
        one, other, cost = _cheapest(points, sizes, there)
        made = k + step
        sizes[made] = sizes[one] + sizes[other]
        points[made] = (sizes[one] * points[one] + sizes[other] * points[other]) / sizes[made]
        leaves[made] = leaves[one] + leaves[other]
        linkage[step] = one, other, np.sqrt(cost / whole), leaves[made]
        there = [part for part in there if part not in (one, other)] + [made]
    return Hierarchy(linkage, sizes, model.domain.to_units(points))


def _cheapest(points: FloatArray, sizes: FloatArray, there: list[int]) -> tuple[int, int, float]:
    """Return the two that raise the summed squares least when merged, and by how much."""
    some, weights = points[there], sizes[there]
    squares = squared_gaps(some, some)
    costs = squares * weights[:, None] * weights / (weights[:, None] + weights)
    costs[np.tril_indices(len(there))] = np.inf
    one, other = np.unravel_index(int(costs.argmin()), costs.shape)
    return there[one], there[other], float(costs[one, other])
