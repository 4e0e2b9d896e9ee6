"""A picture of a forecast."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from privclust.models._canvas import PALETTE, axes_for
from privclust.planning.forecast import Forecast, with_epsilon

TOP = 3.0
"""Of forecasts; beyond, it does not matter."""


def plot_forecast(expected: Forecast, ax: Axes | None = None) -> Axes:
    """Draw the loss to expect against epsilon, with the one that was typed."""
    tried = np.geomspace(0.01, 32, 200)
    forecasts = [with_epsilon(expected, float(epsilon)) for epsilon in tried]
    ratios = np.array([other.ratio for other in forecasts])
    seen = (ratios <= TOP) | (tried >= expected.epsilon)
    hidden = tried[seen & ~np.array([other.found for other in forecasts])]
    axes = axes_for(ax, 7, 4)
    axes.plot(tried[seen], ratios[seen], color=PALETTE[0])
    here = (expected.epsilon, min(expected.ratio, TOP))
    axes.plot(*here, "o", color=PALETTE[1])
    text = f"epsilon {expected.epsilon:g}: {expected.ratio:.3f}"
    axes.annotate(text, here, xytext=(0, 10), textcoords="offset points", ha="center")
    if hidden.size:
        axes.axvspan(hidden[0], hidden[-1], color="#f3f4f6")
        axes.text(hidden[0], TOP, " noise hides clusters", va="top")
    axes.set_xscale("log")
    axes.set_ylim(0.95, TOP)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("epsilon (log scale); less is stronger")
    axes.set_ylabel("loss, over that of k-means")
    axes.set_title(
        f"{expected.n_clusters} clusters, {expected.n_rows:,} rows, {expected.n_columns} columns",
        loc="left",
        fontsize=11,
    )
    return axes
