"""The picture that other sites show beside a link to ours."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.figures.steps import Frame, draw_release
from benchmarks.figures.style import GROUND, MUTED, PLACE, fingerprint, new_figure, styled

CARD = PLACE.parent / "_static" / "card.png"
LINE = "Find clusters in a table of people, and publish them without publishing the people."
WIDTH, HEIGHT, DOTS = 12.0, 6.3, 100
"""Inches and dots per inch: 1200 by 630 is the size that sites want."""


def draw(released: Frame, file: Path = CARD) -> None:
    """Write the card, with a digest of what it shows."""
    with styled():
        figure = _card(released)
        about = {"Software": None, "Description": fingerprint(figure)}
        figure.savefig(file, dpi=DOTS, facecolor=GROUND, metadata=about)


def _card(released: Frame) -> Figure:
    figure = new_figure(WIDTH, HEIGHT)
    figure.set_layout_engine("none")
    figure.text(0.05, 0.88, "privclust", fontsize=52, weight="bold", va="center")
    figure.text(0.05, 0.74, LINE, fontsize=18, color=MUTED, va="center")
    inside, outside = (figure.add_axes((left, 0.04, 0.3, 0.5714)) for left in (0.12, 0.58))
    draw_release(inside, outside, released)
    for axes in (inside, outside):
        axes.set_title(axes.get_title("left"), fontsize=16, weight="bold")
    return figure
