"""A picture of guarantees, and of what attacks refute of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from benchmarks.figures.style import INK, METHODS, MUTED, line, new_figure, plain_axes
from benchmarks.rivals import FLAGSHIP

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from benchmarks.audit_histories import Cell

LOWEST = 0.02
"""Where less is drawn; on a log scale nothing has no place."""


def draw(cells: list[Cell], whole: list[Cell]) -> Figure:
    """Draw guarantee against measurement, one panel an attacker, and one for calls of estimators.

    `cells` are those of algorithms, a line each; `whole` those of calls as people make them.
    """
    figure = new_figure(12, 6)
    attackers = list(dict.fromkeys(cell.attacker for cell in cells))
    panels = figure.subplots(1, len(attackers) + 1, sharey=True)
    ticks = sorted({cell.guarantee for cell in (*cells, *whole)})
    for axes, attacker in zip(panels, attackers, strict=False):
        _lines(axes, [cell for cell in cells if cell.attacker == attacker])
        _finish(axes, ticks, f"algorithms; attacker sees the {attacker}")
    worst: dict[tuple[str, float], Cell] = {}
    alone = {cell.method for cell in cells}  # an estimator by itself is in the panels before
    for cell in (cell for cell in whole if cell.method not in alone):
        key = (cell.method, cell.guarantee)
        if key not in worst or worst[key].measured < cell.measured:
            worst[key] = cell
    _lines(panels[-1], list(worst.values()))
    _finish(panels[-1], ticks, "whole calls; the best attacker")
    panels[0].set_ylabel("epsilon refuted with 95 % confidence")
    fits = [cell.fits for cell in (*cells, *whole)]
    figure.suptitle(
        f"Refuted of guarantees, after {min(fits):,} to {max(fits):,} fits of either table",
    )
    handles, labels = panels[-2].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=3, frameon=False, handlelength=4)
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower right", ncols=2, frameon=False, handlelength=4
    )
    return figure


def _lines(axes: Axes, cells: list[Cell]) -> None:
    """Draw a line for each method, as in all figures; what is no method has the others' styles."""
    names = sorted({cell.method for cell in cells})
    spare = [name for name in METHODS if name not in (FLAGSHIP, *names)]
    for number, name in enumerate(names):
        points = sorted(
            (cell.guarantee, max(cell.measured, LOWEST)) for cell in cells if cell.method == name
        )
        known = name if name in METHODS else spare[number % len(spare)]
        style: dict[str, Any] = {**line(known), "label": name, "linewidth": 1.5}
        axes.plot(*zip(*points, strict=True), **style)


def _finish(axes: Axes, ticks: list[float], title: str) -> None:
    axes.plot([0.2, 10], [0.2, 10], color=INK, linewidth=1)
    axes.fill_between([0.2, 10], [0.2, 10], 10, color=MUTED, alpha=0.18, zorder=0)
    axes.text(0.23, 5, "the guarantee would be broken", fontsize=9)
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain_axes(axes)
    axes.set_xlim(0.2, 10)
    axes.set_ylim(LOWEST * 0.9, 10)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_yticks((LOWEST, 0.1, 1, 10), ("nothing", "0.1", "1", "10"))
    axes.set_yticks([], minor=True)
    axes.set_xlabel("stated epsilon")
    axes.set_title(title)
