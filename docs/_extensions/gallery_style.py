"""The letters and lines of the gallery's pictures, set before each script runs.

Scripts know nothing of it, so that they run wherever they are downloaded to.
``python docs/_extensions/gallery_style.py SCRIPT PNG`` keeps a picture for a page outside.
"""

from __future__ import annotations

import runpy
import sys
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

INK, GREY = "#1f2328", "#888888"


def use_gallery_style(gallery_conf: dict[str, Any] | None = None, script: str = "") -> None:
    """Set letters, lines and margins; Sphinx-Gallery passes what it knows, which is not needed."""
    mpl.rcParams.update(
        {
            "figure.dpi": 150,
            "figure.figsize": (6.4, 4.4),
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


def keep(script: str, picture: str) -> None:
    """Run a script of the gallery and save the figure it leaves."""
    mpl.use("Agg")
    use_gallery_style()
    runpy.run_path(script)
    plt.gcf().savefig(picture, metadata={"Software": None})


if __name__ == "__main__":
    keep(*sys.argv[1:])
