"""What importing costs, and what it must not load."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
"""Modules whose distributions have other names."""
THEIRS = {"polars"}
"""Imported only where the caller passed something made by it."""

HEAVY = ("opendp", "matplotlib", "sqlalchemy", "psycopg", "typer", "pyspark")


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import privclust", (*HEAVY, "sklearn", "scipy", "pyarrow")),
        ("import privclust.queries.base", (*HEAVY, "sklearn", "scipy", "pyarrow")),
        ("from privclust import PEMeans, on_spark", HEAVY),
        ("import privclust.engines.spark._tasks", (*HEAVY, "sklearn", "scipy")),
        ("import privclust.engines.federated.client", (*HEAVY, "sklearn", "scipy")),
    ],
)
def test_an_import_loads_no_more_than_it_needs(statement: str, absent: tuple[str, ...]) -> None:
    code = f"import sys; {statement}; print([m for m in {absent!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_library_never_imports_its_test_noise_or_its_attacks() -> None:
    code = (
        "import sys; from privclust import PEMeans; "
        "print([m for m in sys.modules if m.startswith(('privclust.testing', 'privclust.audit'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_library_that_is_imported_is_declared() -> None:
    """What comes with another may leave it: typer dropped click, and no command began."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    offered = [extras[name] for name in ("cli", "report", "spark", "flower", "sql")]
    declared = [re.split(r"[^\w-]", item)[0] for item in chain(project["dependencies"], *offered)]
    used = {DISTRIBUTIONS.get(name, name) for name in imported(ROOT / "src")}
    assert used - set(sys.stdlib_module_names) - {"privclust"} - THEIRS - set(declared) == set()


def imported(folder: Path) -> set[str]:
    """Return the first words of all imports below a folder, also of those inside functions."""
    found = set()
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.split(".")[0])
    return found
