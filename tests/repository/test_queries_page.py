"""The page on queries lists every query there is, with the sensitivity that the code declares."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from privclust.kernels.grid import UNIT
from privclust.queries import base, cells, columns, covariance, cubes, nearby, profiles
from privclust.queries.base import Query

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "queries.md").read_text()
LINES = {
    name: (formula, section)
    for name, formula, section in re.findall(
        r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| \[(\d+)\]\([^|]+\) \|$", PAGE, re.MULTILINE
    )
}
TESTS = re.findall(r"^\| (`test_[^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
POINTS = np.eye(2, 3) / 2
CELLS = cells.SignCells(np.eye(3), ("0", "1"))
SUMS = base.ClusterSums(POINTS, POINTS, radius=0.5, weight=0.75)
EXAMPLES: dict[str, tuple[Query, dict[str, float]]] = {
    "Count": (base.Count(), {}),
    "NearestVotes": (base.NearestVotes(POINTS), {}),
    "DistanceHistogram": (base.DistanceHistogram(POINTS, np.array([0.5])), {}),
    "ClusterSums": (SUMS, {"w": 0.75}),
    "ClusterMoments": (
        base.ClusterMoments(POINTS, np.ones(2), weight=0.75, spread=0.5),
        {"w": 0.75, "v": 0.5},
    ),
    "NearbySums": (nearby.NearbySums(SUMS), {"w": 0.75}),
    "CellCounts": (cells.CellCounts(CELLS), {}),
    "CellSums": (cells.CellSums(CELLS, 3, weight=0.75), {"w": 0.75}),
    "SubcubeCounts": (
        cubes.SubcubeCounts(np.zeros((1, 3), dtype=np.int64), 1, np.full(3, -(2**26))),
        {},
    ),
    "SwapSavings": (cubes.SwapSavings(POINTS, POINTS, np.array([0, 1])), {"S": 2}),
    "SetSavings": (cubes.SetSavings(np.array([POINTS, -POINTS, POINTS])), {"S": 3}),
    "SecondMoment": (covariance.SecondMoment(3), {}),
    "ColumnHistograms": (columns.ColumnHistograms(np.ones(3), bins=4), {"d": 3}),
    "ProfileTallies": (profiles.ProfileTallies(POINTS, (2, 5)), {"C": 2}),
    "ProfileSums": (profiles.ProfileSums(POINTS, 0, n_values=4), {"w": (1 / 4) ** 0.5}),
}


def every_query() -> set[str]:
    """Return all classes of the package's query modules that have what a query has."""
    files = (ROOT / "src" / "privclust").glob("*base.py")
    modules = [import_module(f"privclust.{file.stem}") for file in files]
    return {
        name
        for module in modules
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__
        and kind is not Query
        and all(hasattr(kind, part) for part in ("size", "bounds", "contribute"))
    }


def test_every_query_has_its_line_and_its_example() -> None:
    assert set(LINES) == set(EXAMPLES) == every_query()


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_sensitivity_on_the_page_is_the_declared_one(name: str) -> None:
    query, letters = EXAMPLES[name]
    stated = eval(LINES[name][0].replace("²", "**2"), {}, letters)
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
