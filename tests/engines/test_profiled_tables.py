"""Profiles: every engine, over every layout of the same rows, gives the NumPy engine's integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.conformance import COLUMNS, DOMAIN, ENGINES, UNITS, in_memory, people, results

from privclust.domains._category_column import CategoryColumn
from privclust.domains._number_column import NumberColumn
from privclust.domains.columns import Column
from privclust.domains.profiled import ProfileDomain
from privclust.engines import spilled
from privclust.queries.base import Query
from privclust.queries.profiles import ProfileSums, ProfileTallies

NUMBERS = (NumberColumn("x", -50, 50), NumberColumn("y", 1, 100, transform="log"))
PROFILED: dict[str, tuple[Column, ...]] = {
    "row": (CategoryColumn("name", ("pérson 1", "pérson 7", "other")), *NUMBERS),
    "texts, 3 rows": (NumberColumn("number", -9, 30), *NUMBERS),
}


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spill into few files, to be quick."""
    monkeypatch.setattr(spilled, "PARTITIONS", 2)


@pytest.mark.parametrize("unit", PROFILED)
@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_gives_the_same_integers(name: str, unit: str, tmp_path: Path) -> None:
    domain = ProfileDomain(DOMAIN, tuple(COLUMNS), PROFILED[unit])
    centers = np.random.default_rng(1).uniform(-0.5, 0.5, (5, 3))
    queries: list[Query] = [
        ProfileTallies(centers, domain.n_places),
        ProfileSums(centers, len(domain.columns), domain.n_numbers),
    ]
    table = people(120)
    expected = results(in_memory(table, domain.names, domain, UNITS[unit]), queries)
    found = ENGINES[name](table, domain.names, domain, UNITS[unit], tmp_path)
    assert results(found, queries) == expected
    assert all(any(result) for result in expected)
