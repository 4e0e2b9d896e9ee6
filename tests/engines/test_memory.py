"""The NumPy engine: exact totals, and silence about the rows whatever happens."""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import numpy as np
import pytest

from privclust.domains.ball import Ball
from privclust.domains.box import Box
from privclust.engines import memory as numpy_engine
from privclust.engines import units
from privclust.engines.memory import NumpyEngine
from privclust.errors import EngineError
from privclust.kernels.grid import GRID, UNIT, FloatArray
from privclust.queries.base import Contribution, Count, Query, Sensitivity
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.unit import ROW

CANARY = 1234567.8901234
KEY = bytes(32)
BALL = Ball([0.0, 0.0, 0.0], 1.0)
POINTS = np.random.default_rng(1).uniform(-0.5, 0.5, (5, 3))
QUERIES: list[Query] = [
    Count(),
    NearestVotes(POINTS),
    ClusterSums(POINTS, POINTS, 0.5, 0.7),
    ClusterMoments(POINTS, np.geomspace(0.05, 0.5, 5), 0.6, 0.4),
    DistanceHistogram(POINTS, np.array([0.1, 0.3])),
]


@dataclass(frozen=True, eq=False)
class Loud:
    """Every row adds the same large odd number."""

    value: int
    size: int = 1

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity(self.value, self.value**2, self.value, l0=1, monotone=True)

    def contribute(self, rows: FloatArray) -> Contribution:
        shape = (len(rows), 1, 1)
        return Contribution(np.zeros(shape[:2], dtype=np.int64), np.full(shape, self.value))


@dataclass(frozen=True, eq=False)
class Scripted:
    """A query with the behaviour it is given, for failures inside worker threads."""

    act: Callable[[FloatArray], Contribution]
    size: int = 2
    sensitivity: Sensitivity = field(default=Count().sensitivity)

    def contribute(self, rows: FloatArray) -> Contribution:
        return self.act(rows)


def exact_total(query: Query, rows: FloatArray) -> list[int]:
    contribution = query.contribute(BALL.to_grid(rows))
    width = contribution.values.shape[2]
    total = [0] * query.size
    for block, row in zip(contribution.blocks[:, 0], contribution.values[:, 0], strict=True):
        for column, value in enumerate(row.tolist()):
            total[int(block) * width + column] += value
    return total


def in_parcels_of(n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rows be read and summed so many at a time."""
    monkeypatch.setattr(numpy_engine, "GRID_BATCH_ROWS", n_rows)
    monkeypatch.setattr(units, "GRID_BATCH_ROWS", n_rows)


# Exactness ---------------------------------------------------------------------------------------


@pytest.mark.attack
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: type(query).__name__)
@pytest.mark.parametrize("threads", [1, 2])
def test_totals_are_exact_integers(query: Query, threads: int) -> None:
    rows = np.random.default_rng(2).normal(size=(20_000, 3)) / 2
    found = NumpyEngine(rows, BALL, threads).aggregate(query)
    assert found == exact_total(query, rows)
    assert all(type(value) is int for value in found)


@pytest.mark.attack
def test_a_total_above_2_to_the_53_is_exact() -> None:
    n_rows, value = 2**23 + 1, 2**30 + 1
    assert n_rows * value > 2**53
    assert n_rows * value % 2 == 1
    rows = np.broadcast_to(np.int8(0), (n_rows, 1))
    assert NumpyEngine(rows, Ball([0.0], 1.0)).aggregate(Loud(value)) == [n_rows * value]


@pytest.mark.attack
def test_a_total_above_2_to_the_63_neither_wraps_nor_saturates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A batch whose sum is nearly 2^62, four times over: more than any 64-bit sum can hold.
    huge = np.array([2**62 - 1, -(2**62) + 1])
    monkeypatch.setattr(units, "bounded_sum", lambda query, contribution: huge)
    in_parcels_of(10, monkeypatch)
    query = NearestVotes(np.array([[0.5], [-0.5]]))
    found = NumpyEngine(np.zeros((40, 1)), Ball([0.0], 1.0), 2).aggregate(query)
    assert found == [4 * (2**62 - 1), -4 * (2**62 - 1)]


def test_sums_beyond_32_bits_are_exact() -> None:
    rows = np.full((200, 1), 0.75)
    query = ClusterSums(np.zeros((1, 1)), np.zeros((1, 1)), 1.0, 1.0)
    found = NumpyEngine(rows, Ball([0.0], 1.0), 1).aggregate(query)
    assert found == [200 * 3 * UNIT // 4, 200 * UNIT]
    assert found[0] > 2**32


def test_the_number_of_threads_and_the_size_of_chunks_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = np.random.default_rng(3).normal(size=(5000, 3)) / 2
    results = []
    for threads, chunk in [(1, 8192), (2, 8192), (1, 17), (2, 17), (2, 4999)]:
        in_parcels_of(chunk, monkeypatch)
        engine = NumpyEngine(rows, BALL, threads)
        results.append([engine.aggregate(query) for query in QUERIES])
    assert all(result == results[0] for result in results)


@pytest.mark.attack
@pytest.mark.parametrize("n_rows", [0, 1])
def test_a_table_of_the_wrong_width_fails_with_or_without_rows(n_rows: int) -> None:
    with pytest.raises(EngineError):
        NumpyEngine(np.zeros((n_rows, 2)), BALL).aggregate(Count())


def test_an_empty_table_adds_up_to_zero() -> None:
    for query in QUERIES:
        assert NumpyEngine(np.empty((0, 3)), BALL).aggregate(query) == [0] * query.size


def test_the_engines_last_word_holds_against_a_lying_query() -> None:
    def act(rows: FloatArray) -> Contribution:
        values = np.where(rows[:, :1] > 0, UNIT, UNIT + 1).astype(np.int64)
        return Contribution(np.zeros((len(rows), 1), dtype=np.int64), values[:, :, None])

    rows = np.array([[0.5, 0.0, 0.0], [-0.5, 0.0, 0.0], [0.1, 0.0, 0.0]])
    assert NumpyEngine(rows, BALL).aggregate(Scripted(act)) == [2 * UNIT, 0]


# Silence -----------------------------------------------------------------------------------------

STRANGE = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -5e-324, -0.0, 0.0, CANARY]


@pytest.mark.attack
@pytest.mark.parametrize("dtype", ["float64", "longdouble", "float16"])
@pytest.mark.parametrize("domain", [BALL, Box([-1e150] * 3, [1e150, 0.0, -1e149])])
def test_nothing_is_raised_warned_logged_or_printed_about_strange_rows(
    dtype: str,
    domain: Ball | Box,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    with np.errstate(all="ignore"):
        rows = np.array(np.meshgrid(STRANGE, STRANGE, STRANGE)).reshape(3, -1).T.astype(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for threads in (1, 2):
            for query in QUERIES:
                found = NumpyEngine(rows, domain, threads).aggregate(query)
                assert len(found) == query.size
    assert not caught
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("mode", ["raise", "print", "warn"])
def test_floating_point_settings_of_the_user_change_nothing(
    mode: Literal["raise", "print", "warn"], capfd: pytest.CaptureFixture[str]
) -> None:
    # The first cell overflows on its way to float64, the second underflows on the way to the ball.
    rows = np.array([["1e4000", "5e-324", "0"]]).astype(np.longdouble)
    expected = [NumpyEngine(rows, BALL).aggregate(query) for query in QUERIES]
    with np.errstate(all=mode):
        assert [NumpyEngine(rows, BALL).aggregate(query) for query in QUERIES] == expected
    assert capfd.readouterr() == ("", "")


class Unreadable:
    """A cell that fails to become a number and says what it is."""

    def __float__(self) -> NoReturn:
        raise ValueError(f"cannot read {CANARY}")

    def __repr__(self) -> str:
        return str(CANARY)


class Spying(np.ndarray[Any, Any]):
    """An array that fails when it is read, and says what it holds."""

    def __getitem__(self, key: object) -> NoReturn:
        raise IndexError(f"lost {self.view(np.ndarray).tolist()}")


def no_memory(rows: FloatArray) -> Contribution:
    seen = [CANARY, *rows.ravel().tolist()]
    raise MemoryError(f"while summing {seen}")


def warn_and_fail(rows: FloatArray) -> Contribution:
    warnings.warn(f"saw {CANARY}", RuntimeWarning, stacklevel=1)
    raise FloatingPointError(CANARY, rows)


def contribution_of_wrong_shape(rows: FloatArray) -> Contribution:
    return Contribution(np.full(3, int(CANARY)), np.full(7, int(CANARY)))


def engine_over(rows: Any, threads: int = 2) -> NumpyEngine:
    return NumpyEngine(rows, Ball([0.0, 0.0, 0.0], 2 * CANARY), threads)


FAILURES: dict[str, Callable[[], tuple[NumpyEngine, Query]]] = {
    "cells that raise": lambda: (engine_over(np.full((2, 3), Unreadable(), object)), Count()),
    "text": lambda: (engine_over(np.full((2, 3), f"{CANARY}x")), Count()),
    "array that raises": lambda: (engine_over(np.full((2, 3), CANARY).view(Spying)), Count()),
    "too many columns": lambda: (engine_over(np.full((2, 4), CANARY)), Count()),
    "too few columns": lambda: (engine_over(np.full((2, 2), CANARY)), Count()),
    "one dimension": lambda: (engine_over(np.full(8, CANARY)), Count()),
    "a row that broadcasts": lambda: (engine_over(np.full(3, CANARY)), Count()),
    "a column that broadcasts": lambda: (engine_over(np.full((4, 1), CANARY)), Count()),
    "no array": lambda: (engine_over([[CANARY] * 3]), Count()),
    "no table": lambda: (engine_over(CANARY), Count()),
    "no memory": lambda: (engine_over(np.full((2, 3), CANARY)), Scripted(no_memory)),
    "warning": lambda: (engine_over(np.full((2, 3), CANARY)), Scripted(warn_and_fail)),
    "shape": lambda: (engine_over(np.full((2, 3), CANARY)), Scripted(contribution_of_wrong_shape)),
}


@pytest.mark.attack
@pytest.mark.parametrize("sampled", [False, True], ids=["table", "sample"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_canary_among_the_rows_appears_in_no_failure(
    failure: str,
    sampled: bool,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    engine, query = FAILURES[failure]()
    if sampled:
        engine = engine.sample(1, KEY)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(EngineError) as failed:
            engine.aggregate(query)
    error = failed.value
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    output = capfd.readouterr()
    everything = [*report.format(), str(error), repr(error), output.out, output.err, caplog.text]
    assert "1234567" not in "".join(everything)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert not caught
    assert output == ("", "")
    assert not caplog.records


def test_the_canary_would_be_seen_without_the_guard() -> None:
    engine, query = FAILURES["no memory"]()
    with pytest.raises(MemoryError, match="1234567"):
        query.contribute(np.zeros((1, engine.n_columns)))


class Untouchable:
    """Rows that fail at the slightest touch."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"touched: {name}")

    def __getitem__(self, key: object) -> NoReturn:
        raise AssertionError("touched: an item")

    def __len__(self) -> NoReturn:
        raise AssertionError("touched: the length")

    def __iter__(self) -> NoReturn:
        raise AssertionError("touched: the rows")

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise AssertionError("touched: the array")


def test_rows_are_touched_by_nothing_but_aggregate() -> None:
    rows: Any = Untouchable()
    engine = NumpyEngine(rows, BALL)
    engine.expect_sample(KEY)
    sample = engine.sample(1, KEY)
    assert engine.n_columns == sample.n_columns == 3
    assert engine.unit == sample.unit == ROW
    for touching in (engine, sample):
        with pytest.raises(EngineError):
            touching.aggregate(Count())


def test_the_users_rows_are_not_changed() -> None:
    rows = np.array([[np.nan, np.inf, 5.0]])
    rows.setflags(write=False)
    assert NumpyEngine(rows, BALL).aggregate(Count()) == [UNIT]


def test_rows_are_read_once_and_kept_as_integers() -> None:
    rows = np.full((4, 3), 0.25)
    engine = NumpyEngine(rows, BALL, 1)
    query = ClusterSums(np.zeros((1, 3)), np.zeros((1, 3)), 1.0, 1.0)
    first = engine.aggregate(query)
    assert first == [4 * UNIT // 4] * 3 + [4 * UNIT]
    rows[:] = 0.0
    assert engine.aggregate(query) == first
    assert engine._table is not None
    assert engine._table.rows.dtype == np.dtype(np.int32)
    assert np.abs(engine._table.rows).max() == GRID // 4
