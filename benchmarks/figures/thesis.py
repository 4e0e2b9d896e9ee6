"""The figure of the thesis' experiments."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from benchmarks.auc import Losses, mean_loss
from benchmarks.figures import style

Experiment = tuple[str, float, Mapping[int, str]]
"""What varies, epsilon, and the table of each value."""


def draw(
    losses: Losses,
    experiments: tuple[Experiment, ...],
    methods: tuple[str, ...],
    reference: str,
) -> Figure:
    """Draw the experiments beside each other, as losses over those of the reference."""
    figure = style.new_figure(10, 4.2)
    panels = zip(figure.subplots(1, len(experiments), sharey=True), experiments, strict=True)
    for place, (axes, (what, epsilon, tables)) in enumerate(panels):
        for method in methods:
            values = [
                mean_loss(losses, method, table, epsilon) / mean_loss(losses, reference, table, 0.0)
                for table in tables.values()
            ]
            axes.plot(list(tables), values, **style.line(method))
        axes.axhline(1.0, **style.reference_line("k-means, one start"))
        style.plain_axes(axes)
        style.ratio_ticks(axes, (1, 3, 10, 30, 100, 300))
        axes.set_xscale("log")
        axes.set_xticks(list(tables), [str(value) for value in tables])
        axes.set_xticks([], minor=True)
        axes.set_xlabel(what)
        axes.set_title(f"epsilon {epsilon:g}")
        if place == 0:
            axes.set_ylabel("loss over that of k-means")
    style.legend(figure)
    return figure
