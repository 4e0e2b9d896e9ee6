"""A digest of the code that a figure depends on, so that stale figures show.

It covers an algorithm's file and every definition that it uses, directly or not, in the packages
that decide a figure: a new query or a new algorithm makes no other one's figures stale.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import privclust

PACKAGES = (
    "privclust.algorithms",
    "privclust.domains.ball",
    "privclust.domains.base",
    "privclust.domains.box",
    "privclust.kernels",
    "privclust.models._weighted_kmeans",
    "privclust.privacy.accounting",
    "privclust.privacy.plan",
    "privclust.queries",
)
"""What decides a figure. Engines, noise and ledgers are left out: tests hold them to exact sums,
exact samplers and stored results, whatever their code looks like."""

PACKAGE = Path(privclust.__file__).parent
TESTS = Path(__file__).parents[1] / "tests"
BALL_SIDES = ("center", "half_widths", "scales")
"""What of a ball its map to the grid uses."""
Definition = tuple[str, str]
"""A module, and a name defined at its top level, or a class and a method of it."""


@cache
def code_digest(
    *algorithms: str, package: Path = PACKAGE, more: tuple[Definition, ...] = ()
) -> str:
    """Return a hash of the algorithms' code and of all it uses, blind to comments and texts.

    Texts are docstrings and what errors say; what a plan says of its cost decides no figure
    either. `more` are definitions to begin with, whose modules then count as well.
    """
    seen: dict[Definition, str] = {}
    covered = (*PACKAGES, *(module for module, _ in more))
    waiting = [
        ("privclust.domains.base", "Domain.to_grid"),
        *(
            ("privclust.domains.ball", f"Ball.{side}")
            for side in ("center", "half_widths", "scales")
        ),
        *more,
    ]
    for module, name in waiting:
        if name not in _definitions(package, module):
            raise LookupError(f"{module} does not define {name}: name where it is defined now.")
    for algorithm in algorithms:
        module = f"privclust.algorithms.{algorithm}"
        waiting += [(module, name) for name in _definitions(package, module)]
    while waiting:
        module, name = waiting.pop()
        if (module, name) in seen or not module.startswith(covered) or "cost" in name:
            continue
        node = _definitions(package, module).get(name)
        if node is None:
            continue
        seen[module, name] = ast.dump(_without_texts(node))
        imports = _imports(package, module)
        for used in {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}:
            waiting.append(imports.get(used, (module, used)))
    content = "\n".join(f"{key}: {code}" for key, code in sorted(seen.items()))
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def definitions_of(module: str) -> tuple[Definition, ...]:
    """Return all that a module of the package defines at its top level."""
    return tuple((module, name) for name in _definitions(PACKAGE, module))


@cache
def _tree(package: Path, module: str) -> ast.Module:
    first, *rest = module.split(".")
    place = (package if first == "privclust" else TESTS / first).joinpath(*rest)
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    return ast.parse(file.read_text())


@cache
def _definitions(package: Path, module: str) -> dict[str, ast.stmt]:
    """Return what a module defines at its top level, and methods there, by name."""
    found: dict[str, ast.stmt] = {}
    for node in _tree(package, module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
            for item in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(item, ast.FunctionDef):
                    found[f"{node.name}.{item.name}"] = item
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [
                item.id
                for target in targets
                for item in ast.walk(target)
                if isinstance(item, ast.Name)
            ]
            found.update(dict.fromkeys(names, node))
    return found


@cache
def _imports(package: Path, module: str) -> dict[str, Definition]:
    """Return where the names come from that a module imports from ours."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in _tree(package, module).body
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("privclust")
        for alias in node.names
    }


def _without_texts(node: ast.stmt) -> ast.stmt:
    for part in ast.walk(node):
        if isinstance(part, ast.Raise) and isinstance(part.exc, ast.Call):
            part.exc.args = []
        body = getattr(part, "body", None)
        if isinstance(body, list):
            part.body = [item for item in body if not _is_left_out(item)]  # type: ignore[attr-defined]
    return node


def _is_left_out(node: ast.AST) -> bool:
    """Tell whether this decides no figure: a text, or what a plan says of its cost."""
    if isinstance(node, ast.FunctionDef):
        return "cost" in node.name
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
