"""The figure of the thesis' experiments."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from benchmarks.auc import Losses, mean_loss
from benchmarks.figures.style import (
    legend,
    line,
    new_figure,
    plain_axes,
    ratio_ticks,
    reference_line,
)

Experiment = tuple[str, float, Mapping[int, str]]
"""What varies, epsilon, and the table of each value."""


def draw(
    losses: Losses,
    experiments: tuple[Experiment, ...],
    methods: tuple[str, ...],
    reference: str,
) -> Figure:
    """Draw the experiments beside each other, as losses over those of the reference."""
    figure = new_figure(10, 4.2)
    panels = zip(figure.subplots(1, len(experiments), sharey=True), experiments, strict=True)
    for place, (axes, (what, epsilon, tables)) in enumerate(panels):
        for method in methods:
            values = [
                mean_loss(losses, method, table, epsilon) / mean_loss(losses, reference, table, 0.0)
                for table in tables.values()
            ]
            axes.plot(list(tables), values, **line(method))
        axes.axhline(1.0, **reference_line("k-means, one start"))
        plain_axes(axes)
        ratio_ticks(axes, (1, 3, 10, 30, 100, 300))
        axes.set_xscale("log")
        axes.set_xticks(list(tables), [str(value) for value in tables])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(what)
        axes.set_title(f"epsilon {epsilon:g}")
        if place == 0:
            axes.set_ylabel("loss over that of k-means")
    legend(figure)
    return figure
