"""What takes an environment of its own: ``nox --list`` shows it."""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "venv"


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site from the pinned constraints; a warning is an error."""
    session.install("--require-hashes", "--requirement", "constraints/dev.txt")
    session.install("--no-deps", "--no-build-isolation", "--editable", ".")
    session.run("sphinx-build", "-E", "-W", "--keep-going", "--quiet", "docs", "docs/_build")


@nox.session
def release(session: nox.Session) -> None:
    """Build reproducibly, write the bill of materials, try the wheel in fresh environments."""
    session.install("--require-hashes", "-r", "constraints/release.txt")
    session.run("python", "-m", "releasing")
