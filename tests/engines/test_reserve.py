"""Rows set aside for a sample before it is known how small it will be: the same sample, sooner."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privclust.audit.replay import replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.engines import sampling, streaming
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.engines.sampling import (
    SAMPLING_EXPONENT_MAX,
    Reserve,
    included,
    later_key,
    row_words,
)
from privclust.engines.streaming import ArrowEngine
from privclust.errors import EngineError
from privclust.kernels.grid import FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries.base import Count, Query
from privclust.queries.clusters import ClusterMoments, NearestVotes
from privclust.sources.schema import Schema
from privclust.sources.streams import Source
from privclust.testing import SeededNoise, noise_from

KEY = bytes(range(32))
BALL = Ball([0.0, 0.0], 1.0)
POINTS = np.random.default_rng(1).uniform(-0.5, 0.5, (5, 2))
QUERIES: list[Query] = [
    Count(),
    NearestVotes(POINTS),
    ClusterMoments(POINTS, np.full(5, 0.5), 0.6, 0.4),
]
cheap = settings(deadline=None, derandomize=True, database=None, max_examples=60)


# The reserve -------------------------------------------------------------------------------------


def numbered(n_rows: int) -> NDArray[np.int32]:
    return np.arange(n_rows, dtype=np.int32)[:, None]


@pytest.mark.attack
@cheap
@given(
    st.integers(0, 300),
    st.lists(st.integers(0, 300), max_size=5),
    st.integers(0, 3),
    st.integers(1, 80),
    st.integers(0, 3),
)
def test_reserve_gives_the_included_rows_at_any_sampling_rate(
    n_rows: int, cuts: list[int], start: int, capacity: int, further: int
) -> None:
    words, rows = row_words(KEY, 0, n_rows), numbered(n_rows)
    reserve = Reserve(KEY, start, 1, capacity)
    places = [0, *sorted(min(cut, n_rows) for cut in cuts), n_rows]
    for begin, end in itertools.pairwise(places):
        # Some rows may be gone before they come: those that were left out already.
        coming = included(words[begin:end], reserve.sampling_exponent)
        reserve.add(end - begin, words[begin:end][coming], rows[begin:end][coming])
    wanted = min(reserve.sampling_exponent + further, SAMPLING_EXPONENT_MAX)
    assert reserve.drawn(wanted).tolist() == rows[included(words, wanted)].tolist()


@pytest.mark.attack
@cheap
@given(st.integers(0, 400), st.integers(1, 80), st.lists(st.integers(0, 400), max_size=5))
def test_sampling_rate_of_a_reserve_follows_from_the_number_of_rows_alone(
    n_rows: int, capacity: int, cuts: list[int]
) -> None:
    """Else a sample would be drawn again because of its inclusion bits."""
    least = next(
        sampling_exponent
        for sampling_exponent in range(33)
        if n_rows <= capacity * 2**sampling_exponent
    )
    places = [0, *sorted(min(cut, n_rows) for cut in cuts), n_rows]
    none, half, every = 2**32 - 1, row_words(KEY, 0, n_rows), 0
    for words in (np.full(n_rows, none, np.uint32), half, np.full(n_rows, every, np.uint32)):
        reserve = Reserve(KEY, 0, 1, capacity)
        for begin, end in itertools.pairwise(places):
            reserve.add(end - begin, words[begin:end], numbered(n_rows)[begin:end])
        assert reserve.sampling_exponent == least


def test_sampling_exponent_is_at_most_the_bits_of_a_word() -> None:
    reserve = Reserve(KEY, 0, 1, 0)
    reserve.add(5, np.zeros(5, np.uint32), numbered(5))
    assert (reserve.sampling_exponent, len(reserve.drawn(SAMPLING_EXPONENT_MAX))) == (
        SAMPLING_EXPONENT_MAX,
        5,
    )


@cheap
@given(st.integers(0, 2**40), st.integers(0, 20_000), st.integers(0, 9000))
def test_a_rows_word_does_not_depend_on_where_reading_began(
    start: int, before: int, n_rows: int
) -> None:
    whole = row_words(KEY, start, before + n_rows)
    assert row_words(KEY, start + before, n_rows).tolist() == whole[before:].tolist()


@pytest.mark.attack
def test_each_reading_has_a_key_of_its_own_and_the_first_the_given_one() -> None:
    keys = [later_key(key, turn) for key in (KEY, KEY[::-1]) for turn in range(50)]
    assert len({*keys}) == 100
    assert {len(key) for key in keys} == {32}
    assert (keys[0], keys[50]) == (KEY, KEY[::-1])


# An engine that reads anew -----------------------------------------------------------------------


def table(n_rows: int) -> FloatArray:
    return np.random.default_rng(2).normal(size=(n_rows, 2)) / 3


class Readings:
    """A streamed table that counts how often it is read and may come in another order."""

    def __init__(self, rows: FloatArray, batch: int = 1000, turning: bool = False) -> None:
        self.times = 0
        self.failing = False
        self._rows, self._batch, self._turning = rows, batch, turning

    def batches(self, columns: object) -> Iterator[Any]:
        rows = self._rows[::-1] if self._turning and self.times % 2 else self._rows
        self.times += 1
        for begin in range(0, len(rows), self._batch):
            part = rows[begin : begin + self._batch]
            yield pa.record_batch({"x": part[:, 0], "y": part[:, 1]})
        if self.failing:
            raise OSError

    def engine(self) -> ArrowEngine:
        source = Source(Schema(("x", "y"), ("number", "number")), self.batches)
        return ArrowEngine(source, ["x", "y"], BALL)


def results(engine: Engine) -> list[list[int]]:
    return [list(engine.aggregate(query)) for query in QUERIES]


def in_memory(rows: FloatArray, sampling_exponent: int, key: bytes) -> list[list[int]]:
    return results(NumpyEngine(rows, BALL).sample(sampling_exponent, key))


@pytest.mark.parametrize("capacity", [40, 200, 900, 2**20])
@pytest.mark.parametrize("batch", [7, 1000])
@pytest.mark.parametrize("sampling_exponent", [6, 8])
def test_a_sample_set_aside_is_the_one_that_memory_would_give(
    sampling_exponent: int, batch: int, capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    r"""One function of rows, words and sampling rate, however often the reserve was thinned.

    It is of 2000 rows, so that no reserve has a smaller sampling rate than 2\^-6.
    """
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 8 * capacity)
    readings = Readings(table(2000), batch)
    engine = readings.engine()
    engine.expect_sample(KEY)
    engine.aggregate(Count())
    sample = engine.sample(sampling_exponent, KEY)
    assert results(sample) == in_memory(table(2000), sampling_exponent, KEY)
    assert readings.times == 1


@pytest.mark.attack
@pytest.mark.parametrize("capacity", [40, 2**20])
def test_what_was_set_aside_is_for_one_sample_only(
    capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second one has inclusion bits of its own, whether or not the first was read anew."""
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 8 * capacity)
    readings = Readings(table(2000))
    engine = readings.engine()
    engine.expect_sample(KEY)
    engine.aggregate(Count())
    turns = (0, 1) if capacity > 2000 else (1, 2)
    for turn in turns:
        found = results(engine.sample(2, KEY))
        assert found == in_memory(table(2000), 2, later_key(KEY, turn))
    assert readings.times == (1 if capacity > 2000 else 1 + turns[1])  # all rows were kept


def test_without_a_reading_before_it_a_sample_is_read_by_its_key() -> None:
    readings = Readings(table(2000))
    engine = readings.engine()
    engine.expect_sample(KEY)
    sample = engine.sample(2, KEY)
    assert readings.times == 0
    assert results(sample) == in_memory(table(2000), 2, KEY)
    assert readings.times == 1


@pytest.mark.attack
def test_reading_again_draws_other_bits_since_the_order_may_differ() -> None:
    rows = table(2000)
    readings = Readings(rows, turning=True)
    engine = readings.engine()
    engine.expect_sample(KEY)
    first = results(engine.sample(2, KEY))
    second = results(engine.sample(2, KEY))
    assert first == in_memory(rows, 2, KEY)
    assert second == in_memory(rows[::-1], 2, later_key(KEY, 1))


@pytest.mark.attack
def test_failed_reading_leaves_nothing_aside_and_its_bits_are_not_drawn_again() -> None:
    readings = Readings(table(2000))
    engine = readings.engine()
    engine.expect_sample(KEY)
    readings.failing = True
    with pytest.raises(EngineError):
        engine.aggregate(Count())
    readings.failing = False
    engine.aggregate(Count())
    assert results(engine.sample(2, KEY)) == in_memory(table(2000), 2, later_key(KEY, 1))
    assert readings.times == 3


def test_rows_are_set_aside_once_and_only_if_a_sample_is_expected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[int] = []

    def counting(key: bytes, start: int, n_rows: int) -> sampling.Words:
        drawn.append(n_rows)
        return row_words(key, start, n_rows)

    monkeypatch.setattr(streaming, "row_words", counting)
    engine = Readings(table(2000)).engine()
    engine.aggregate(Count())
    assert drawn == []
    engine.expect_sample(KEY)
    assert results(engine) == results(NumpyEngine(table(2000), BALL))
    assert sum(drawn) == 2000


def test_a_sample_is_expected_from_the_moment_a_curator_opens() -> None:
    readings = Readings(table(2000))
    with noise_from(SeededNoise(0)):
        curator = Curator.open(readings.engine(), PLAN)
        curator.measure("count", Count())
        curator.sample(2).measure("votes", NearestVotes(POINTS))
    assert readings.times == 1


# Two tables, and the inclusion bits that pair them -----------------------------------------------

PLAN = make_plan(Budget(1.0, 1e-6), [Slot("count", 0.5), Slot("votes", 0.5)])


def law_of_samples(n_rows: int, capacity: int, patch: pytest.MonkeyPatch) -> Counter[Any]:
    """Count how often two sets of rows are samples of half, over all bits of three readings."""
    patch.setattr(streaming, "RESERVE_BYTES", 8 * capacity)
    rows = np.column_stack([np.arange(n_rows) / 8, np.zeros(n_rows)])
    law: Counter[Any] = Counter()
    for bits in itertools.product([0, 2**31], repeat=3 * n_rows):
        words = np.array(bits, np.uint32).reshape(3, n_rows)
        of_key = {later_key(KEY, turn): words[turn] for turn in range(3)}
        patch.setattr(
            streaming, "row_words", lambda key, start, n, of=of_key: of[key][start : start + n]
        )
        engine = Readings(rows).engine()
        engine.expect_sample(KEY)
        engine.aggregate(Count())
        # One candidate for each row, so that the votes are the sample.
        samples = [engine.sample(1, KEY).aggregate(NearestVotes(rows)).tolist() for _ in range(2)]
        law[str(samples)] += 1
    return law


@pytest.mark.parametrize("capacity", [0, 1])
def test_all_pairs_of_samples_are_equally_likely_whether_or_not_the_reserve_has_one(
    capacity: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rows are within twice the larger capacity, so that half of them are set aside."""
    law = law_of_samples(2, capacity, monkeypatch)
    assert len(law) == 4 * 4
    assert set(law.values()) == {4}


@pytest.mark.attack
@pytest.mark.parametrize("n_rows", [99, 100, 101])
def test_at_the_number_of_rows_where_it_is_read_anew_a_sample_moves_by_one_row(
    n_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof pairs the words of one table's first reading with those of the other's second."""
    monkeypatch.setattr(streaming, "RESERVE_BYTES", 8 * 50)
    monkeypatch.setattr(streaming, "later_key", lambda key, turn: key)

    def algorithm(engine: Engine) -> None:
        curator = Curator.open(engine, PLAN)
        curator.measure("count", Count())
        curator.sample(1).measure("votes", NearestVotes(POINTS))

    sides = [Readings(table(200)[:end]) for end in (n_rows, n_rows + 1)]
    with_row, without = (side.engine() for side in sides[::-1])
    assert replay_on_neighbour(algorithm, with_row, without, SeededNoise(0)) == []
    assert [side.times for side in sides] == [1 + (n_rows > 100), 1 + (n_rows >= 100)]


def test_another_key_is_another_sample() -> None:
    engine = Readings(table(2000)).engine()
    samples = []
    for key in (KEY, KEY[::-1]):
        engine.expect_sample(key)
        engine.aggregate(Count())
        samples.append(results(engine.sample(2, key)))
    assert samples[0] != samples[1]
