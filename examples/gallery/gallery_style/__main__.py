"""Keep a script's picture for a page outside the gallery.

Run it as ``python examples/gallery/gallery_style SCRIPT PNG``.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt


def main(script: str, picture: str) -> None:
    """Run a script of the gallery and save the figure it leaves."""
    mpl.use("Agg")
    sys.path.insert(0, str(Path(script).parent))  # as Sphinx does
    runpy.run_path(script)
    plt.gcf().savefig(picture, metadata={"Software": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
