"""The report's pictures: of Releases, and of what follows from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from privclust.models._canvas import BLUE, ORANGE, new_axes, new_figure, plain_axes, png
from privclust.models._coordinates import format_coordinate
from privclust.models.k_path import KPath
from privclust.models.report._cluster_table import ClusterTable
from privclust.models.statement import Statement

GREY = "#6b7280"
WRITTEN_CLUSTERS = 10
"""With more, the numbers in a heat map would overlap."""


def draw_sizes(table: ClusterTable, counted_as: str | None) -> bytes:
    """Draw how large clusters are, with error bars of two standard errors."""
    k = len(table.sizes)
    figure, axes = new_axes(7, 1.2 + 0.28 * k)
    errors = None if np.isnan(table.size_errors).any() else 2 * table.size_errors
    bars = np.where(table.hidden, np.nan, table.sizes)
    axes.barh(range(k), bars, xerr=errors, color=BLUE, ecolor=ORANGE, capsize=3)
    marks = [", not reported" if hidden else "" for hidden in table.hidden]
    axes.set_yticks(range(k), [f"cluster {number}{mark}" for number, mark in enumerate(marks)])
    axes.invert_yaxis()
    axes.set_xlabel("rows" if counted_as is None else f"rows. {counted_as}")
    axes.set_xlim(left=0)
    return png(figure)


def draw_heat_map(table: ClusterTable) -> bytes:
    """Draw centres with their values: columns from smallest to largest, shares from none to all."""
    k, columns = table.centers.shape
    figure, axes = new_axes(7, 1.2 + 0.45 * columns)
    axes.imshow(table.relative.T, aspect="auto", cmap="Blues", vmin=-0.15, vmax=1.3)
    axes.grid(visible=False)
    if k <= WRITTEN_CLUSTERS:
        size = 8 if k <= 6 else 6
        for cluster, column in np.ndindex(k, columns):
            place = (cluster, column)
            if table.hidden[cluster]:
                continue
            numbers = float(table.centers[place]), float(table.errors[place])
            cell = format_coordinate(table.uses[column], *numbers)
            color = "white" if table.relative[cluster, column] > 0.75 else "black"
            text = cell.replace(" ± ", "\n± ")
            axes.text(cluster, column, text, ha="center", va="center", fontsize=size, color=color)
    axes.set_yticks(range(columns), [short(name) for name in table.names])
    axes.set_xticks(range(k), [str(number) for number in range(k)], fontsize=8 if k < 40 else 5)
    axes.set_xlabel("cluster; the larger of a column's centres are darker")
    return png(figure)


def draw_k_path(path: KPath, chosen: int) -> bytes:
    """Draw loss and stability against the number of clusters."""
    ks = [choice.n_clusters for choice in path.choices]
    figure = new_figure(7, 4.4)
    above, below = figure.subplots(2, 1, sharex=True)
    losses, errors = zip(*((c.loss, 2 * c.stderr) for c in path.choices), strict=True)
    above.errorbar(ks, losses, yerr=errors, color=BLUE, marker=".", capsize=2)
    above.set_ylabel(f"{'capped loss' if path.is_capped else 'loss'}, squared radii")
    above.set_ylim(bottom=0)
    below.plot(ks, [choice.stability for choice in path.choices], color=BLUE, marker=".")
    below.set_ylabel("stability")
    below.set_ylim(0, 1.05)
    below.set_xlabel("number of clusters k")
    for axes in (above, below):
        plain_axes(axes)
        axes.axvline(chosen, color=GREY, linestyle=":", label=f"this model: {chosen}")
    above.legend(frameon=False)
    return png(figure)


def draw_shares(statement: Statement) -> bytes:
    """Draw which queries the budget of the fit was spent on."""
    parts: dict[str, float] = {}
    for release in statement.releases:
        query = release.slot.split(" ")[0]
        parts[query] = parts.get(query, 0.0) + release.share
    figure, axes = new_axes(7, 1.0 + 0.3 * len(parts))
    axes.barh(list(parts), list(parts.values()), color=BLUE)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share of this fit's budget")
    return png(figure)


def draw_panels(count: int, draw: Callable[[Axes, int], None], height: float, label: str) -> bytes:
    """Draw several pictures of one kind, four beside each other, with the same axes."""
    across = min(4, count)
    down = -(-count // across)
    figure = new_figure(7, height * down)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for number, axes in enumerate(grid.ravel()):
        if number < count:
            plain_axes(axes)
            draw(axes, number)
            axes.tick_params(labelsize=7)
        else:
            axes.set_visible(False)
    grid[0, 0].invert_yaxis()
    figure.supxlabel(label, fontsize=9)
    return png(figure)


def short(name: str) -> str:
    """Return a name, or as much of it as fits beside a picture."""
    return name if len(name) <= 18 else f"{name[:17]}…"
