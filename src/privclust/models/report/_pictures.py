"""The report's pictures: of Releases, and of what follows from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes

from privclust.models import _drawing
from privclust.models._canvas import BLUE, ORANGE, new_axes, new_figure, plain_axes, png
from privclust.models._cluster_table import ClusterTable
from privclust.models.k_path import KPath
from privclust.models.statement import Statement

GREY = "#6b7280"


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
    """Draw centres with their values, and how far they lie from the mean of all rows."""
    figure, axes = new_axes(7, 1.2 + 0.45 * len(table.names))
    _drawing.draw_heat_map(axes, table)
    return png(figure)


def draw_k_path(path: KPath, chosen: int) -> bytes:
    """Draw loss and stability against the number of clusters."""
    figure = new_figure(7, 4.4)
    above, below = figure.subplots(2, 1, sharex=True)
    _drawing.draw_losses(above, path)
    _drawing.draw_stabilities(below, path)
    below.set_xlabel("number of clusters k")
    for axes in (above, below):
        plain_axes(axes)
        axes.axvline(chosen, color=GREY, linestyle=":", label=f"this model: {chosen}")
    above.legend(frameon=False)
    return png(figure)


def draw_shares(statement: Statement) -> bytes:
    """Draw which queries the budget of the fit was spent on."""
    figure, axes = new_axes(7, 1.0 + 0.3 * len(_drawing.shares_of(statement)))
    _drawing.draw_shares(axes, statement)
    return png(figure)


def draw_panels(count: int, draw: Callable[[Axes, int], None], height: float, label: str) -> bytes:
    """Draw several pictures of one kind, four beside each other, on axes from 0 that hold all."""
    across = min(4, count)
    down = -(-count // across)
    figure = new_figure(7, height * down)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for number, axes in enumerate(grid.ravel()):
        if number < count:
            plain_axes(axes)
            draw(axes, number)
            axes.tick_params(labelsize=7, labelbottom=number + across >= count)
        else:
            axes.set_visible(False)
    grid[0, 0].invert_yaxis()
    # After the last panel: a limit that is set ends the search for one that holds all panels.
    grid[0, 0].set_xlim(left=0)
    figure.supxlabel(label, fontsize=9)
    return png(figure)
