"""What takes an environment of its own: ``nox --list`` shows it."""

from __future__ import annotations

import nox


@nox.session
def release(session: nox.Session) -> None:
    """Build reproducibly, write the bill of materials, try the wheel in fresh environments."""
    session.install("--require-hashes", "-r", "constraints/release.txt")
    session.run("python", "-m", "releasing")
