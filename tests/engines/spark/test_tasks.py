"""What Spark's workers do, without Spark: rows are counted once, and none is revealed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import (
    COLUMNS,
    DOMAIN,
    KEY,
    MOMENTS,
    UNITS,
    fails_in_silence,
    in_memory,
    people,
    thirds,
    write_parquet,
)
from helpers.spark_faults import CANARY

from privclust.engines.exact_sums import ExactSums
from privclust.engines.spark._tasks import (
    FilesReader,
    Reading,
    added_up,
    as_cell,
    brought_to_grid,
    drawn,
    merged,
    summed,
    units_summed,
)
from privclust.engines.spark.engine import _together
from privclust.errors import EngineError, UnreadableFileError
from privclust.sources.files import list_files
from privclust.sources.found_files import File

N_ROWS = 120


def files_of(folder: Path, row_group: int) -> list[File]:
    for place, part in enumerate(thirds(people(N_ROWS))):
        write_parquet(part, folder / f"{place}.parquet", row_group)
    return list_files(folder)[1]


def tasks(n_files: int, parts: int) -> Iterator[Iterator[Any]]:
    """Return what Spark hands to each task: its number."""
    for number in range(n_files * parts):
        yield iter([pa.record_batch({"id": [number]})])


def reading(files: list[File], parts: int, columns: list[str] = COLUMNS) -> Reading:
    return Reading(FilesReader(files, parts, columns), COLUMNS, DOMAIN)


def cells(batches: Iterator[Any]) -> list[Any]:
    return [batch.column(0)[0].as_py() for batch in batches]


@pytest.mark.attack
def test_no_row_counts_twice_if_a_file_is_written_anew_between_two_parts(tmp_path: Path) -> None:
    rows = people(2)
    write_parquet(rows, tmp_path / "0.parquet", 1)
    files = list_files(tmp_path)[1]
    reader = reading(files, 2).reader
    first, second = tasks(1, 2)
    assert sum(batch.num_rows for batch, _ in reader.cells(first)) == 1
    write_parquet(rows.take([1, 0]), tmp_path / "0.parquet", 1)
    with pytest.raises(UnreadableFileError, match="written anew"):
        next(reader.cells(second))


@pytest.mark.attack
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("row_group", [1, 13, 1000])
def test_every_row_is_in_one_part_and_has_an_address_of_its_own(
    parts: int, row_group: int, tmp_path: Path
) -> None:
    files = files_of(tmp_path, row_group)
    addresses: Counter[int] = Counter()
    for task in tasks(len(files), parts):
        for batch, address in reading(files, parts).reader.cells(task):
            addresses.update(range(address, address + batch.num_rows))
    assert len(addresses) == N_ROWS
    assert set(addresses.values()) == {1}


@pytest.mark.attack
@pytest.mark.parametrize("parts", [1, 3])
def test_the_sums_of_parts_add_up_to_that_of_the_table(parts: int, tmp_path: Path) -> None:
    files = files_of(tmp_path, 7)
    (query,) = MOMENTS
    found = [
        cell
        for task in tasks(len(files), parts)
        for cell in cells(summed(task, reading(files, parts), query))
    ]
    assert added_up(found) == in_memory(people(N_ROWS)).aggregate(query)


SCHEMA = pa.schema([("rows", pa.binary()), ("starts", pa.binary())])


def test_a_sample_does_not_depend_on_parts(tmp_path: Path) -> None:
    files = files_of(tmp_path, 7)

    def sample(parts: int, key: bytes) -> list[list[int]]:
        found = [
            batch
            for task in tasks(len(files), parts)
            for batch in drawn(task, reading(files, parts), 1, key)
        ]
        table = pa.Table.from_batches(found, SCHEMA)
        rows: list[list[int]] = _together(table, 3, UNITS["row"]).rows.tolist()
        return rows

    assert sample(1, KEY) == sample(4, KEY)
    assert sample(1, KEY) != sample(1, KEY[::-1])


def test_units_are_summed_where_all_their_rows_are(tmp_path: Path) -> None:
    files, unit = files_of(tmp_path, 7), UNITS["texts, 3 rows"]
    given = reading(files, 2, [*COLUMNS, "name"])
    rows = [b for task in tasks(len(files), 2) for b in brought_to_grid(task, given, "name")]
    (query,) = MOMENTS
    found = cells(units_summed(iter(rows), 3, unit, query))
    assert added_up(found) == in_memory(people(N_ROWS), unit=unit).aggregate(query)


def test_sums_of_any_size_add_up() -> None:
    sums = ExactSums(4)
    for _ in range(5):
        sums += np.array([0, -1, 2**62, -(2**62)])
    once = as_cell(sums)
    (twice,) = merged(iter([once, once]))
    assert added_up(cells(iter([once, twice]))) == [0, -15, 15 * 2**62, -15 * 2**62]
    assert list(merged(iter([]))) == []


@pytest.mark.attack
def test_a_task_that_fails_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Iterator[Any]:
        yield pa.record_batch({"id": [0]})
        raise ValueError(f"{CANARY}")

    given = reading(files_of(tmp_path, 7), 1)
    (query,) = MOMENTS
    fails_in_silence(lambda: list(summed(broken(), given, query)), caplog, capfd, EngineError)
