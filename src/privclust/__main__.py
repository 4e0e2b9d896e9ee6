"""Start the command line, or say what it needs."""

from __future__ import annotations

import sys

MISSING_EXTRA = 13


def main() -> None:
    """Run ``privclust``."""
    try:
        from privclust.cli import app
    except ImportError:
        sys.stderr.write('privclust: this needs an extra: pip install "privclust[cli]".\n')
        sys.exit(MISSING_EXTRA)
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="privclust")


if __name__ == "__main__":
    main()
