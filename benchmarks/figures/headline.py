"""The figure on the first page: error against epsilon, all methods, all tables of `utility`."""

from __future__ import annotations

from matplotlib.figure import Figure

from benchmarks.auc import Losses, mean_loss
from benchmarks.figures import style
from benchmarks.methods import EPSILONS
from benchmarks.rivals import FLAGSHIP, MARKED, REFERENCE, RIVALS, TABLES, geometric_mean, method_on

TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 8.0)


def error(losses: Losses, method: str, epsilon: float) -> float:
    """Return a method's loss over that of k-means, best of ten, as a mean over all tables."""
    return geometric_mean(
        mean_loss(losses, method_on(method, name), name, epsilon)
        / mean_loss(losses, REFERENCE, name, 0.0)
        for name in TABLES
    )


def draw(losses: Losses) -> Figure:
    """Draw a line for each method."""
    figure = style.new_figure(height=4.2)
    axes = figure.subplots()
    ends = {}
    for method in (FLAGSHIP, *RIVALS, MARKED):
        values = [error(losses, method, epsilon) for epsilon in EPSILONS]
        axes.plot(EPSILONS, values, **style.line(method))
        ends[method] = values[-1]
    axes.plot((0.22, EPSILONS[-1]), (1.0, 1.0), **style.reference_line())
    axes.text(EPSILONS[0], 0.975, "k-means without privacy = 1", va="top", fontsize=9)
    style.plain_axes(axes)
    style.epsilon_ticks(axes, EPSILONS)
    style.ratio_ticks(axes, TICKS)
    axes.set(xlim=(0.22, 12), ylim=(0.87, 10))
    axes.spines["bottom"].set_bounds(0.22, EPSILONS[-1])
    style.label_ends(axes, ends, EPSILONS[-1] * 1.1, 1.115)
    axes.set_xlabel("epsilon (← stronger privacy)", loc="left")
    axes.set_ylabel("loss over that of k-means")
    axes.set_title(f"Private clustering of {len(TABLES)} tables, geometric mean", weight="bold")
    return figure
