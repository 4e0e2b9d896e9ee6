"""What the wheel must do with its extras."""

from __future__ import annotations

import re
from pathlib import Path

from releasing.building import ReleaseError
from releasing.environments import Environment

RESOLVED = ("spark", "flower", "sql")
"""Extras that are only resolved here: `.ci/long` and the tests run the real ones."""
ROWS = "age,visits\n" + "".join(f"{20 + row % 60},{row % 7}\n" for row in range(2000))


def command_and_report_work(environment: Environment) -> str:
    """Go from a table to a report by typing."""
    folder = environment.folder
    (folder / "visits.csv").write_text(ROWS)
    environment.printed("privclust", "fit", "--help")  # the first thing that an old typer failed at
    environment.printed("privclust", "bounds", "init", "visits.csv", "-o", "visits.toml")
    bounds = folder / "visits.toml"
    bounds.write_text(filled(bounds.read_text()))
    environment.printed(
        *("privclust", "fit", "visits.csv", "--bounds", "visits.toml", "-k", "2"),
        *("--delta", "1e-6", "--out", "model.json", "--quiet"),
    )
    environment.printed("privclust", "report", "model.json", "-o", "report.html")
    if "</html>" not in (folder / "report.html").read_text():
        raise ReleaseError("privclust report wrote no page.")
    return "bounds init, fit and report work with the extras cli and report"


def filled(blanks: str) -> str:
    """Fill in a bounds file as somebody would who knows the table's meaning."""
    text = blanks.replace('bounds_origin = ""', 'bounds_origin = "domain knowledge"')
    text = re.sub(r"^#? *lower *=.*$", "lower = 0", text, flags=re.MULTILINE)
    return re.sub(r"^#? *upper *=.*$", "upper = 120", text, flags=re.MULTILINE)


def others_resolve(environment: Environment, wheel: Path) -> str:
    """Ask uv for versions that fit together, extra by extra, and install none."""
    for extra in RESOLVED:
        environment.install("--dry-run", f"privclust[{extra}] @ {wheel.resolve().as_uri()}")
    return f"the extras {', '.join(RESOLVED)} resolve"
