"""Chores that need an environment of their own: `nox -l` lists them."""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "venv"


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site from the pinned constraints; a warning is an error."""
    session.install("--require-hashes", "--requirement", "constraints/dev.txt")
    session.install("--no-deps", "--no-build-isolation", "--editable", ".")
    session.run("sphinx-build", "-W", "--keep-going", "--quiet", "docs", "docs/_build")
