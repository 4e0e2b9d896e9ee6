"""Start the command line, or say what it needs."""

from __future__ import annotations

import sys


def main() -> None:
    """Run ``privclust``."""
    try:
        from privclust.cli import app
    except ImportError:
        sys.exit('privclust: the command line needs an extra: pip install "privclust[cli]".')
    app(prog_name="privclust")


if __name__ == "__main__":
    main()
