"""The letters and lines of the gallery's pictures, set before each script runs.

Scripts know nothing of it, so that they run wherever they are downloaded to.
`benchmarks/figures/gallery.py` draws those that pages outside show.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl

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
