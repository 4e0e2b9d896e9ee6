"""Start the command line, or say what it needs."""

from __future__ import annotations

import signal
import sys
from io import TextIOWrapper
from typing import NoReturn

from privclust.errors import needs_extra

MISSING_EXTRA = 13


def _leave(number: int, _: object) -> NoReturn:
    """End in order, so that no half-written file of labels stays behind."""
    sys.exit(128 + number)


def main() -> None:
    """Run ``privclust``."""
    try:
        from privclust.cli import app
    except ImportError as error:
        missing = f" ({error.name} is missing)" if error.name else ""
        sys.stderr.write(f"privclust: {needs_extra('cli')}{missing}.\n")
        sys.exit(MISSING_EXTRA)
    except KeyboardInterrupt:
        sys.exit(130)
    signal.signal(signal.SIGTERM, _leave)
    if isinstance(sys.stdout, TextIOWrapper):
        # A character that a terminal's encoding lacks must not end a command that has paid.
        sys.stdout.reconfigure(errors="backslashreplace")
    app(prog_name="privclust")


if __name__ == "__main__":
    main()
