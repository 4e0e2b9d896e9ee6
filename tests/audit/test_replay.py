"""The replay attack must see algorithms that cheat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from privclust.audit.replay import Transcript, replay_on_neighbour
from privclust.domains.ball import Ball
from privclust.engines.base import Engine
from privclust.engines.memory import NumpyEngine
from privclust.engines.sampling import included, row_words
from privclust.kernels.grid import UNIT, FloatArray
from privclust.privacy.accounting import Budget
from privclust.privacy.curator import Curator
from privclust.privacy.plan import Slot, make_plan
from privclust.queries.base import Count, Query
from privclust.queries.clusters import NearestVotes
from privclust.queries.columns import ColumnHistograms
from privclust.queries.unit import ROW
from privclust.testing import SeededNoise, noise_from

CANDIDATES = np.array([[0.5, 0.0], [-0.5, 0.0]])
PLAN = make_plan(
    Budget(1.0, 1e-6),
    [Slot("count", 0.2), Slot("votes", 0.4), Slot("choice", 0.4, mechanism="select")],
)


TABLE = np.random.default_rng(1).normal(0.0, 0.3, (40, 2))


def over(rows: FloatArray) -> NumpyEngine:
    return NumpyEngine(rows, Ball([0.0, 0.0], 1.0))


def honest(engine: Engine) -> None:
    curator = Curator.open(engine, PLAN)
    count = curator.measure("count", Count()).values[0]
    curator.measure("votes", NearestVotes(CANDIDATES * (1 + count % 1) / 2))
    curator.select("choice", NearestVotes(CANDIDATES))


def peeking(engine: Engine) -> None:
    curator = Curator.open(engine, PLAN)
    exact = engine.aggregate(Count())[0] // UNIT
    curator.measure("count", Count())
    curator.measure("votes", NearestVotes(CANDIDATES / exact))


def stopping_early(engine: Engine) -> None:
    curator = Curator.open(engine, PLAN)
    if engine.aggregate(Count())[0] // UNIT > 5:
        return
    curator.measure("count", Count())


def findings(algorithm: Callable[[Engine], None]) -> list[str]:
    rows = np.random.default_rng(0).normal(0.0, 0.3, (5, 2))
    neighbour = np.vstack([rows, [[0.2, 0.2]]])
    return replay_on_neighbour(algorithm, over(rows), over(neighbour), SeededNoise(0))


def test_an_honest_algorithm_passes() -> None:
    assert findings(honest) == []


@pytest.mark.parametrize(
    ("algorithm", "finding"),
    [
        (peeking, "query 2 differs between neighbouring tables"),
        (stopping_early, "made 1 queries of one table, 0 of the other"),
    ],
)
def test_a_cheating_algorithm_is_found(algorithm: Callable[[Engine], None], finding: str) -> None:
    assert finding in findings(algorithm)


class Doubled:
    """An engine that counts every row twice."""

    n_columns = 2
    unit = ROW

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def aggregate(self, query: Query) -> list[int]:
        return [2 * value for value in self._engine.aggregate(query)]

    def expect_sample(self, key: bytes) -> None:
        self._engine.expect_sample(key)

    def sample(self, sampling_exponent: int, key: bytes) -> Doubled:
        return Doubled(self._engine.sample(sampling_exponent, key))


def test_an_engine_that_counts_rows_twice_is_found() -> None:
    rows = np.full((4, 2), 0.2)
    table, neighbour = Doubled(over(rows)), Doubled(over(rows[1:]))
    found = replay_on_neighbour(honest, table, neighbour, SeededNoise(0))
    assert found == [f"query {n} moved by more than it declared" for n in (1, 2, 3)]


class Taking:
    """An engine that takes a vote away for some row, of all results from a query on."""

    n_columns = 2
    unit = ROW

    def __init__(self, engine: Engine, first: int) -> None:
        self._engine, self._left = engine, first

    def aggregate(self, query: Query) -> list[int]:
        self._left -= 1
        sign = 1 if self._left >= 0 else -1
        return [sign * value for value in self._engine.aggregate(query)]

    def expect_sample(self, key: bytes) -> None:
        self._engine.expect_sample(key)

    def sample(self, sampling_exponent: int, key: bytes) -> Engine:
        return self._engine.sample(sampling_exponent, key)


@pytest.mark.attack
@pytest.mark.parametrize("first", [1, 2])
def test_monotone_result_that_falls_where_others_rise_is_found(first: int) -> None:
    """A selection has half the noise because all scores move one way."""
    rows = np.full((4, 2), 0.2)
    for table, neighbour in ((rows, rows[1:]), (rows[1:], rows)):
        one, other = Taking(over(table), first), Taking(over(neighbour), first)
        found = replay_on_neighbour(honest, one, other, SeededNoise(0))
        assert f"query {first + 1} is declared monotone, and a row took from it" in found


def measure_moments(engine: Engine) -> None:
    plan = make_plan(Budget(1.0, 1e-6), [Slot("tallies", 1.0, l0=2)])
    query = ColumnHistograms(np.array([0.5, 0.5]), 2)
    Curator.open(engine, plan).measure("tallies", query)


class Seesaw(Taking):
    """An engine whose every second sum has the wrong sign."""

    def aggregate(self, query: Query) -> list[int]:
        exact = self._engine.aggregate(query)
        return [(-1) ** (place // 2) * value for place, value in enumerate(exact)]


def test_result_that_rises_here_and_falls_there_is_found() -> None:
    rows = np.full((4, 2), 0.2)
    table, neighbour = Seesaw(over(rows), 0), Seesaw(over(rows[1:]), 0)
    found = replay_on_neighbour(measure_moments, table, neighbour, SeededNoise(0))
    assert found == ["query 1 is declared monotone, and a row took from it"]


# Samples -----------------------------------------------------------------------------------------

# The transcript's key is 32 zeros for every table. It distinguishes the rows below: `IN` rows are
# those of a table of 40 that a sample of a quarter holds.
INCLUDED = included(row_words(bytes(32), 0, 40), 2)
IN = np.flatnonzero(INCLUDED)


def sampling(engine: Engine) -> None:
    curator = Curator.open(engine, PLAN)
    sample = curator.sample(2)
    count = sample.measure("count", Count()).values[0]
    curator.measure("votes", NearestVotes(CANDIDATES * (1 + count % 1) / 2))
    sample.select("choice", NearestVotes(CANDIDATES))


def sampling_by_the_true_number(engine: Engine) -> None:
    curator = Curator.open(engine, PLAN)
    true_number = engine.aggregate(Count())[0] // UNIT
    curator.sample(1 + true_number % 2).measure("count", Count())


def exact_counts(n_rows: int) -> list[int]:
    """Return what `sampling` counted: the sample, whose last row is in or out, and all rows."""
    transcript = Transcript(over(TABLE[:n_rows]), SeededNoise(0))
    with noise_from(transcript):
        sampling(transcript)
    return [sum(measurement.exact) // UNIT for measurement in transcript.measurements]


def test_a_sample_and_its_table_are_both_listened_to() -> None:
    assert exact_counts(40) == [len(IN), 40, len(IN)]


@pytest.mark.attack
@pytest.mark.parametrize("last", [int(IN[-1]), int(np.flatnonzero(~INCLUDED)[-1]), 0])
def test_an_algorithm_that_samples_passes_whether_or_not_the_last_row_is_drawn(last: int) -> None:
    with_row, without = over(TABLE[: last + 1]), over(TABLE[:last])
    assert replay_on_neighbour(sampling, with_row, without, SeededNoise(0)) == []
    assert replay_on_neighbour(sampling, without, with_row, SeededNoise(0)) == []
    moved = exact_counts(last + 1)[0] - exact_counts(last)[0]
    assert moved == INCLUDED[last]


def test_a_rate_that_follows_the_true_number_of_rows_is_found() -> None:
    found = replay_on_neighbour(
        sampling_by_the_true_number, over(TABLE), over(TABLE[:-1]), SeededNoise(0)
    )
    assert found == ["query 1 moved by more than it declared"]


def test_a_sample_that_counts_rows_twice_is_found() -> None:
    last = int(IN[-1])
    with_row, without = Doubled(over(TABLE[: last + 1])), Doubled(over(TABLE[:last]))
    found = replay_on_neighbour(sampling, with_row, without, SeededNoise(0))
    assert found == [f"query {n} moved by more than it declared" for n in (1, 2, 3)]


def test_a_sample_of_a_sample_is_listened_to_as_well() -> None:
    transcript = Transcript(over(TABLE), SeededNoise(0))
    exact = transcript.sample(1, bytes(32)).sample(1, b"another key").aggregate(Count())
    transcript.gaussian(np.array(exact), 1.0)
    assert [measurement.exact for measurement in transcript.measurements] == [tuple(exact)]
