"""What importing costs, and what it must not load."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "adbc_driver_manager": "adbc-driver-manager",
    "jwt": "pyjwt",
    "prometheus_client": "prometheus-client",
}
"""Modules whose distributions have other names."""
THEIRS = {"polars", "IPython"}
"""Imported only where the caller passed something made by it, or is run by it."""

HEAVY = ("opendp", "matplotlib", "sqlalchemy", "psycopg", "typer", "pyspark")


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import privclust", (*HEAVY, "sklearn", "scipy", "pyarrow")),
        ("import privclust.queries.base", (*HEAVY, "sklearn", "scipy", "pyarrow")),
        ("from privclust import PEMeans, on_spark", HEAVY),
        ("from privclust.cli import app", ("opendp", "matplotlib", "sqlalchemy", "sklearn")),
        ("import privclust.engines.spark._tasks", (*HEAVY, "sklearn", "scipy")),
        ("import privclust.engines.federated.client", (*HEAVY, "sklearn", "scipy")),
        ("import privclust.engines.factory", (*HEAVY, "sklearn", "scipy")),
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
    mine = ("dev", "docs", "bench")
    offered = [items for name, items in extras.items() if name not in mine]
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


# The shape of the tree ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "top", [ROOT / "src" / "privclust", ROOT / "benchmarks"], ids=["src", "benchmarks"]
)
def test_no_modules_import_each_other(top: Path) -> None:
    graph = {
        name: set(loaded(tree, names)) for names in [modules(top)] for name, tree in names.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' -> '.join(error.args[1])}")


def test_cycle_would_be_noticed() -> None:
    names = {"a.b": ast.parse("from a import c"), "a.c": ast.parse("if True:\n    import a.b")}
    assert {name: set(loaded(tree, names)) for name, tree in names.items()} == {
        "a.b": {"a.c"},
        "a.c": {"a.b"},
    }


def test_root_has_few_packages_and_modules() -> None:
    package = ROOT / "src" / "privclust"
    assert len([file for file in package.iterdir() if (file / "__init__.py").exists()]) <= 15
    assert len(list(package.glob("*.py"))) <= 7


def test_no_module_is_longer_than_400_lines() -> None:
    sizes = {file: len(file.read_text().splitlines()) for file in (ROOT / "src").rglob("*.py")}
    assert [file.name for file, size in sizes.items() if size > 400] == []


def modules(top: Path) -> dict[str, ast.Module]:
    """Return the modules below a folder by their dotted names."""
    found = {}
    for file in top.rglob("*.py"):
        parts = file.relative_to(top.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(file.read_text())
    return found


def loaded(tree: ast.Module, names: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the modules among `names` that a module loads when it is loaded itself."""
    for node in at_import(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from inner & names.keys()
            if node.module in names and not inner <= names.keys():
                yield node.module


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what runs when a module is loaded, without functions and what types alone need."""
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(part, ast.If) and ast.unparse(part.test) == "TYPE_CHECKING":
            continue
        yield part
        yield from at_import(part)
