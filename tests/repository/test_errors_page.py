"""The catalogue of errors lists every error there is, with its cause and exit code."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from privclust.cli.messages import EXIT_CODES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text()
LINES = [
    (f"{module}.{name}", code, cause)
    for module, table in re.findall(r"^From `([\w.]+)`:\n\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    for name, code, cause in re.findall(r"^\| `(\w+)` \| (\d+) \| ([^|]+) \|", table, re.MULTILINE)
]


def every(kind: str) -> set[str]:
    """Return the names of all classes that end so and that users may meet."""
    return {
        node.name
        for file in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        and node.name.endswith(kind)
        and not node.name.startswith("_")
    }


def kind_of(name: str) -> Any:
    module, _, kind = name.rpartition(".")
    return getattr(import_module(module), kind)


def test_every_error_is_listed_once() -> None:
    assert sorted(name.rpartition(".")[2] for name, *_ in LINES) == sorted(every("Error"))


def test_every_warning_is_named() -> None:
    section = PAGE.partition("## Warnings")[2].partition("\n## ")[0]
    assert every("Warning") == set(re.findall(r"`privclust\.errors\.(\w+Warning)`", section))


@pytest.mark.parametrize(("name", "code", "cause"), LINES)
def test_cause_and_code_are_those_of_the_code(name: str, code: str, cause: str) -> None:
    kind = kind_of(name)
    assert (kind.__doc__ or "").splitlines()[0] == cause
    assert next(number for base, number in EXIT_CODES.items() if issubclass(kind, base)) == int(
        code
    )
