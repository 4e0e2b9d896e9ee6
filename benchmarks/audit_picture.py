"""A picture of promises, and of what attacks refute of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from privclust.drawing import PALETTE

if TYPE_CHECKING:
    from benchmarks.audit import Cell

LOWEST = 0.02
"""Where less is drawn; on a log scale nothing has no place."""


def draw(cells: list[Cell], picture: Path) -> None:
    """Draw promise against measurement, one panel an attacker, one line an algorithm."""
    figure = Figure(figsize=(10, 5), layout="constrained")
    FigureCanvasAgg(figure)
    attackers = list(dict.fromkeys(cell.attacker for cell in cells))
    methods = sorted({cell.method for cell in cells})
    for axes, attacker in zip(
        figure.subplots(1, len(attackers), sharey=True), attackers, strict=True
    ):
        axes.plot([0.2, 10], [0.2, 10], color="black", linewidth=1)
        axes.fill_between([0.2, 10], [0.2, 10], 10, color="#f6dddd", zorder=0)
        axes.text(0.23, 5, "the promise would be broken", fontsize=9)
        for number, method in enumerate(methods):
            line = sorted(
                (cell.promise, max(cell.measured, LOWEST))
                for cell in cells
                if (cell.method, cell.attacker) == (method, attacker)
            )
            marker = "o" if len(line) > 1 else "*"  # a plain count, at one epsilon
            style = {"marker": marker, "markersize": 5 if marker == "o" else 11}
            color = PALETTE[number % len(PALETTE)]
            axes.plot(*zip(*line, strict=True), label=method, color=color, **style)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(0.2, 10)
        axes.set_ylim(LOWEST * 0.9, 10)
        ticks = sorted({cell.promise for cell in cells})
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("promised epsilon")
        axes.set_title(f"attacker sees the {attacker}", loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel(f"refuted with 95 % confidence (at most {LOWEST:g}: nothing)")
    handles, labels = figure.axes[-1].get_legend_handles_labels()
    fits = [cell.fits for cell in cells]
    figure.suptitle(
        f"Refuted of promises, after {min(fits):,} to {max(fits):,} fits of either table",
        fontsize=11,
    )
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=9)
    figure.savefig(picture, format="png", dpi=150)
