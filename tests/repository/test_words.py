"""Words that the project gave up for terms of the field, and where none of them may come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORMER = {
    "house": "architecture",
    "rooms?": "package",
    "cellars?": "package",
    "stairs?": "package",
    "doors?": "Curator",
    "promis(?:e|es|ed|ing)": "privacy guarantee; of values, declared",
    "questions?": "query",
    "silos?": "client",
    "rosters?": "clients",
    "attendances?": "participation",
    "farewells?": "on_finish",
    "halvings": "sampling rate 2^-h",
    "coins?": "inclusion bit",
    "parcels?": "batch",
    "lakes?": "table of Spark",
    "polish(?:ed|ing|es)?": "refine",
    "shadows?": "projected centres",
    "mend(?:ed|ing|s)?": "fix",
    "for nothing": "at no cost",
    "shall not": "should not",
    "scikit-learn face": "estimator",
    "whole numbers?": "integer",
    "Protected is": "The protected unit is",
}
"""As a regular expression, and what is said now: in code, messages, statements and headings."""
NAMES = {
    "answers?|answered|asked|told": "result, measured, reported",
    "shown": "safe_repr",
    "said|stated|written_out|unheard|_elsewhere": "a verb, such as format_value, build_statement",
    "keeping": "sample store",
    "looks?|reach|spread": "locate, radius or half_widths, width",
    "unit_rows": "max_rows_per_unit",
    "changed": "l0",
}
"""Names that are gone, though as English words they may be used."""


def test_no_former_word_is_in_the_source() -> None:
    pattern = re.compile(rf"\b(?:{'|'.join(FORMER)})\b", re.IGNORECASE)
    files = [file for file in (ROOT / "src").rglob("*") if file.suffix in {".py", ".j2", ".sql"}]
    assert len(files) > 150
    assert list(_lines_with(pattern, files)) == []


def test_no_former_name_is_in_the_source() -> None:
    pattern = re.compile("|".join(NAMES))
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file in (ROOT / "src").rglob("*.py")
        for line, name in _names(ast.parse(file.read_text()))
        if pattern.fullmatch(name)
    ]
    assert found == []


def test_no_former_word_names_a_test() -> None:
    words = [*FORMER, "answers?|asked"]
    pattern = re.compile(rf"(?<![a-z])(?:{'|'.join(words).replace(' ', '_')})(?![a-z])")
    found = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in (ROOT / "tests").rglob("test_*.py")
        for _, name in _names(ast.parse(file.read_text()))
        if name.startswith("test_") and pattern.search(name.removeprefix("test_"))
    ]
    assert found == []


def test_no_former_word_is_in_a_heading() -> None:
    words = [*FORMER, "Sixty seconds", "What was measured", "Why believe us", "Python names"]
    pattern = re.compile(rf"^#+ .*\b(?:{'|'.join(words)})\b", re.IGNORECASE)
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    pages = [page for page in pages if "_build" not in page.parts]
    assert len(pages) > 40
    assert list(_lines_with(pattern, pages)) == []


@pytest.mark.parametrize("text", ["The promise holds.", "# One door", "no Silo", "for nothing"])
def test_former_words_are_recognised(text: str) -> None:
    assert re.search(rf"\b(?:{'|'.join(FORMER)})\b", text, re.IGNORECASE)


def _lines_with(pattern: re.Pattern[str], files: list[Path]) -> Iterator[str]:
    for file in sorted(files):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if pattern.search(line):
                yield f"{file.relative_to(ROOT)}:{number}: {line.strip()}"


def _names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Give every name that a module defines or uses, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.value.lineno, node.arg
