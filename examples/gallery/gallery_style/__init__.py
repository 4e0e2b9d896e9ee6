"""What the gallery's pictures have in common."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.axes import Axes

from privclust.models._canvas import PALETTE

BLUE, RED, GREEN, YELLOW, CYAN, PURPLE = PALETTE[:6]
INK, GREY, PALE = "#333333", "#888888", "#d0d3d8"
WIDTH = 6.4
"""Inches. With letters of this size a picture is readable on a telephone."""


def use_gallery_style() -> None:
    """Set letters, lines and margins; call it before the first figure."""
    mpl.rcParams.update(
        {
            "figure.dpi": 150,
            "figure.constrained_layout.use": True,
            "font.size": 10,
            "text.color": INK,
            "axes.labelcolor": INK,
            "axes.edgecolor": GREY,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.titlesize": 12,
            "xtick.color": INK,
            "ytick.color": INK,
            "legend.frameon": False,
        }
    )


def as_map(axes: Axes, lower: float, upper: float) -> None:
    """Show a square of the plane, with a frame and without numbers."""
    axes.set(aspect="equal", xlim=(lower, upper), ylim=(lower, upper), xticks=(), yticks=())
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(PALE)
