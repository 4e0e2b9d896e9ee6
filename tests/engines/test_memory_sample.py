"""A sample of rows in memory: exactly the rows that its inclusion bits choose, read once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from privclust.domains.ball import Ball
from privclust.engines import memory as numpy_engine
from privclust.engines import units
from privclust.engines.memory import NumpyEngine
from privclust.engines.sampling import Words, included, row_words
from privclust.engines.units import GRID_BATCH_ROWS
from privclust.errors import EngineError
from privclust.kernels.grid import UNIT, FloatArray
from privclust.queries.base import Count, Query
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes

KEY = bytes(range(32))
BALL = Ball([0.0, 0.0, 0.0], 1.0)
POINTS = np.random.default_rng(1).uniform(-0.5, 0.5, (5, 3))
QUERIES: list[Query] = [
    Count(),
    NearestVotes(POINTS),
    ClusterSums(POINTS, POINTS, 0.5, 0.7),
    ClusterMoments(POINTS, np.geomspace(0.05, 0.5, 5), 0.6, 0.4),
    DistanceHistogram(POINTS, np.array([0.1, 0.3])),
]


def table(n_rows: int) -> FloatArray:
    return np.random.default_rng(2).normal(size=(n_rows, 3)) / 2


def chosen(rows: FloatArray, sampling_exponent: int, key: bytes = KEY) -> FloatArray:
    """Return the rows whose inclusion bits, drawn in pieces of GRID_BATCH_ROWS, are set."""
    pieces = [
        (start, rows[start : start + GRID_BATCH_ROWS])
        for start in range(0, max(1, len(rows)), GRID_BATCH_ROWS)
    ]
    return np.concatenate(
        [
            piece[included(row_words(key, start, len(piece)), sampling_exponent)]
            for start, piece in pieces
        ]
    )


def results(engine: NumpyEngine) -> list[list[int]]:
    return [list(engine.aggregate(query)) for query in QUERIES]


@pytest.mark.parametrize("sampling_exponent", [1, 3])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "n_rows",
    [0, 1, 2, GRID_BATCH_ROWS - 1, GRID_BATCH_ROWS, GRID_BATCH_ROWS + 1, 3 * GRID_BATCH_ROWS + 7],
)
def test_a_sample_adds_up_exactly_the_chosen_rows(
    n_rows: int, threads: int, sampling_exponent: int
) -> None:
    rows = table(n_rows)
    sample = NumpyEngine(rows, BALL, threads).sample(sampling_exponent, KEY)
    assert results(sample) == results(NumpyEngine(chosen(rows, sampling_exponent), BALL, 1))
    assert sample.n_columns == 3


def test_sample_at_exponent_0_is_the_table() -> None:
    engine = NumpyEngine(table(GRID_BATCH_ROWS + 1), BALL)
    assert results(engine.sample(0, KEY)) == results(engine)


def test_the_key_decides_and_the_values_do_not() -> None:
    rows = table(2000)
    engine = NumpyEngine(rows, BALL)
    first, again, other = (engine.sample(1, key) for key in (KEY, KEY, KEY[::-1]))
    assert results(first) == results(again)
    assert results(first) != results(other)
    mirrored = NumpyEngine(-rows, BALL).sample(1, KEY)
    assert results(mirrored) == results(NumpyEngine(-chosen(rows, 1), BALL))


@pytest.mark.attack
def test_other_rows_change_no_rows_inclusion_bit() -> None:
    """One row is loud; whatever the others are, and however many follow, it is in or it is out."""
    query = NearestVotes(np.array([[0.0, 0.0, 0.9], [0.0, 0.0, -0.9]]))
    bits = included(row_words(KEY, 0, 100), 1)
    for place in range(0, 100, 7):
        for others in (table(100), np.zeros((100, 3)), table(101), table(9000)):
            rows = np.where(others[:, 2:] > 0, -others, others)
            rows[:, 2] -= 1e-3
            rows[place] = [0.0, 0.0, 0.9]
            votes = NumpyEngine(rows, BALL, 1).sample(1, KEY).aggregate(query)
            assert votes[0] == bits[place] * UNIT


@settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.integers(0, 40), st.integers(0, 40), st.booleans(), st.integers(0, 2**32))
def test_rows_that_keep_their_bits_leave_the_new_rows_contribution_or_nothing(
    monkeypatch: pytest.MonkeyPatch, n_rows: int, place: int, drawn: bool, seed: int
) -> None:
    """The coupling of docs/proofs/sampling.md: a row pushes in, and bits move along with rows."""
    rng = np.random.default_rng(seed)
    place = min(place, n_rows)
    rows, row = rng.normal(size=(n_rows, 3)) / 2, rng.normal(size=(1, 3))
    bits = rng.random(n_rows) < 0.5
    before = sampled_with(monkeypatch, rows, bits)
    after = sampled_with(
        monkeypatch, np.insert(rows, place, row, axis=0), np.insert(bits, place, drawn)
    )
    alone = results(NumpyEngine(row[:drawn], BALL, 1))
    for old, new, one in zip(before, after, alone, strict=True):
        assert [b - a for a, b in zip(old, new, strict=True)] == one


def sampled_with(
    monkeypatch: pytest.MonkeyPatch,
    rows: FloatArray,
    bits: NDArray[np.bool_],
) -> list[list[int]]:
    """Measure a sample in batches of 16 rows, whose inclusion bits are given."""

    def given_words(key: bytes, start: int, n_rows: int) -> Words:
        words: Words = np.where(bits, 2**31 - 1, 2**31).astype(np.uint32)
        return words[start : start + n_rows]

    with monkeypatch.context() as patch:
        patch.setattr(numpy_engine, "GRID_BATCH_ROWS", 16)
        patch.setattr(units, "GRID_BATCH_ROWS", 16)
        patch.setattr(numpy_engine, "row_words", given_words)
        return results(NumpyEngine(rows, BALL, 1).sample(1, KEY))


def test_rows_are_read_once_for_a_table_and_all_its_samples() -> None:
    rows = table(3000)
    engine = NumpyEngine(rows, BALL)
    expected = [results(engine.sample(sampling_exponent, KEY)) for sampling_exponent in (1, 2)]
    sample = engine.sample(1, KEY)
    whole = results(engine)
    rows[:] = 0.0
    assert results(sample) == expected[0]
    assert results(engine.sample(2, KEY)) == expected[1]
    assert results(engine) == whole


@pytest.mark.attack
@pytest.mark.parametrize("n_rows", [0, 1])
def test_a_sample_of_the_wrong_width_fails_with_or_without_rows(n_rows: int) -> None:
    sample = NumpyEngine(np.zeros((n_rows, 2)), BALL).sample(1, KEY)
    with pytest.raises(EngineError):
        sample.aggregate(Count())
