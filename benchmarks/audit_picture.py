"""A picture of guarantees, and of what attacks refute of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from privclust.models._canvas import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benchmarks.audit_histories import Cell

LOWEST = 0.02
"""Where less is drawn; on a log scale nothing has no place."""


def draw(cells: list[Cell], whole: list[Cell], picture: Path) -> None:
    """Draw guarantee against measurement, one panel an attacker, and one for calls of estimators.

    `cells` are those of algorithms, a line each; `whole` those of calls as people make them.
    """
    figure = Figure(figsize=(13, 6.2), layout="constrained")
    FigureCanvasAgg(figure)
    attackers = list(dict.fromkeys(cell.attacker for cell in cells))
    panels = figure.subplots(1, len(attackers) + 1, sharey=True)
    ticks = sorted({cell.guarantee for cell in (*cells, *whole)})
    for axes, attacker in zip(panels, attackers, strict=False):
        _lines(axes, [cell for cell in cells if cell.attacker == attacker])
        _dressed(axes, ticks, f"algorithms; attacker sees the {attacker}")
    worst: dict[tuple[str, float], Cell] = {}
    alone = {cell.method for cell in cells}  # an estimator by itself is in the panels before
    for cell in (cell for cell in whole if cell.method not in alone):
        key = (cell.method, cell.guarantee)
        if key not in worst or worst[key].measured < cell.measured:
            worst[key] = cell
    _lines(panels[-1], list(worst.values()))
    _dressed(panels[-1], ticks, "whole calls; the best attacker")
    panels[0].set_ylabel(f"refuted with 95 % confidence (at most {LOWEST:g}: nothing)")
    fits = [cell.fits for cell in (*cells, *whole)]
    figure.suptitle(
        f"Refuted of guarantees, after {min(fits):,} to {max(fits):,} fits of either table",
        fontsize=11,
    )
    handles, labels = panels[-2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4, fontsize=8)
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower right", ncols=2, fontsize=8)
    figure.savefig(picture, format="png", dpi=150)


def _lines(axes: Axes, cells: list[Cell]) -> None:
    """Draw a line for each method; a single epsilon is a star."""
    for number, method in enumerate(sorted({cell.method for cell in cells})):
        line = sorted(
            (cell.guarantee, max(cell.measured, LOWEST)) for cell in cells if cell.method == method
        )
        marker, size = ("o", 5) if len(line) > 1 else ("*", 11)
        color = PALETTE[number % len(PALETTE)]
        style = "-" if number < len(PALETTE) else "--"
        axes.plot(
            *zip(*line, strict=True),
            label=method,
            color=color,
            linestyle=style,
            marker=marker,
            markersize=size,
        )


def _dressed(axes: Axes, ticks: list[float], title: str) -> None:
    axes.plot([0.2, 10], [0.2, 10], color="black", linewidth=1)
    axes.fill_between([0.2, 10], [0.2, 10], 10, color="#f6dddd", zorder=0)
    axes.text(0.23, 5, "the guarantee would be broken", fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.2, 10)
    axes.set_ylim(LOWEST * 0.9, 10)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("stated epsilon")
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
