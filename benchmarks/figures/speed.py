"""The figure of `speed`: CPU seconds beside those of k-means, a dot for each table."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from benchmarks.figures import style
from benchmarks.pieces import Piece
from benchmarks.rivals import FLAGSHIP

if TYPE_CHECKING:
    from benchmarks.speed import Timing

MARKERS = {20_000: "o", 100_000: "s", 1_000_000: "^", 10_000_000: "D"}
TICKS = (0.1, 1, 10, 100)


def draw(results: Mapping[Piece, Timing]) -> Figure:
    """Draw one start of k-means and ten, beside each other; below the line we are faster."""
    figure = style.new_figure(8.4, 4.4)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = ("scikit-learn, one start", "scikit-learn, ten starts")
    tables = sorted({piece.dataset for piece in results})
    for axes, starts, title in zip(panels, ("one_start", "ten_starts"), titles, strict=True):
        measured = f"{starts}_cpu_seconds"
        for n_rows, marker in MARKERS.items():
            dots = [
                (
                    median(getattr(timing, measured) for timing in timings),
                    median(timing.cpu_seconds for timing in timings),
                )
                for name in tables
                if name.endswith(f"_{n_rows}")
                and (
                    timings := [
                        timing
                        for piece, timing in results.items()
                        if piece.dataset == name and getattr(timing, measured) is not None
                    ]
                )
            ]
            if dots:
                color = style.MUTED if n_rows < 100_000 else style.METHODS[FLAGSHIP].color
                label = f"{n_rows:,} rows, {len(dots)} tables"
                face = style.GROUND if n_rows < 100_000 else color
                axes.scatter(
                    *zip(*dots, strict=True), s=30, marker=marker, c=face, edgecolor=color,
                    label=label, zorder=3,
                )  # fmt: skip
        axes.plot((0.02, 500), (0.02, 500), color=style.INK, linewidth=1)
        axes.text(60, 110, "as long", rotation=45, va="center", ha="center", fontsize=9)
        style.plain_axes(axes, "both")
        style.ratio_ticks(axes, TICKS, sign=" s")
        style.ratio_ticks(axes, TICKS, "x", sign=" s")
        axes.set(xlim=(0.03, 400), ylim=(0.03, 400), xlabel="k-means, CPU seconds", title=title)
        axes.set_aspect("equal")
    panels[0].set_ylabel("PrivateKMeans, CPU seconds")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
