"""The bill of materials: what a user has on the machine after installing the core."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from releasing.building import ROOT, ReleaseError
from releasing.environments import Environment

OLDEST_PYTHON = "3.11"
"""The Python that `.ci/lock` pins the core for."""
CHANGING = ('"serialNumber"', '"timestamp"', "file://")
"""What would make two bills of the same environment differ."""


def write_bill(wheel: Path, folder: Path) -> Path:
    """Write what is in an environment of the wheel and the pinned core, as CycloneDX."""
    environment = Environment(folder / "bill", OLDEST_PYTHON)
    if not environment.made():
        raise ReleaseError(f"the bill of materials needs Python {OLDEST_PYTHON}. Install it.")
    environment.install("--require-hashes", "-r", str(ROOT / "constraints/core.txt"))
    # By name and not by path: the path of this machine would be in the bill.
    found = ("--no-index", "--find-links", str(wheel.parent))
    environment.install("--no-deps", *found, f"privclust=={wheel.name.split('-')[1]}")
    text = _bill(environment)
    if text != _bill(environment) or any(word in text for word in CHANGING):
        raise ReleaseError(f"the bill of materials changes: it may not hold {CHANGING}.")
    named = {component["name"].lower() for component in json.loads(text)["components"]}
    if not {"privclust", "numpy", "opendp"} <= named:
        raise ReleaseError(f"the bill of materials names only {sorted(named)}.")
    bill = wheel.with_name(f"privclust-{wheel.name.split('-')[1]}.cdx.json")
    bill.write_text(text)
    return bill


def _bill(environment: Environment) -> str:
    """Return the bill, with components in the order of their names."""
    words = ["environment", "--output-reproducible", "--output-format", "JSON"]
    done = subprocess.run(
        [sys.executable, "-m", "cyclonedx_py", *words, str(environment.programs / "python")],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout
