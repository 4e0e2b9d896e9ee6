"""The page on queries lists every query there is, with the sensitivity that the code declares."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.query_examples import PROFILE_QUERIES, QUERIES, names_of, package_queries

from privclust.kernels.grid import UNIT
from privclust.queries import Query

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "queries.md").read_text()
LINES = {
    name: (formula, section)
    for name, formula, section in re.findall(
        r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| \[(\d+)\]\([^|]+\) \|$", PAGE, re.MULTILINE
    )
}
TESTS = re.findall(r"^\| (`queries/test_[^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
EXAMPLES = {type(query).__name__: query for query in (*QUERIES, *PROFILE_QUERIES)}


def letters(query: Query) -> dict[str, float]:
    """Return what the page's letters mean for a query; its own fields have their own names."""
    named = {**vars(query), **vars(getattr(query, "sums", query))}
    return named | {
        "w": named.get("weight", 0),
        "v": named.get("square_weight", 0),
        "S": query.size,
        "d": 3,
        "C": len(named.get("n_places", ())),
        "m": named.get("n_values", 0),
    }


def test_every_query_has_its_line_and_its_example() -> None:
    assert set(LINES) == names_of(EXAMPLES.values()) == package_queries()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_sensitivity_on_the_page_is_the_declared_one(name: str) -> None:
    query = EXAMPLES[name]
    formula = LINES[name][0].replace("²", "**2").replace("·", "*").replace("√m", "m**0.5")
    stated = eval(formula, {}, letters(query))
    assert stated == pytest.approx(query.sensitivity.l2_squared / UNIT**2, rel=1e-6)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_section_speaks_of_the_query(name: str) -> None:
    section = LINES[name][1]
    proof = (ROOT / "docs" / "proofs" / "sensitivity.md").read_text()
    chapter = re.split(r"^## ", proof, flags=re.MULTILINE)[int(section)]
    assert chapter.startswith(f"{section}. ")
    assert f"`{name}`" in chapter


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tests_speak_of_the_query(name: str) -> None:
    named = [files for files, names in TESTS if f"`{name}`" in names]
    assert len(named) == 1
    for file in re.findall(r"`([^`]+)`", named[0]):
        assert re.search(rf"\b{name}\b", (ROOT / "tests" / file).read_text())
