"""Every engine, over every layout of the same rows, gives the NumPy engine's integers."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import (
    AS_TEXT,
    COLUMNS,
    DOMAIN,
    ENGINES,
    KEY,
    MOMENTS,
    OWN_BITS,
    REORDERING,
    UNITS,
    in_memory,
    people,
    results,
    with_columns,
)

from privclust.domains.box import Box
from privclust.engines import spilled
from privclust.engines.base import Engine
from privclust.kernels.grid import UNIT
from privclust.queries.base import Count

N_ROWS = 120
every_engine = pytest.mark.parametrize("name", ENGINES)
one_of_each = pytest.mark.parametrize("unit", ["row", "texts, 3 rows"])


@pytest.fixture(autouse=True)
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spill into few files, to be quick; test_spilled.py has all of them."""
    monkeypatch.setattr(spilled, "PARTITIONS", 2)


def engine_over(name: str, table: Any, unit: str, folder: Path) -> Engine:
    return ENGINES[name](table, COLUMNS, DOMAIN, UNITS[unit], folder)


@cache
def expected(unit: str) -> list[list[int]]:
    return results(in_memory(people(N_ROWS), unit=UNITS[unit]))


@one_of_each
@every_engine
def test_every_query_has_the_same_integers(name: str, unit: str, tmp_path: Path) -> None:
    found = results(engine_over(name, people(N_ROWS), unit, tmp_path))
    assert found == expected(unit)
    assert all(type(value) is int for result in found for value in result)


@every_engine
def test_every_unit_is_summed_to_the_same_integers(name: str, tmp_path: Path) -> None:
    for unit, declared in UNITS.items():
        found = results(engine_over(name, people(N_ROWS), unit, tmp_path), MOMENTS)
        assert found == results(in_memory(people(N_ROWS), unit=declared), MOMENTS)


def test_these_results_distinguish_units_and_tables() -> None:
    different = {str(expected(unit)) for unit in UNITS}
    assert len(different) == len(UNITS)
    other = in_memory(people(N_ROWS, seed=1))
    assert all(
        one != another for one, another in zip(results(other)[1:], expected("row")[1:], strict=True)
    )


@one_of_each
@pytest.mark.parametrize("name", ["Parquet file", "list of files", "LazyFrame", "DuckDB relation"])
def test_the_order_of_rows_changes_nothing(name: str, unit: str, tmp_path: Path) -> None:
    order = np.random.default_rng(5).permutation(N_ROWS)
    shuffled = people(N_ROWS).take(pa.array(order))
    assert results(engine_over(name, shuffled, unit, tmp_path)) == expected(unit)


@one_of_each
@every_engine
def test_tables_of_hardly_any_rows(name: str, unit: str, tmp_path: Path) -> None:
    for n_rows in (0, 1):
        table = people(N_ROWS).slice(20, n_rows)
        found = results(engine_over(name, table, unit, tmp_path), [Count(), *MOMENTS])
        assert found == results(in_memory(table, unit=UNITS[unit]), [Count(), *MOMENTS])
        assert found[0][0] <= n_rows * UNIT


# Strange cells -----------------------------------------------------------------------------------

STRANGE = [None, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.0, 1e-9, 49.999999999, 50]


def strange_values() -> Any:
    cells = [(x, y, x if y == 50 else y) for x in STRANGE for y in STRANGE]
    ids = list(range(len(cells)))
    return pa.table(
        {
            "x": pa.array([x for x, _, _ in cells], pa.float64()),
            "number": pa.array([n % 40 for n in ids], pa.int64()),
            "y": pa.array([y for _, y, _ in cells], pa.float64()),
            "name": pa.array(["" if n % 7 else None for n in ids], pa.string()),
            "z": pa.array([z for _, _, z in cells], pa.float64()),
        }
    )


@one_of_each
@every_engine
def test_strange_values_count_as_the_same_numbers(name: str, unit: str, tmp_path: Path) -> None:
    table = strange_values()
    found = results(engine_over(name, table, unit, tmp_path), MOMENTS)
    assert found == results(in_memory(table, unit=UNITS[unit]), MOMENTS)


def column(values: list[Any], declared: Any) -> Any:
    return pa.array([values[place % len(values)] for place in range(60)], declared)


TYPES = {
    "integers": {
        "x": column([-128, 127, None, 3], pa.int8()),
        "y": column([2**53 + 1, -(2**53) - 1, 2**63 - 1, None], pa.int64()),
        "z": column([2**64 - 1, 2**63, 0, None, 2**63 + 1], pa.uint64()),
    },
    "fractions": {
        "x": column([0.1, None, float("inf"), float("nan"), -3e38], pa.float32()),
        "y": column([Decimal("12.34"), Decimal("-99999999999999.99"), None], pa.decimal128(18, 2)),
        "z": column([True, False, None, True], pa.bool_()),
    },
    "nothing": {
        "x": pa.nulls(60),
        "y": column([None], pa.float64()),
        "z": column([None, 0.25], pa.float64()),
    },
}


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("name", [name for name in ENGINES if name not in AS_TEXT])
def test_types_are_read_as_the_same_numbers(name: str, types: str, tmp_path: Path) -> None:
    wide = Box([0, -1e3, -1e16], [2e19, 1e3, 1e16], weights=[1.0, 2.0, 1.0])
    table = with_columns(people(60), **TYPES[types])
    for unit in (UNITS["row"], UNITS["texts"]):
        engine = ENGINES[name](table, COLUMNS, wide, unit, tmp_path)
        assert results(engine, MOMENTS) == results(
            in_memory(table, domain=wide, unit=unit), MOMENTS
        )


FAITHFUL = [
    *("pandas frame", "Polars frame", "Parquet file", "Arrow file", "filtered dataset"),
    *("LazyFrame", "DuckDB relation", "function that returns a Polars frame"),
]
IDS = {
    "int8": column([-1, 5, None], pa.int8()),
    "uint64": column([2**64 - 1, 2**63, 7, None], pa.uint64()),
    "bytes": column([b"\xff\x00", b"", b"a", None], pa.binary()),
    "texts": column(["ann", "Ann", "ann ", None], pa.large_string()),
    "dictionary": column(["ann", "bob", None], pa.string()).dictionary_encode(),
    "none": column([None], pa.string()),
    "each its own": pa.array([f"p{place}" for place in range(60)]),
}


@pytest.mark.parametrize("declared", IDS)
@pytest.mark.parametrize("name", FAITHFUL)
def test_ids_of_any_type_bring_the_same_rows_together(
    name: str, declared: str, tmp_path: Path
) -> None:
    table, unit = with_columns(people(60), name=IDS[declared]), UNITS["texts"]
    engine = ENGINES[name](table, COLUMNS, DOMAIN, unit, tmp_path).sample(1, KEY)
    assert results(engine, MOMENTS) == results(in_memory(table, unit=unit).sample(1, KEY), MOMENTS)


# Samples -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["row", "integers", "texts, 3 rows"])
@every_engine
def test_a_sample_has_the_same_rows_as_the_numpy_engines(
    name: str, unit: str, tmp_path: Path
) -> None:
    for sampling_exponent in (0, 2):
        engine = engine_over(name, people(N_ROWS), unit, tmp_path)
        sample = engine.sample(sampling_exponent, KEY)
        assert sample.unit == engine.unit
        assert replace(engine.unit, clients=0) == UNITS[unit]
        assert sample.n_columns == engine.n_columns == 3
        same = in_memory(people(N_ROWS), unit=UNITS[unit]).sample(sampling_exponent, KEY)
        if name not in OWN_BITS and (name not in REORDERING or unit != "row"):
            assert results(sample, MOMENTS) == results(same, MOMENTS)


@pytest.mark.parametrize("unit", ["integers", "texts"])
@pytest.mark.parametrize("name", [name for name in ENGINES if name not in OWN_BITS])
def test_a_sample_of_units_does_not_depend_on_the_order_of_rows(
    name: str, unit: str, tmp_path: Path
) -> None:
    order = np.random.default_rng(6).permutation(N_ROWS)
    shuffled = people(N_ROWS).take(pa.array(order))
    sample = results(engine_over(name, shuffled, unit, tmp_path).sample(2, KEY), MOMENTS)
    reference = in_memory(people(N_ROWS), unit=UNITS[unit])
    assert sample == results(reference.sample(2, KEY), MOMENTS)
    assert sample != results(reference.sample(2, KEY[::-1]), MOMENTS)
