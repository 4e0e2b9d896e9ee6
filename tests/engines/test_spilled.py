"""Rows brought together by id: no unit counts for more than declared, and no file is left."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import (
    CANARY,
    DOMAIN,
    KEY,
    MOMENTS,
    QUERIES,
    UNITS,
    fails_in_silence,
    in_memory,
    people,
    results,
    source,
    streamed,
    write_csv,
    write_parquet,
)
from helpers.processes import other_process
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.engines import spilled
from privclust.engines.base import Engine
from privclust.engines.spilled import SpilledEngine
from privclust.errors import EngineError
from privclust.kernels.grid import UNIT, FloatArray
from privclust.queries.base import Contribution, Count, Query, Sensitivity
from privclust.queries.unit import Unit
from privclust.sources import streams
from privclust.sources.streams import Source

NAME = Unit("name")
ONE = Box([0], [100])
ALMOST = 1e-6
"""A unit that is clipped loses less than this part of what it may count."""


def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "PARTITIONS", 2)


def renamed(table: Any, name: str | None) -> Any:
    """Return the same rows of one person."""
    column = pa.repeat(pa.scalar(name, pa.string()), table.num_rows)
    return table.set_column(table.column_names.index("name"), "name", column)


def spilled_engine(table: Any, unit: Unit) -> Engine:
    return streamed(lambda: table, unit=unit)


def numpy_engine(table: Any, unit: Unit) -> Engine:
    return in_memory(table, unit=unit)


both_engines = pytest.mark.parametrize("engine_of", [spilled_engine, numpy_engine])
EngineOf = Callable[[Any, Unit], Engine]


# Exactness ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("unit", ["integers", "texts, 3 rows"])
def test_all_files_together_give_the_numpy_engines_integers(unit: str, threads: int) -> None:
    table = people(1000)
    engine = streamed(lambda: table, unit=UNITS[unit], threads=threads)
    reference = in_memory(table, unit=UNITS[unit])
    assert results(engine, MOMENTS) == results(reference, MOMENTS)
    drawn = results(engine.sample(2, KEY), QUERIES)
    assert drawn == results(reference.sample(2, KEY), QUERIES)


@pytest.mark.parametrize(
    ("batch", "grid_batch", "files"), [(1, 1, 1), (7, 3, 2), (50, 8192, 99), (10**6, 17, 5)]
)
def test_the_size_of_batches_and_the_number_of_files_change_nothing(
    batch: int, grid_batch: int, files: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", batch)
    monkeypatch.setattr(spilled, "GRID_BATCH_ROWS", grid_batch)
    monkeypatch.setattr(spilled, "PARTITIONS", files)
    table = people(150)
    found = results(spilled_engine(table, Unit("name", 3)), MOMENTS)
    assert found == results(numpy_engine(table, Unit("name", 3)), MOMENTS)


def test_the_table_is_read_once_for_all_queries_and_samples() -> None:
    table, readings = people(200), []

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        readings.append(columns)
        yield from table.select(columns).to_batches()

    opened = Source(source(lambda: table).schema, batches)
    engine = SpilledEngine(opened, ["z", "x", "y"], DOMAIN, NAME)
    engine.expect_sample(KEY)
    sample = engine.sample(1, KEY)
    assert readings == []
    for each in (engine, sample, engine.sample(3, KEY), engine):
        results(each, MOMENTS)
    assert readings == [["z", "x", "y", "name"]]


# Whose rows --------------------------------------------------------------------------------------


def count(table: Any, unit: Unit = NAME) -> float:
    """Return how many units there are, or nearly so."""
    return streamed(table, ["a"], ONE, unit).aggregate(Count())[0] / UNIT


def test_missing_ids_are_one_unit_and_an_empty_text_another() -> None:
    ids = pa.array([None, None, "", "", "ann", None], pa.string())
    assert count(lambda: pa.table({"a": np.zeros(6), "name": ids})) == pytest.approx(3)
    all_missing = pa.table({"a": np.zeros(6), "name": pa.array([None] * 6, pa.string())})
    assert count(lambda: all_missing) == pytest.approx(1)


def parts(folder: Path, *columns: Any) -> list[Path]:
    """Write one file for each column of ids."""
    return [
        write_parquet(
            pa.table({"a": np.zeros(len(ids))} | ({} if ids.type == pa.null() else {"name": ids})),
            folder / f"{place}.parquet",
        )
        for place, ids in enumerate(columns)
    ]


def test_files_may_lack_ids_or_write_them_as_text_or_number(tmp_path: Path) -> None:
    numbers, texts, none = pa.array([7, 8]), pa.array(["7", "9"]), pa.nulls(2)
    assert count(parts(tmp_path, numbers, texts, none)) == pytest.approx(4)
    assert count(parts(tmp_path, texts, none, numbers)) == pytest.approx(4)
    file = write_csv(pa.table({"a": [0.0, 0.0], "name": [7, 10]}), tmp_path / "x.csv")
    assert count([*parts(tmp_path, numbers, texts, none), file]) == pytest.approx(5)
    assert count([file, *parts(tmp_path, numbers, texts, none)]) == pytest.approx(5)


@pytest.mark.parametrize("id_", ["ann", "7 ", "1e3", "9" * 30, "", "\x00", b"\xff"])
def test_a_text_among_numbers_of_ids_raises_nothing(id_: str | bytes, tmp_path: Path) -> None:
    """One cell must not decide whether the whole table can be read."""
    others = pa.array([id_, None], pa.string() if isinstance(id_, str) else pa.binary())
    found = count(parts(tmp_path, pa.array([7, 8, 9]), others))
    assert 4 - ALMOST < found < 5 + ALMOST


@pytest.mark.attack
def test_two_people_whose_numbers_differ_in_sign_stay_two(tmp_path: Path) -> None:
    signed, unsigned = pa.array([-1, 5], pa.int64()), pa.array([2**64 - 1, 6], pa.uint64())
    assert count(parts(tmp_path, signed, unsigned)) == pytest.approx(4)


# What a unit may change --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Wild:
    """Rows add -900, 0 or 900 to all places of two blocks, by rules of their own."""

    sensitivity: Sensitivity
    size: int = 12

    def contribute(self, rows: FloatArray) -> Contribution:
        seeds = np.abs(rows.sum(axis=1)).astype(np.int64)
        blocks = np.stack([seeds % 4, (seeds % 4 + 1 + seeds // 4 % 3) % 4], axis=1)
        digits = seeds[:, None, None] // np.array([[1, 7, 49], [343, 2401, 16807]]) % 7
        return Contribution(blocks, np.array([900, 0, -900, 900, 0, 900, 900])[digits])


FAR = 10**9
NARROW: list[Query] = [
    Wild(Sensitivity(l1=5000, l2_squared=FAR, linf=FAR, l0=6, monotone=False)),
    Wild(Sensitivity(l1=FAR, l2_squared=5_000_000, linf=FAR, l0=6, monotone=False)),
    Wild(Sensitivity(l1=FAR, l2_squared=FAR, linf=1000, l0=6, monotone=False)),
    Wild(Sensitivity(l1=4000, l2_squared=4_000_000, linf=1000, l0=4, monotone=False)),
]
cheap = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=5,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def moved_within_bounds(unit: Unit, query: Query, moved: list[int]) -> bool:
    bounds = unit.sensitivity(query)
    return (
        sum(map(abs, moved)) <= bounds.l1
        and sum(value**2 for value in moved) <= bounds.l2_squared
        and max(map(abs, moved)) <= bounds.linf
        and sum(value != 0 for value in moved) <= bounds.l0
        and (min(moved) >= 0 or not bounds.monotone)
    )


@pytest.mark.parametrize("n_rows", [1, pytest.param(10, marks=pytest.mark.attack), 10_000])
@both_engines
@cheap
@given(seed=st.integers(0, 2**32), max_rows_per_unit=st.integers(1, 20), known=st.booleans())
def test_one_user_moves_every_result_by_no_more_than_the_bounds_declare(
    monkeypatch: pytest.MonkeyPatch,
    engine_of: EngineOf,
    n_rows: int,
    seed: int,
    max_rows_per_unit: int,
    known: bool,
) -> None:
    """And by the same, whoever else is in the table and wherever the user's rows lie."""
    few_files(monkeypatch)
    unit, rng = Unit("name", max_rows_per_unit), np.random.default_rng(seed)
    own = renamed(people(n_rows, seed), "new" if known else None)
    table = people(60, seed + 1)
    others = table.filter(table.column("name").is_valid())
    mixed = pa.concat_tables([own, others])
    mixed = mixed.take(pa.array(rng.permutation(mixed.num_rows)))
    queries = [*QUERIES[::2], *NARROW]
    with_user, without, alone = (
        results(engine_of(each, unit), queries) for each in (mixed, others, own)
    )
    for query, after, before, own_result in zip(queries, with_user, without, alone, strict=True):
        moved = [one - other for one, other in zip(after, before, strict=True)]
        assert moved == own_result
        assert moved_within_bounds(unit, query, moved)
        assert any(moved) or n_rows < 10_000


@pytest.mark.parametrize("n_rows", [1, 3, 4, 8192, 8193, 20_000])
@both_engines
def test_a_user_counts_as_many_rows_as_allowed_and_no_more(
    engine_of: EngineOf, n_rows: int
) -> None:
    own = renamed(people(n_rows), "ann")
    (found,) = engine_of(own, Unit("name", 3)).aggregate(Count())
    expected = min(n_rows, 3) * UNIT
    assert expected * (1 - ALMOST) <= found <= expected


# Files -------------------------------------------------------------------------------------------

WATCH = """
import sys
import numpy as np, pyarrow as pa
from privclust.domains.box import Box
from privclust.queries.unit import Unit
from privclust.sources.streams import source_of
from privclust.engines.spilled import SpilledEngine
from privclust.queries.base import Count

schema = pa.schema([("a", pa.float64()), ("who", pa.int64())])

def batches():
    for turn in range(50):
        yield pa.record_batch({"a": np.full(20_000, 7.25), "who": np.arange(20_000)})
    stop()

def stop():
    print("ready", flush=True)
    assert sys.stdin.readline()

source = source_of(lambda: pa.RecordBatchReader.from_batches(schema, batches()))
engine = SpilledEngine(source, ["a"], Box([0], [100]), Unit("who"))
engine.aggregate(Count())
stop()
"""


def test_files_have_no_name_and_none_is_left_by_a_process_that_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with other_process(WATCH) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        for when in ("while writing", "afterwards"):
            assert process.stdout.readline() == "ready\n"
            opened = [os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
            written = [name for name in opened if name.startswith(str(tmp_path))]
            assert len(written) == spilled.PARTITIONS
            assert all(name.endswith("(deleted)") for name in written)
            assert list(tmp_path.iterdir()) == []
            if when == "while writing":
                process.stdin.write("go on\n")
                process.stdin.flush()
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert list(tmp_path.iterdir()) == []


def open_files() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def test_files_are_closed_with_the_engine_and_after_a_failure() -> None:
    before = open_files()
    engine = spilled_engine(people(100), NAME)
    results(engine, MOMENTS)
    assert open_files() == before + spilled.PARTITIONS
    del engine
    assert open_files() == before

    def broken() -> Any:
        return pa.RecordBatchReader.from_batches(people(1).schema, trip())

    def trip() -> Iterator[Any]:
        yield from people(100).to_batches()
        raise ValueError

    failing = streamed(broken, unit=NAME)
    for _ in range(2):
        with pytest.raises(EngineError):
            results(failing, MOMENTS)
        assert open_files() == before


# Silence -----------------------------------------------------------------------------------------


def broken_stream(folder: Path) -> Any:
    def batches() -> Iterator[Any]:
        yield pa.record_batch({"a": [CANARY], "name": [f"{CANARY}"]})
        raise ValueError(f"lost {CANARY}")

    declared = pa.schema([("a", pa.float64()), ("name", pa.string())])
    return lambda: pa.RecordBatchReader.from_batches(declared, batches())


@pytest.mark.attack
@pytest.mark.parametrize("sampled", [False, True], ids=["table", "sample"])
@pytest.mark.parametrize("failing", [broken_stream])
def test_a_canary_in_an_id_that_cannot_be_read_appears_nowhere(
    failing: Callable[[Path], Any],
    sampled: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    whole = streamed(failing(tmp_path), ["a"], Ball([0.0], 2 * CANARY), NAME)
    engine: Engine = whole.sample(1, KEY) if sampled else whole
    fails_in_silence(partial(engine.aggregate, Count()), caplog, capfd)
