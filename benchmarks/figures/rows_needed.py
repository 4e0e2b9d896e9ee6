"""How many rows a fit takes: fits of `utility` and `robustness`, by the rows of a cluster."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from benchmarks.figures import style
from benchmarks.rivals import FLAGSHIP

ENOUGH = 1.1
"""The loss over k-means that the number of rows needed is meant for."""
TOP = 12.0
SUITES = ("tables of the literature", "tables as people have them")


class Cell(NamedTuple):
    """One table at one epsilon: its rows over the rows needed, and its mean loss over k-means."""

    rows: float
    ratio: float
    suite: str


def draw(cells: list[Cell]) -> Figure:
    """Draw a dot for each table and epsilon, and the median of bins of equal width."""
    figure = style.new_figure(height=4.0)
    axes = figure.subplots()
    colors = (style.METHODS[FLAGSHIP].color, style.MUTED)
    for suite, marker, color in zip(SUITES, "ox", colors, strict=True):
        x, y = zip(*((c.rows, min(c.ratio, TOP)) for c in cells if c.suite == suite), strict=True)
        axes.scatter(x, y, s=20, marker=marker, color=color, label=f"{suite} ({len(x)})", zorder=3)
    x, y = zip(*_medians(cells), strict=True)
    axes.plot(x, y, color=style.INK, linewidth=2, label="median", zorder=4)
    axes.axhline(1.0, **{**style.reference_line(), "label": None})
    axes.axvline(1.0, color=style.MUTED, linewidth=1)
    axes.text(1.05, TOP * 1.09, "enough rows by the formula →", va="bottom", fontsize=9)
    style.plain_axes(axes)
    style.ratio_ticks(axes, (1, 1.2, 1.5, 2, 3, 5, 10))
    style.ratio_ticks(axes, (0.1, 0.3, 1, 3, 10, 30, 100), "x")
    axes.set_ylim(0.93, TOP * 1.05)
    axes.set_xlabel("rows of a cluster, over the rows needed at that epsilon")
    axes.set_ylabel("loss over that of k-means")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def _medians(cells: list[Cell]) -> Iterator[tuple[float, float]]:
    """Give the middle and the median of every half decade that has ten dots or more."""
    logs = np.array([math.log10(cell.rows) for cell in cells])
    ratios = np.array([cell.ratio for cell in cells])
    for start in np.arange(-2.0, 4.0, 0.5):
        inside = (logs >= start) & (logs < start + 0.5)
        if inside.sum() >= 10:
            yield 10 ** (start + 0.25), float(np.median(ratios[inside]))


def share_near(cells: list[Cell]) -> float:
    """Return which part of the tables with enough rows is within 10 % of k-means."""
    enough = [cell.ratio <= ENOUGH for cell in cells if cell.rows >= 1]
    return sum(enough) / len(enough)
