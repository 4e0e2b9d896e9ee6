"""Figures of `utility`: as the paper's figures 3 and 4, and all methods on all tables at once."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from benchmarks.auc import Losses, mean_loss
from benchmarks.data import CLUSTERS_OF_FILES, CLUSTERS_WITHIN_BOUNDS, COLUMNS
from benchmarks.figures import headline, style
from benchmarks.methods import EPSILONS
from benchmarks.rivals import FLAGSHIP, MARKED, REFERENCE, RIVALS, TABLES, method_on, ratio

COMPARED = (FLAGSHIP, *RIVALS, MARKED)
AT = 1.0
FAR = 20.0
"""Ratios beyond are drawn alike."""
TICKS = (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 300)


def draw(losses: Losses, place: Path = style.PLACE) -> None:
    """Draw all four."""
    style.save(partial(headline.draw, losses), "headline", place)
    style.save(partial(_real_tables, losses), "rivals_real", place)
    style.save(partial(_growing_k, losses), "rivals_k", place)
    style.save(partial(_heat_map, losses), "rivals_all", place)


def _real_tables(losses: Losses) -> Figure:
    """Draw loss against epsilon on real tables."""
    figure = style.new_figure(9, 8.4)
    names = (*CLUSTERS_OF_FILES, *CLUSTERS_WITHIN_BOUNDS)
    for place, (axes, name) in enumerate(zip(figure.subplots(3, 3).flat, names, strict=True)):
        for method in COMPARED:
            values = [_over_k_means(losses, method, name, epsilon) for epsilon in EPSILONS]
            axes.plot(EPSILONS, values, **style.line(method))
        _finish(axes, name, axes.dataLim.y1)
        style.epsilon_ticks(axes, EPSILONS)
        if place >= 6:
            axes.set_xlabel("epsilon")
        if place % 3 == 0:
            axes.set_ylabel("loss over that of k-means")
    style.legend(figure)
    return figure


def _growing_k(losses: Losses) -> Figure:
    """Draw loss against the number of clusters at one epsilon, on generated tables."""
    figure = style.new_figure(10, 6)
    ks = (4, 16, 64)
    for row, family in zip(figure.subplots(2, len(COLUMNS)), ("scale", "sklearn"), strict=True):
        for axes, d in zip(row, COLUMNS, strict=True):
            for method in COMPARED:
                values = [_over_k_means(losses, method, f"{family}_{k}_{d}", AT) for k in ks]
                axes.plot(ks, values, **style.line(method))
        highest = max(axes.dataLim.y1 for axes in row)
        for axes, d in zip(row, COLUMNS, strict=True):
            _finish(axes, f"{family}, {d} columns", highest)
            axes.set_xscale("log", base=2)
            axes.set_xticks(ks, [str(k) for k in ks])
            axes.set_xlabel("clusters k" if family == "sklearn" else "")
        row[0].set_ylabel(f"loss over k-means, epsilon {AT:g}")
    style.legend(figure)
    return figure


def _over_k_means(losses: Losses, method: str, table: str, epsilon: float) -> float:
    ours = mean_loss(losses, method_on(method, table), table, epsilon)
    return ours / mean_loss(losses, REFERENCE, table, 0.0)


def _finish(axes: Axes, title: str, highest: float) -> None:
    """Add k-means, and as many ticks as there is room for."""
    axes.axhline(1.0, **style.reference_line())
    style.plain_axes(axes)
    shown = [tick for tick in TICKS if tick <= highest]
    style.ratio_ticks(axes, shown if len(shown) < 8 else [1, 3, 10, 30, 100, 300])
    axes.set_ylim(0.93, max(highest * 1.1, 1.25))
    axes.set_title(title)


def _heat_map(losses: Losses) -> Figure:
    """Draw the area over that of k-means, of every method on every table."""
    ratios = np.array([[ratio(losses, method, name) for name in TABLES] for method in COMPARED])
    figure = style.new_figure(9, 10.2)
    axes = figure.subplots()
    shades = LogNorm(1.0, FAR)
    image = axes.imshow(ratios.T, aspect="auto", cmap="Blues", norm=shades)
    for (method, table), value in np.ndenumerate(ratios):
        color = "#fafafa" if value > 5 else "#000000"
        best = value == ratios[:-1, table].min()
        weight = "bold" if best else "normal"
        text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
        axes.text(method, table, text, ha="center", va="center", size=8, color=color, weight=weight)
    axes.set_yticks(range(len(TABLES)), TABLES, fontsize=8)
    names = [fill(style.METHODS[m].label or m, 12, break_long_words=False) for m in COMPARED]
    axes.set_xticks(range(len(COMPARED)), names, fontsize=8)
    axes.xaxis.tick_top()
    scale = figure.colorbar(
        image, ax=axes, label="area over that of k-means (bold: best)", shrink=0.4, aspect=30
    )
    scale.set_ticks([1, 2, 5, 10, FAR], labels=["1×", "2×", "5×", "10×", f"{FAR:g}× and more"])
    scale.minorticks_off()
    return figure
