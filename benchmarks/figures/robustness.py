"""The figure of the suite: a line per table, PrivateKMeans beside its best rival at epsilon 1."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.figures import style
from benchmarks.figures.rivals import FAR
from benchmarks.rivals import FLAGSHIP
from benchmarks.robust.fits import EXACT, EXACT_EPSILON, MAIN_EPSILON
from benchmarks.robust.ratios import Fits, few_rows
from benchmarks.robust.tables import DESIGN, HELD_OUT

NAME = "robustness"
TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, FAR)


def draw(fits: Fits, place: Path = style.PLACE) -> None:
    """Draw both halves side by side, each family in the same place."""
    style.save(partial(_both, fits), NAME, place)


def _both(fits: Fits) -> Figure:
    figure = style.new_figure(10, 8.2)
    both = figure.subplots(1, 2, sharex=True)
    for axes, half, tables in zip(both, ("design", "held-out"), (DESIGN, HELD_OUT), strict=True):
        _half(axes, fits, tables)
        axes.set_title(f"{half} half", weight="bold")
        axes.set_xlabel(f"loss over that of k-means, at epsilon {MAIN_EPSILON:g}")
    style.legend(figure)
    return figure


def _half(axes: Axes, fits: Fits, tables: tuple[str, ...]) -> None:
    best = {name: fits.best_rival(name, MAIN_EPSILON) for name in tables}
    rivals = {name: found[1].mean for name, found in best.items() if found is not None}
    ours = fits.means(FLAGSHIP, tables, MAIN_EPSILON)
    exact = fits.means(EXACT, tables, EXACT_EPSILON)
    hollow = {"color": style.GROUND, "edgecolor": style.MUTED, "marker": "s", "s": 26}
    dots: tuple[tuple[str, dict[str, float], dict[str, Any]], ...] = (
        ("best rival", rivals, hollow),
        (FLAGSHIP, ours, {"color": style.METHODS[FLAGSHIP].color, "marker": "o", "s": 36}),
        (EXACT, exact, {"color": style.INK, "marker": "|", "s": 110}),
    )
    for label, found, look in dots:
        values = [min(ratio, FAR) for ratio in found.values()]
        axes.scatter(values, [tables.index(name) for name in found], label=label, zorder=3, **look)
    axes.axvline(1.0, **style.reference_line())
    few = {name: "*" if few_rows(name, MAIN_EPSILON) else "" for name in tables}
    style.plain_axes(axes, "both")
    axes.set_yticks(range(len(tables)), [name + few[name] for name in tables], fontsize=8)
    axes.set_ylim(max(len(DESIGN), len(HELD_OUT)) - 0.5, -0.5)
    style.ratio_ticks(axes, TICKS, "x")
    axes.set_xticks(TICKS, [*(f"{tick:g}×" for tick in TICKS[:-1]), f"{FAR:g}×+"], fontsize=8)
    axes.set_xlim(0.95, FAR * 1.15)
