"""The engine that reads anew for each query: exact, in little memory, and its samples."""

from __future__ import annotations

import gzip
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from helpers.conformance import (
    CANARY,
    COLUMNS,
    DOMAIN,
    KEY,
    MOMENTS,
    QUERIES,
    fails_in_silence,
    in_memory,
    people,
    results,
    source,
    streamed,
    write_parquet,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.engines import streaming
from privclust.engines.memory import NumpyEngine
from privclust.engines.sampling import later_key
from privclust.engines.streaming import ArrowEngine
from privclust.errors import EngineError
from privclust.kernels.grid import UNIT, FloatArray
from privclust.queries.base import Contribution, Count, Sensitivity
from privclust.sources import streams
from privclust.sources.schema import Schema
from privclust.sources.streams import Source

ONE = Box([0], [1])
FLOAT = Schema(("a",), ("number",))
cheap = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@dataclass(frozen=True, eq=False)
class Scripted:
    """A query with the behaviour it is given."""

    act: Callable[[FloatArray], Contribution]
    size: int = 1
    sensitivity: Sensitivity = field(default=Count().sensitivity)

    def contribute(self, rows: FloatArray) -> Contribution:
        return self.act(rows)


class Recited:
    """A source over batches that counts its readings, each of which may be of another table."""

    def __init__(self, *readings: Any, batch_rows: int = 1000) -> None:
        self.readings = 0
        self._tables, self._batch_rows = readings, batch_rows

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        table = self._tables[min(self.readings, len(self._tables) - 1)]
        self.readings += 1
        yield from table.select(list(columns)).to_batches(max_chunksize=self._batch_rows)

    def engine(self, columns: Sequence[str] = COLUMNS) -> ArrowEngine:
        kinds = source(lambda: self._tables[0]).schema
        return ArrowEngine(Source(kinds, self.batches), columns, DOMAIN)


# Exactness ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(("batch", "grid_batch"), [(1, 1), (7, 3), (64, 8192), (2**17, 17)])
def test_threads_and_sizes_of_batches_change_nothing(
    threads: int, batch: int, grid_batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BATCH_ROWS", batch)
    monkeypatch.setattr(streaming, "GRID_BATCH_ROWS", grid_batch)
    monkeypatch.setattr(streaming, "TASK_ROWS", 2 * grid_batch)
    table = people(150)
    engine = streamed(lambda: table, threads=threads)
    engine.expect_sample(KEY)
    assert results(engine, MOMENTS) == results(in_memory(table), MOMENTS)
    same = in_memory(table).sample(1, KEY)
    assert results(engine.sample(1, KEY), MOMENTS) == results(same, MOMENTS)


def test_a_total_above_2_to_the_53_is_exact() -> None:
    value, n_batches = 2**30 + 1, 129
    zeros = pa.record_batch({"a": np.zeros(2**16)})
    last = pa.record_batch({"a": np.zeros(1)})

    def act(rows: FloatArray) -> Contribution:
        shape = (len(rows), 1, 1)
        return Contribution(np.zeros(shape[:2], dtype=np.int64), np.full(shape, value))

    bounds = Sensitivity(value, value**2, value, l0=1, monotone=True)
    given_source = Source(FLOAT, lambda columns: iter([zeros] * n_batches + [last]))
    (found,) = ArrowEngine(given_source, ["a"], ONE).aggregate(Scripted(act, sensitivity=bounds))
    assert found == (n_batches * 2**16 + 1) * value
    assert found > 2**53
    assert found % 2 == 1


@pytest.mark.attack
def test_the_engines_last_word_holds_against_a_lying_query() -> None:
    def act(rows: FloatArray) -> Contribution:
        values = np.where(rows > 0, UNIT, UNIT + 1).astype(np.int64)
        return Contribution(np.zeros((len(rows), 1), dtype=np.int64), values[:, :, None])

    engine = streamed(lambda: pa.table({"a": [0.9, 0.1, 0.8]}), ["a"], ONE)
    assert engine.aggregate(Scripted(act)) == [2 * UNIT]


def test_a_large_table_is_read_once_for_each_query_and_not_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 4 * len(COLUMNS) * 30)  # 30 of 50 rows
    recited = Recited(people(50))
    engine = recited.engine()
    engine.expect_sample(KEY)
    sample = engine.sample(1, KEY)
    assert recited.readings == 0
    results(engine)
    assert recited.readings == len(QUERIES)
    results(sample)
    assert recited.readings == len(QUERIES)
    results(engine.sample(5, KEY))
    assert recited.readings == len(QUERIES) + 1


def test_a_small_table_is_read_once_for_all_queries_and_samples() -> None:
    table = people(50)
    recited = Recited(table, people(0))
    engine = recited.engine()
    engine.expect_sample(KEY)
    for _ in range(2):
        assert results(engine) == results(in_memory(table))
    for turn in range(2):
        same = in_memory(table).sample(1, later_key(KEY, turn))
        assert results(engine.sample(1, KEY)) == results(same)
    assert recited.readings == 1


def test_few_batches_are_in_memory_at_a_time() -> None:
    born: list[weakref.ref[Any]] = []
    most = 0

    def batches(columns: Sequence[str]) -> Iterator[Any]:
        nonlocal most
        for _ in range(100):
            cells = np.zeros(10)
            born.append(weakref.ref(cells))
            most = max(most, sum(each() is not None for each in born))
            yield pa.record_batch({"a": cells})

    engine = ArrowEngine(Source(FLOAT, batches), ["a"], ONE, threads=2)
    assert engine.aggregate(Count()) == [1000 * UNIT]
    assert 1 < most < 10


# Samples -----------------------------------------------------------------------------------------


@pytest.mark.attack
@cheap
@given(st.integers(0, 250), st.integers(1, 250), st.integers(0, 4), st.integers(0, 5))
def test_a_sample_from_the_first_pass_is_the_one_a_pass_of_its_own_would_draw(
    monkeypatch: pytest.MonkeyPatch,
    n_rows: int,
    batch_rows: int,
    sampling_exponent: int,
    fullness: int,
) -> None:
    table, capacity = people(n_rows), n_rows >> fullness
    with monkeypatch.context() as patch:
        patch.setattr(streaming, "RESERVE_BYTES", capacity * 4 * len(COLUMNS))
        recited = Recited(table, batch_rows=batch_rows)
        engine = recited.engine()
        engine.expect_sample(KEY)
        whole = results(engine, MOMENTS)
        drawn = results(engine.sample(sampling_exponent, KEY), MOMENTS)
    assert whole == results(in_memory(table), MOMENTS)
    key = KEY if recited.readings == 1 else later_key(KEY, 1)
    apart = Recited(table).engine().sample(sampling_exponent, key)
    assert drawn == results(apart, MOMENTS)
    assert drawn == results(in_memory(table).sample(sampling_exponent, key), MOMENTS)
    if n_rows <= capacity:
        assert recited.readings == 1


@pytest.mark.parametrize(
    ("sampling_exponent", "readings"), [(32, 1), (7, 1), (5, 1), (4, 2), (1, 2)]
)
def test_a_small_reserve_saves_reading_anew_for_small_samples(
    sampling_exponent: int, readings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 100 * 4 * len(COLUMNS))
    table = people(3000)
    recited = Recited(table)
    engine = recited.engine()
    engine.expect_sample(KEY)
    results(engine, MOMENTS)
    drawn = results(engine.sample(sampling_exponent, KEY), MOMENTS)
    assert recited.readings == readings
    same = in_memory(table).sample(sampling_exponent, later_key(KEY, readings - 1))
    assert drawn == results(same, MOMENTS)


@pytest.mark.attack
def test_table_in_another_order_draws_other_bits() -> None:
    """Or a row, at another address, would be in both samples or in none by a bit of its own."""
    table = people(400)
    backwards = table.take(pa.array(np.arange(399, -1, -1)))
    engine = Recited(table, backwards).engine()
    first, second = (results(engine.sample(1, KEY), MOMENTS) for _ in range(2))
    assert first == results(in_memory(table).sample(1, KEY), MOMENTS)
    assert second == results(in_memory(backwards).sample(1, later_key(KEY, 1)), MOMENTS)
    assert second != results(in_memory(backwards).sample(1, KEY), MOMENTS)


def test_sample_is_drawn_once_however_often_it_is_measured() -> None:
    recited = Recited(people(400), people(400, seed=1))
    sample = recited.engine().sample(1, KEY)
    assert results(sample, MOMENTS * 3) == results(sample, MOMENTS) * 3
    assert recited.readings == 1


@pytest.mark.attack
def test_a_new_key_does_not_draw_the_sample_of_an_old_one() -> None:
    table = people(400)
    engine = streamed(lambda: table)
    old, new = KEY, KEY[::-1]
    engine.expect_sample(old)
    results(engine, MOMENTS)
    engine.expect_sample(new)
    drawn = results(engine.sample(1, new), MOMENTS)
    assert drawn != results(in_memory(table).sample(1, old), MOMENTS)


# Silence -----------------------------------------------------------------------------------------


def corrupt_page(folder: Path) -> Any:
    table = pa.table({"a": np.full(1000, CANARY), "t": [f"{CANARY}"] * 1000})
    file = folder / "x.parquet"
    pa.parquet.write_table(table, file, compression="none", use_dictionary=False)
    content = bytearray(file.read_bytes())
    content[4:40] = b"\xff" * 36
    file.write_bytes(content)
    return file


def vanished(folder: Path) -> Any:
    first = write_parquet(pa.table({"a": [1.0]}), folder / "1.parquet")
    return [first, write_parquet(pa.table({"a": [CANARY]}), folder / f"{CANARY}.parquet")]


def half_a_gzip(folder: Path) -> Any:
    file = folder / "x.csv.gz"
    content = gzip.compress(b"a\n" + f"{CANARY}\n".encode() * 100_000)
    file.write_bytes(content[: len(content) // 2])
    return file


def column_gone(folder: Path) -> Any:
    tables = iter([pa.table({"a": [CANARY]}), pa.table({f"b{CANARY}": [CANARY]})])
    return lambda: next(tables)


FAILURES: dict[str, Callable[[Path], Any]] = {
    "corrupt page": corrupt_page,
    "vanished file": vanished,
    "half a gzipped file": half_a_gzip,
    "column gone": column_gone,
}


@pytest.mark.attack
@pytest.mark.parametrize("sampled", [False, True], ids=["table", "sample"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_canary_in_a_table_that_cannot_be_read_appears_nowhere(
    failure: str,
    sampled: bool,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    whole = streamed(FAILURES[failure](tmp_path), ["a"], Ball([0.0], 2 * CANARY))
    for file in tmp_path.glob("12345*"):
        file.unlink()
    engine: ArrowEngine | NumpyEngine = whole.sample(1, KEY) if sampled else whole  # type: ignore[assignment]
    fails_in_silence(partial(engine.aggregate, Count()), caplog, capfd)


@pytest.mark.attack
def test_a_canary_that_a_query_trips_over_appears_nowhere(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def act(rows: FloatArray) -> Contribution:
        raise MemoryError(f"{CANARY} of {rows.tolist()}")

    engine = streamed(lambda: pa.table({"a": [CANARY]}), ["a"], Ball([0.0], 2 * CANARY))
    fails_in_silence(partial(engine.aggregate, Scripted(act)), caplog, capfd)


@pytest.mark.parametrize("mode", ["raise", "print", "warn"])
def test_floating_point_settings_of_the_user_change_nothing(
    mode: Literal["raise", "print", "warn"], capfd: pytest.CaptureFixture[str]
) -> None:
    cells = [np.nan, np.inf, -np.inf, 1e308, 5e-324, 1e200]
    engine = streamed(lambda: pa.table({"a": cells}), ["a"], Box([-1e150], [1e150]))
    with np.errstate(all=mode):
        assert engine.aggregate(Count()) == [6 * UNIT]
    assert capfd.readouterr() == ("", "")


def test_a_failure_leaves_the_engine_as_it_was() -> None:
    table = people(100)
    tables = iter([table, None, table, table])
    engine = streamed(lambda: next(tables))
    engine.expect_sample(KEY)
    with pytest.raises(EngineError):
        results(engine, MOMENTS)
    assert results(engine, MOMENTS) == results(in_memory(table), MOMENTS)
    drawn = results(engine.sample(1, KEY), MOMENTS)
    assert drawn == results(in_memory(table).sample(1, later_key(KEY, 1)), MOMENTS)
