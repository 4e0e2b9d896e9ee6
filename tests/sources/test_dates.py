"""Days, as dates, times or texts of a declared format write them."""

from __future__ import annotations

import math
from datetime import date
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust import PrivateKMeans, load, save
from privclust.domains._date_format import day_pattern
from privclust.domains.bounds_file import declared_column
from privclust.errors import BoundsError
from privclust.sources.dates import days

cheap = settings(deadline=None, derandomize=True, database=None, max_examples=50)
FORMATS = [
    mark.join(parts)
    for parts in permutations(("YYYY", "MM", "DD"))
    for mark in (".", "/", "-", " ")
]
BOUNDS = {"type": "date", "lower": "2025-01-01", "upper": "2025-12-31"}

TIMES = [
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")),
    pa.timestamp("s", "America/New_York"),
    pa.timestamp("ns", "Pacific/Kiritimati"),
    pa.timestamp("ns", "-11:00"),
    pa.timestamp("us", "Mars/Olympus"),
    pa.date64(),
    pa.date32(),
]


def ticks(declared: Any) -> int:
    """Return how many ticks of its unit a day has."""
    if pa.types.is_date32(declared):
        return 1
    unit = "ms" if pa.types.is_date64(declared) else declared.unit
    return 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]


@pytest.mark.attack
@pytest.mark.parametrize("declared", TIMES, ids=str)
@given(data=st.data())
@cheap
def test_a_time_is_on_its_own_side_of_every_bound(declared: Any, data: st.DataObject) -> None:
    """Far off, times wrapped around and could count as the other bound."""
    largest = 2 ** (31 if pa.types.is_date32(declared) else 63) - 1
    whole = st.integers(-largest, largest)
    near = st.integers(-2_000_000, 4_000_000).map(lambda day: day * ticks(declared))
    cells = data.draw(st.lists(st.none() | whole | near.filter(lambda at: abs(at) <= largest)))
    width = pa.int32() if pa.types.is_date32(declared) else pa.int64()
    found = days(pa.array(cells, width).cast(declared))
    first, last = (end.toordinal() - date(1970, 1, 1).toordinal() for end in (date.min, date.max))
    for cell, day in zip(cells, found.tolist(), strict=True):
        if cell is None:
            assert math.isnan(day)
            continue
        exact = cell // ticks(declared)
        seen, expected = np.clip(day, first, last), np.clip(exact, first, last)
        # A zone is no more than a day away; nanoseconds end in 1677 and 2262.
        assert abs(seen - expected) <= (3 if "ns" in str(declared) else 1)


@pytest.mark.parametrize(
    ("zone", "day"),
    [(None, 0), ("UTC", 0), ("Europe/Berlin", 1), ("America/New_York", 0), ("Mars/Olympus", 0)],
)
def test_a_day_is_that_of_the_columns_zone_or_of_utc(zone: str | None, day: int) -> None:
    late = pa.array([86_399, None], pa.timestamp("s", zone))
    np.testing.assert_array_equal(days(late), [day, np.nan])
    assert days(late.slice(0, 0)).tolist() == []


# Formats ------------------------------------------------------------------------------------------


def written(day: date, form: str, padded: bool) -> str:
    width = 2 if padded else 1
    texts = {"YYYY": f"{day.year:04}", "MM": f"{day.month:0{width}}", "DD": f"{day.day:0{width}}"}
    for part, text in texts.items():
        form = form.replace(part, text)
    return form


@pytest.mark.parametrize("form", FORMATS)
@given(day=st.dates(), padded=st.booleans(), rest=st.sampled_from(["", " 08:15", "T23:59", "."]))
@cheap
def test_a_day_is_read_in_the_format_that_is_declared(
    form: str, day: date, padded: bool, rest: str
) -> None:
    cell = written(day, form, padded or form == "YYYY-MM-DD") + rest
    since = day.toordinal() - date(1970, 1, 1).toordinal()
    assert days(pa.array([cell]), form).tolist() == [since]


@pytest.mark.attack
@given(cells=st.lists(st.binary(max_size=14) | st.none()), form=st.sampled_from(FORMATS))
@cheap
def test_whatever_a_cell_holds_its_day_depends_on_it_alone(
    cells: list[bytes | None], form: str
) -> None:
    together = days(pa.array(cells, pa.binary()), form)
    alone = [days(pa.array([cell], pa.binary()), form)[0] for cell in cells]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(
    "cell", ["31.12.20251", "2025/12/31", "x31.12.2025", "", "12.2025", "40.1.2025"]
)
def test_what_is_no_day_of_the_format_is_missing(cell: str) -> None:
    assert np.isnan(days(pa.array([cell]), "DD.MM.YYYY")).all()


def test_a_declared_format_goes_before_that_of_iso() -> None:
    """Excel files have dates that are none of texts, also where CSV files write them otherwise."""
    cells = pa.array(["2025-02-01", "2025-31-12", "1.2.2025"])
    first, second = date(2025, 1, 2), date(2025, 2, 1)
    for form, expected in (("YYYY-DD-MM", first), ("DD.MM.YYYY", second)):
        found = days(cells, form)[0]
        assert found == expected.toordinal() - date(1970, 1, 1).toordinal()


@pytest.mark.parametrize(
    "form", ["", "DD.MM", "DD.MM/YYYY", "DD.DD.YYYY", "%d.%m.%Y", "DD.MM.YY", "DDMMYYYY", 7, None]
)
def test_a_format_that_is_none_is_refused_with_an_example(form: Any) -> None:
    with pytest.raises(BoundsError, match=r"column 'seen'.*such as 'DD.MM.YYYY'"):
        declared_column("seen", {**BOUNDS, "format": form})
    with pytest.raises(ValueError, match="no format of days"):
        day_pattern(form)


def test_a_model_remembers_how_its_days_are_written(tmp_path: Path) -> None:
    early, late = ["07.02.2025"] * 3000, ["21.11.2025 12:00"] * 3000
    table = pd.DataFrame({"seen": early + late})
    bounds = {"seen": {**BOUNDS, "format": "DD.MM.YYYY"}}
    model = PrivateKMeans(2, delta=1e-6, bounds=bounds).fit(table)
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    labels = again.predict(table)
    assert len(set(labels[:3000])) == len(set(labels[3000:])) == 1
    assert labels[0] != labels[-1]
    with pytest.raises(BoundsError, match="'format', which a number does not take"):
        declared_column("age", {"type": "number", "lower": 0, "upper": 1, "format": "DD.MM.YYYY"})
