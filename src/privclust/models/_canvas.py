"""What all pictures have in common."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

_LINES = "#e5e7eb"

PALETTE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#e69f00",
    "#56b4e9",
    "#cc79a7",
    "#76420b",
    "#1f2328",
    "#888888",
    "#6a48f2",
)
"""Okabe and Ito's colours, which the colour-blind tell apart, and more for longer lists."""
BLUE, ORANGE = PALETTE[:2]


@contextmanager
def plain_texts() -> Iterator[None]:
    """Draw names as they are: ``$`` begins no formula, and a letter without a shape no warning."""
    with mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(width: float, height: float) -> Figure:
    """Return an empty picture, in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def new_axes(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a picture with one pair of axes and a grid."""
    figure = new_figure(width, height)
    axes = figure.subplots()
    plain_axes(axes)
    return figure, axes


def axes_for(given: Axes | None, width: float, height: float) -> Axes:
    """Return the axes that a user gave, or those of a new picture, which a notebook shows.

    Call it outside of `plain_texts`, which would undo what a notebook sets for its pictures.
    """
    if given is None:
        # A program that writes files needs none of pyplot's windows.
        from matplotlib import pyplot

        _, given = pyplot.subplots(figsize=(width, height), layout="constrained")
    plain_axes(given)
    return given


def side_by_side(width: float, height: float, shares: tuple[float, float]) -> tuple[Axes, Axes]:
    """Return two pairs of axes of a new picture, which a notebook shows."""
    from matplotlib import pyplot

    _, (left, right) = pyplot.subplots(
        1, 2, figsize=(width, height), width_ratios=shares, layout="constrained"
    )
    plain_axes(left)
    plain_axes(right)
    return left, right


def plain_axes(axes: Axes) -> None:
    """Leave out the frame, draw a light grid behind everything, and take names as they are."""
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_parse_math(False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color=_LINES, linewidth=0.6)
    axes.set_axisbelow(True)


def png(figure: Figure) -> bytes:
    """Return a picture as the bytes of a PNG that say nothing of who made it."""
    buffer = io.BytesIO()
    save_png(figure, buffer)
    return buffer.getvalue()


def save_png(figure: Figure, target: str | Path | io.BytesIO) -> None:
    """Write a picture as a PNG that says nothing of who made it."""
    figure.savefig(target, format="png", dpi=130, metadata={"Software": None})
