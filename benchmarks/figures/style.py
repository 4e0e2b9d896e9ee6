"""How all figures of measurements look: one colour, marker and dash for each method.

Colours began as Okabe and Ito's and were moved until every pair differs by 20 in CIELAB or more for
eyes with and without a red or green deficiency, and each has a contrast of 3 to its ground. Markers
and dashes tell methods apart without colour. `tests/benchmarks/test_figures.py` holds them to that.
A figure is drawn once, for a light page; for a dark one its colours are exchanged.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.rivals import FLAGSHIP, MARKED

PLACE = Path(__file__).parents[2] / "docs" / "figures"
WIDTH = 7.0
"""Inches of a figure that has a page's width; its letters are readable on a telephone."""
GROUND, INK, MUTED, GRID = "#ffffff", "#1f2328", "#59636e", "#dfe3e8"
"""Colours of the page, of letters, of axes and of lines behind."""
DARK_GROUND, DARK_INK, DARK_MUTED, DARK_GRID = "#14181e", "#e6e6e6", "#a5adb8", "#343b45"


@dataclass(frozen=True)
class MethodStyle:
    """How a method is drawn in every figure, on a light page and on a dark one."""

    color: str
    dark: str
    marker: str
    dash: tuple[float, ...] = ()
    label: str = ""
    hollow: bool = False


METHODS: Mapping[str, MethodStyle] = {
    FLAGSHIP: MethodStyle("#d55e00", "#ff7a1a", "o"),
    "PEMeans": MethodStyle("#0072b2", "#336d9f", "s", (6, 1.5), "PEMeans / HDPEMeans"),
    "DPLloyd": MethodStyle("#2aa25f", "#03c593", "v", (4, 1.5)),
    "FastLloyd": MethodStyle("#674c65", "#dea2dc", "P", (6, 1.5, 1, 1.5)),
    "LSHCoreset": MethodStyle("#0475ee", "#6e9bfd", "^", (2.5, 1)),
    "BalcanKMeans": MethodStyle("#76420b", "#f8febe", "D", (8, 1.5, 2, 1.5)),
    MARKED: MethodStyle("#888888", "#696969", "X", (1, 1.2), f"{MARKED}*"),
    "FedDPKMeans": MethodStyle("#1b144a", "#6a48f2", "*", (10, 2)),
    "ServerLloyds": MethodStyle("#352501", "#7d641f", "<", (3, 1, 1, 1, 1, 1)),
    "HDPEMeans": MethodStyle("#0072b2", "#336d9f", "h", (5, 1, 1, 1), hollow=True),
    "PrivateKMeans from server rows": MethodStyle("#d55e00", "#ff7a1a", "p", (3, 3), hollow=True),
}
"""The last two are variants: they have the colour of a method, and a marker of their own."""
DARK = {
    GROUND: DARK_GROUND,
    INK: DARK_INK,
    MUTED: DARK_MUTED,
    GRID: DARK_GRID,
    "#e5e7eb": DARK_GRID,  # these two are of the library's own pictures
    "#e8f3e8": "#22332a",
    **{style.color: style.dark for style in METHODS.values()},
}
"""What colours become on a dark page; others stay."""
CYCLE = tuple(dict.fromkeys(style.color for style in METHODS.values()))
"""Colours of lines that are of no method."""
NOT_PRIVATE = "k-means without privacy"


def line(method: str) -> dict[str, Any]:
    """Return how matplotlib draws a method's line."""
    style = METHODS[method]
    return {
        "color": style.color,
        "label": style.label or method,
        "marker": style.marker,
        "markersize": 5.5,
        "markerfacecolor": GROUND if style.hollow else style.color,
        "linewidth": 2.8 if method == FLAGSHIP else 1.5,
        "linestyle": (0, style.dash) if style.dash else "-",
        "zorder": 4 if method == FLAGSHIP else 3,
    }


def reference_line(label: str = NOT_PRIVATE) -> dict[str, Any]:
    """Return how the line of k-means without privacy is drawn."""
    dash = (0, (5, 3))
    return {"color": INK, "linestyle": dash, "linewidth": 1.0, "label": label, "zorder": 2}


def new_figure(width: float = WIDTH, height: float = 4.2) -> Figure:
    """Return an empty figure, in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def plain_axes(axes: Axes, grid: str = "y") -> None:
    """Leave out the frame, and draw a light grid behind everything."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, linewidth=0.7)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.minorticks_off()


def ratio_ticks(axes: Axes, ticks: Sequence[float], which: str = "y", sign: str = "×") -> None:
    """Give a logarithmic axis ticks that read as ratios: 1.5×, never 6×10⁻¹."""
    axis = axes.yaxis if which == "y" else axes.xaxis
    getattr(axes, f"set_{which}scale")("log")
    axis.set_ticks(ticks, [f"{tick:g}{sign}" for tick in ticks])
    axis.set_ticks([], minor=True)


def epsilon_ticks(axes: Axes, epsilons: Sequence[float]) -> None:
    """Give a logarithmic axis the epsilons of a measurement."""
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.set_xticks([], minor=True)


def label_ends(axes: Axes, ends: Mapping[str, float], x: float, gap: float) -> None:
    """Write names beside the ends of lines, in ink, at least a factor `gap` apart."""
    last = 0.0
    for method, end in sorted(ends.items(), key=lambda item: item[1]):
        last = max(end, last * gap)
        axes.text(
            x,
            last,
            METHODS[method].label or method,
            color=INK,
            va="center",
            weight="bold" if method == FLAGSHIP else "normal",
        )


def legend(figure: Figure, columns: int = 4) -> None:
    """Name the lines of the first axes once, below."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=4,
    )


@contextmanager
def styled() -> Iterator[None]:
    """Set letters, lines and colours while a figure is drawn and written."""
    with mpl.rc_context():
        mpl.rcParams.update(
            {
                "font.size": 10,
                "axes.titlesize": 10,
                "axes.titlelocation": "left",
                "figure.titlesize": 12,
                "legend.fontsize": 9,
                "svg.hashsalt": "privclust",
                "figure.facecolor": "none",
                "axes.facecolor": "none",
                "savefig.facecolor": "none",
                "text.color": INK,
                "axes.labelcolor": INK,
                "axes.edgecolor": MUTED,
                "xtick.color": MUTED,
                "ytick.color": MUTED,
                "xtick.labelcolor": INK,
                "ytick.labelcolor": INK,
                "grid.color": GRID,
                "axes.prop_cycle": cycler(color=CYCLE),
                "axes.spines.top": False,
                "axes.spines.right": False,
                "legend.frameon": False,
            }
        )
        yield


def save(draw: Callable[[], Figure], name: str, place: Path = PLACE) -> None:
    """Write a figure for both kinds of pages, as ``NAME.svg`` and ``NAME-dark.svg``."""
    with styled():
        figure = draw()
        write(figure, fingerprint(figure), name, place)


def write(figure: Figure, description: str, name: str, place: Path = PLACE) -> None:
    """Write a figure that was drawn in this style."""
    text = io.StringIO()
    about = {"Date": None, "Creator": None, "Description": description}
    figure.savefig(text, format="svg", metadata=about)
    (place / f"{name}.svg").write_text(text.getvalue())
    (place / f"{name}-dark.svg").write_text(for_dark_pages(text.getvalue()))


def for_dark_pages(svg: str) -> str:
    """Exchange the colours of a figure for those of a dark page."""
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: DARK.get(found[0], found[0]), svg)


def fingerprint(figure: Figure) -> str:
    """Return a digest of the numbers and words that a figure shows, which no style changes.

    A figure's file keeps it, so that a test can tell whether it shows the results that are kept.
    """
    shown: list[Any] = [text.get_text() for text in figure.texts]
    for axes in figure.axes:
        shown += [axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel()]
        shown += [text.get_text() for text in axes.texts]
        shown += [_rounded(found.get_xydata()) for found in axes.lines]
        shown += [_rounded(found.get_offsets()) for found in axes.collections]
        shown += [_rounded(found.get_array()) for found in axes.images]
        shown += [_rounded(found.get_extents().bounds) for found in axes.patches]
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()[:16]


def _rounded(values: Any) -> list[Any]:
    return [f"{value:.4g}" for value in np.asarray(values, dtype=float).ravel()]
