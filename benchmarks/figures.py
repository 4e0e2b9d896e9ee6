"""Pictures of `utility`: as the paper's figures 3 and 4, and all methods on all tables at once."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from benchmarks.auc import Losses, mean_loss
from benchmarks.data import CLUSTERS_OF_FILES, CLUSTERS_WITHIN_BOUNDS, COLUMNS
from benchmarks.methods import EPSILONS
from benchmarks.rivals import FLAGSHIP, MARKED, REFERENCE, RIVALS, TABLES, method_on, ratio

PLACE = Path(__file__).parent.parent / "docs" / "figures"
COMPARED = (FLAGSHIP, *RIVALS, MARKED)
LABELS = {"PEMeans": "PEMeans / HDPEMeans", MARKED: f"{MARKED} (breaks its guarantee)"}
COLORS = ("#c2570c", "#33638d", "#228833", "#aa3377", "#66a0c8", "#997700", "#9ca3af")
AT = 1.0
FAR = 20.0
"""Ratios beyond are drawn alike."""


def draw(losses: Losses, place: Path = PLACE) -> None:
    """Draw all three."""
    save(_real_tables(losses), place / "rivals_real.png")
    save(_growing_k(losses), place / "rivals_k.png")
    save(_heat_map(losses), place / "rivals_all.png")


def _real_tables(losses: Losses) -> Figure:
    """Loss against epsilon on real tables."""
    figure = figure_of(11, 9)
    names = (*CLUSTERS_OF_FILES, *CLUSTERS_WITHIN_BOUNDS)
    for place, (axes, name) in enumerate(zip(figure.subplots(3, 3).flat, names, strict=True)):
        for method, color in zip(COMPARED, COLORS, strict=True):
            values = [mean_loss(losses, method_on(method, name), name, e) for e in EPSILONS]
            axes.plot(EPSILONS, values, color=color, **line(method))
        axes.axhline(mean_loss(losses, REFERENCE, name, 0.0), **k_means_line())
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(EPSILONS, [f"{e:g}" for e in EPSILONS])
        axes.set_title(name)
        if place >= 6:
            axes.set_xlabel("epsilon")
        if place % 3 == 0:
            axes.set_ylabel("loss")
    legend(figure)
    return figure


def _growing_k(losses: Losses) -> Figure:
    """Loss against the number of clusters at one epsilon, on generated tables."""
    figure = figure_of(12, 6.4)
    ks = (4, 16, 64)
    grid = figure.subplots(2, len(COLUMNS))
    for row, family in enumerate(("scale", "sklearn")):
        for column, d in enumerate(COLUMNS):
            axes = grid[row, column]
            names = [f"{family}_{k}_{d}" for k in ks]
            for method, color in zip(COMPARED, COLORS, strict=True):
                values = [mean_loss(losses, method_on(method, name), name, AT) for name in names]
                axes.plot(ks, values, color=color, **line(method))
            axes.plot(ks, [mean_loss(losses, REFERENCE, n, 0.0) for n in names], **k_means_line())
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.set_xticks(ks, [str(k) for k in ks])
            axes.set_title(f"{family}, {d} columns")
            if row == 1:
                axes.set_xlabel("clusters k")
            if column == 0:
                axes.set_ylabel(f"loss at epsilon {AT:g}")
    legend(figure)
    return figure


def _heat_map(losses: Losses) -> Figure:
    """AUC over that of k-means, of every method on every table."""
    ratios = np.array([[ratio(losses, method, name) for name in TABLES] for method in COMPARED])
    figure = figure_of(8.4, 10.5)
    axes = figure.subplots()
    shades = LogNorm(1.0, FAR)
    image = axes.imshow(ratios.T, aspect="auto", cmap="YlOrRd", norm=shades)
    for (method, table), value in np.ndenumerate(ratios):
        color = "white" if value > 6 else "black"
        best = value == ratios[:-1, table].min()
        weight = "bold" if best else "normal"
        text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
        axes.text(method, table, text, ha="center", va="center", size=8, color=color, weight=weight)
    axes.set_yticks(range(len(TABLES)), TABLES, fontsize=8)
    names = [fill(LABELS.get(name, name), 12, break_long_words=False) for name in COMPARED]
    axes.set_xticks(range(len(COMPARED)), names, fontsize=8)
    axes.xaxis.tick_top()
    figure.colorbar(image, ax=axes, label="AUC over that of k-means (bold: best)", shrink=0.5)
    return figure


def figure_of(width: float, height: float) -> Figure:
    """Return an empty figure, in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def line(method: str) -> dict[str, Any]:
    """Return how a method's line looks."""
    return {
        "label": LABELS.get(method, method),
        "marker": ".",
        "linewidth": 2.2 if method == FLAGSHIP else 1.2,
        "linestyle": ":" if method == MARKED else "-",
        "zorder": 3 if method == FLAGSHIP else 2,
    }


def k_means_line() -> dict[str, Any]:
    """Return how the line of the reference looks."""
    return {"color": "black", "linestyle": "--", "linewidth": 1.0, "label": "k-means, not private"}


def legend(figure: Figure) -> None:
    """Name the lines once, below."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)


def save(figure: Figure, file: Path) -> None:
    """Write a picture."""
    figure.savefig(file, dpi=110, metadata={"Software": None})
