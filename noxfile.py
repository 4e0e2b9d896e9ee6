#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox"]
# ///
"""What takes an environment of its own: ``nox --list`` shows it."""

from __future__ import annotations

import nox

nox.needs_version = ">=2025.2"
nox.options.default_venv_backend = "venv"

QUICK_EXTRAS = "cli,excel,fast,report,sign"
QUICK_TOOLS = ("duckdb>=1.4", "hypothesis>=6.100", "pandas>=2.2", "polars>=1.35", "pytest>=8")
QUICK_TESTS = (
    "tests/portability",
    "tests/domains",
    "tests/kernels",
    "tests/queries",
    "tests/privacy/test_plan.py",
    "tests/privacy/ledger/test_periods.py",
)
"""What takes two minutes, needs no other program and no call that only Linux has."""


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site from the pinned constraints; a warning is an error."""
    session.install("--require-hashes", "--requirement", "constraints/dev.txt")
    session.install("--no-deps", "--no-build-isolation", "--editable", ".")
    session.run("sphinx-build", "-E", "-W", "--keep-going", "--quiet", "docs", "docs/_build")


@nox.session(default=False)
def quick(session: nox.Session) -> None:
    """Test on any system, with the newest dependencies, what does not need Linux."""
    session.install(f".[{QUICK_EXTRAS}]", *QUICK_TOOLS)
    session.run("pytest", *QUICK_TESTS, *session.posargs)


@nox.session
def release(session: nox.Session) -> None:
    """Build reproducibly, write the bill of materials, try the wheel in fresh environments."""
    session.install("--require-hashes", "-r", "constraints/release.txt")
    session.run("python", "-m", "releasing")


if __name__ == "__main__":
    nox.main()
