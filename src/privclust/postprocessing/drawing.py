"""Pictures of what follows from models: merges, and clusters that move."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from privclust.canvas import plain_texts
from privclust.postprocessing.hierarchy import Hierarchy

BLUE, GREY = "#33638d", "#6b7280"
NAMED_CLUSTERS = 64
"""With more, the labels of a tree would overlap."""


@plain_texts()
def draw_hierarchy(tree: Hierarchy, picture: str | Path) -> None:
    """Draw merges as a tree: clusters below with their sizes, the higher a merge the farther apart.

    Parameters
    ----------
    tree : Hierarchy
        Of a model: ``model.hierarchy()``.
    picture : str or Path
        A PNG to write.
    """
    k = tree.n_clusters
    place, height = np.zeros(2 * k - 1), np.concatenate([np.zeros(k), tree.linkage[:, 2]])
    order = _leaves(tree, 2 * k - 2)
    place[order] = np.arange(k)
    figure, axes = _figure(max(5.0, 1.5 + 0.5 * min(k, NAMED_CLUSTERS)), 4.2)
    for made, (one, other) in enumerate(tree.linkage[:, :2].astype(int), k):
        place[made] = (place[one] + place[other]) / 2
        across = [place[one], place[one], place[other], place[other]]
        up = [height[one], height[made], height[made], height[other]]
        axes.plot(across, up, color=BLUE, linewidth=1.4, solid_joinstyle="round")
    if k <= NAMED_CLUSTERS:
        names = [f"{leaf}\n{tree.sizes[leaf]:,.0f}" for leaf in order]
        axes.set_xticks(range(k), names, fontsize=8 if k <= 16 else 6)
    else:
        axes.set_xticks([])
    axes.set_xlabel("cluster, and its noisy size")
    axes.set_ylabel("what the merge adds to the loss\n(root, in radii of the bounds)")
    axes.set_xlim(-0.6, k - 0.4)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, axis="y", color="#e5e7eb", linewidth=0.6)
    figure.savefig(picture, format="png", dpi=130, metadata={"Software": None})


def _leaves(tree: Hierarchy, part: int) -> list[int]:
    """Return the clusters of a part so that no two lines of the tree cross."""
    waiting, found = [part], []
    while waiting:
        part = waiting.pop()
        if part < tree.n_clusters:
            found.append(part)
        else:
            one, other = tree.linkage[part - tree.n_clusters, :2].astype(int)
            waiting += [int(other), int(one)]
    return found


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    return figure, axes
