"""A digest of the code that a figure depends on, so that stale figures show."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

import privclust

KERNEL = ("domain.py", "queries.py", "geometry", "privacy/budget.py", "privacy/plan.py")
"""What decides a figure. Engines, noise and ledgers are left out: tests hold them to exact sums,
exact samplers and stored answers, whatever their code looks like."""


@cache
def code_digest(*algorithms: str) -> str:
    """Return a hash of the algorithms' and the kernel's code, blind to comments and docstrings."""
    package = Path(privclust.__file__).parent
    content = hashlib.sha256()
    for part in (*KERNEL, *(f"algorithms/{algorithm}.py" for algorithm in algorithms)):
        place = package / part
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            content.update(_bare_code(file.read_text()).encode())
    return content.hexdigest()[:12]


def _bare_code(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [item for item in body if not _is_text(item)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
