"""A picture of a forecast."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privclust.models._canvas import PALETTE, new_axes, plain_texts, save_png
from privclust.planning.forecast import Forecast, with_epsilon

TOP = 3.0
"""Of forecasts; beyond, it does not matter."""


@plain_texts()
def draw_forecast(expected: Forecast, picture: Path) -> None:
    """Draw the loss to expect against epsilon, with the one that was typed.

    Parameters
    ----------
    expected : Forecast
        What `forecast` returned.
    picture : str or Path
        A PNG to write.

    Examples
    --------
    >>> import tempfile
    >>> from privclust import forecast
    >>> with tempfile.NamedTemporaryFile(suffix=".png") as file:
    ...     draw_forecast(forecast(20_000, 4, delta=1e-6), Path(file.name))
    """
    tried = np.geomspace(0.01, 32, 200)
    forecasts = [with_epsilon(expected, float(epsilon)) for epsilon in tried]
    ratios = np.array([other.ratio for other in forecasts])
    seen = (ratios <= TOP) | (tried >= expected.epsilon)
    hidden = tried[seen & ~np.array([other.found for other in forecasts])]
    figure, axes = new_axes(7, 4)
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
    save_png(figure, picture)
