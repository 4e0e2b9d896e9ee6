"""The figures of `scale`: CPU seconds and memory of one fit, by the number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.figures.style import MUTED, line, new_figure, plain_axes, ratio_ticks
from benchmarks.rivals import FLAGSHIP

if TYPE_CHECKING:
    from benchmarks.scale import Sized

TICKS = (1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1000, 10_000)


def draw_seconds(fits: Mapping[int, Sized]) -> Figure:
    """Draw CPU seconds, with a line of as many seconds per row as the largest table took."""
    figure = new_figure(5.4, 3.8)
    axes = figure.subplots()
    rows = sorted(fits)
    seconds = [fits[n].cpu_seconds for n in rows]
    slope = [seconds[-1] * n / rows[-1] for n in rows]
    axes.plot(rows, slope, color=MUTED, linewidth=1, linestyle="--")
    axes.plot(rows, seconds, **line(FLAGSHIP))
    for n, value in zip(rows, seconds, strict=True):
        axes.annotate(f"{value:.3g} s", (n, value), (0, 9), textcoords="offset points", ha="center")
    _finish(axes, rows, seconds, " s")
    axes.set(ylabel="CPU seconds of one fit", title="Dashed: in proportion to rows")
    return figure


def draw_memory(fits: Mapping[int, Sized]) -> Figure:
    """Draw the peak of memory beside the size of the table."""
    figure = new_figure(5.4, 3.8)
    axes = figure.subplots()
    rows = sorted(fits)
    table = [fits[n].table_gigabytes for n in rows]
    peaks = [fits[n].gigabytes for n in rows]
    axes.plot(rows, table, color=MUTED, marker="s", linestyle="--")
    axes.plot(rows, peaks, **line(FLAGSHIP))
    over: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
    axes.annotate("the table in Parquet", (rows[-1], table[-1]), (-8, 0), ha="right", **over)
    axes.annotate("the process that fits it", (rows[0], peaks[0]), (0, 14), **over)
    _finish(axes, rows, [*table, *peaks], " GB")
    axes.set(ylabel="gigabytes", title="The fit, and the table that it reads")
    return figure


def _finish(axes: Axes, rows: list[int], values: list[float], unit: str) -> None:
    plain_axes(axes)
    low, high = min(values), max(values)
    ratio_ticks(axes, [tick for tick in TICKS if low / 4 <= tick <= high * 4], sign=unit)
    axes.set_xscale("log")
    axes.set_xticks(rows, [f"{n:,}" for n in rows], rotation=15, fontsize=8)
    axes.set_xticks([], minor=True)
    axes.set_xlim(rows[0] / 2, rows[-1] * 2)
    axes.set_ylim(low / 3, high * 3)
    axes.set_xlabel("rows of 4 columns, 16 clusters")
