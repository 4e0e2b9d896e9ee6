"""Figures of gallery scripts that pages outside of the gallery show.

``python -m benchmarks.figures.gallery`` draws them again. Scripts know nothing of the style, so
that they run wherever they are downloaded to.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from helpers.pages import words_of

from benchmarks.figures.style import PLACE, styled, write

SCRIPTS = Path(__file__).parents[2] / "examples" / "gallery"
SHOWN = ("private_evolution", "vote_splitting")

FRAMED: Any = {"axes.spines.top": True, "axes.spines.right": True, "figure.dpi": 200}
"""Panels of rows have a frame; rows are drawn as dots of a picture, in a file a fifth as large."""


def draw(place: Path = PLACE) -> None:
    """Run the scripts, whose noise is real, and write the figure that each leaves."""
    plt.switch_backend("Agg")
    for name in SHOWN:
        with styled(), plt.rc_context(FRAMED):
            runpy.run_path(str(SCRIPTS / f"plot_{name}.py"))
            figure = plt.gcf()
            write(figure, words_of(figure), name, place)
            plt.close(figure)


if __name__ == "__main__":
    draw()
