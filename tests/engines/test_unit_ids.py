"""Whose row it is: ids compared exactly, wherever rows lie, and bits that follow from ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.engines.memory import NumpyEngine
from privclust.engines.sampling import SAMPLING_EXPONENT_MAX, included, unit_words
from privclust.engines.spilled import SpilledEngine
from privclust.kernels.grid import UNIT
from privclust.queries.base import Count, Query
from privclust.queries.clusters import ClusterMoments, ClusterSums, DistanceHistogram, NearestVotes
from privclust.queries.unit import Unit
from privclust.sources.cells import ids as as_ids
from privclust.sources.streams import source_of

BALL = Ball([0.0, 0.0], 1.0)
POINTS = np.random.default_rng(1).uniform(-0.5, 0.5, (5, 2))
QUERIES: list[Query] = [
    Count(),
    NearestVotes(POINTS),
    ClusterSums(POINTS, POINTS, 0.5, 0.7),
    ClusterMoments(POINTS, np.geomspace(0.05, 0.5, 5), 0.6, 0.4),
    DistanceHistogram(POINTS, np.array([0.1, 0.3])),
]
cheap = settings(deadline=None, derandomize=True, database=None, max_examples=60)


def table(n_rows: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(2).normal(size=(n_rows, 2)) / 3, columns=["x", "y"])


def results(frame: pd.DataFrame, unit: Unit) -> list[list[int]]:
    engine = NumpyEngine(frame, BALL, unit=unit)
    return [list(engine.aggregate(query)) for query in QUERIES]


@pytest.mark.parametrize("n_rows", [0, 1, 8191, 8192, 20_000])
def test_one_row_each_is_the_same_as_no_units(n_rows: int) -> None:
    frame, rows = table(n_rows), Unit()
    ids = np.random.default_rng(3).permutation(n_rows)
    assert results(frame.assign(who=ids), Unit("who", 1)) == results(frame, rows)
    assert results(frame.assign(who=ids), Unit("who", 7)) == results(frame, rows)


@pytest.mark.parametrize("n_rows", [3, 4, 900])
def test_a_unit_is_as_many_votes_as_it_may_be_and_no_more(n_rows: int) -> None:
    frame = pd.concat([table(1)] * n_rows).assign(who=["ann"] * n_rows)
    for query in (Count(), NearestVotes(POINTS), DistanceHistogram(POINTS, np.array([0.1]))):
        found = sum(NumpyEngine(frame, BALL, unit=Unit("who", 3)).aggregate(query))
        assert 3 * UNIT - (n_rows > 3) <= found <= 3 * UNIT


@pytest.mark.parametrize("weight", [0.25, 1.0, 4.0])
def test_a_faint_count_may_stand_for_more_rows_within_the_norm(weight: float) -> None:
    """Rows at their centre add nothing else, and the norm allows more of them."""
    query = ClusterSums(np.zeros((1, 2)), np.zeros((1, 2)), 1.0, weight)
    frame = pd.DataFrame({"x": [0.0] * 900, "y": [0.0] * 900, "who": [1] * 900})
    found = NumpyEngine(frame, BALL, unit=Unit("who", 3)).aggregate(query)
    rows_counted = query.split(np.array(found) / UNIT)[1]
    assert rows_counted == pytest.approx(3 * max(1, 1 / weight), rel=1e-6)


def spilled(frame: pd.DataFrame, unit: Unit) -> SpilledEngine:
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    return SpilledEngine(source_of(lambda: arrow), ["x", "y"], BALL, unit)  # type: ignore[arg-type]


def in_memory(frame: pd.DataFrame, unit: Unit) -> NumpyEngine:
    return NumpyEngine(frame, BALL, unit=unit)


EngineOf = Callable[[pd.DataFrame, Unit], NumpyEngine | SpilledEngine]
both = pytest.mark.parametrize("engine_of", [in_memory, spilled])


@both
@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(["plumless", "buckeroo"] * 4, id="one crc32, two ids"),
        pytest.param(["ann", None] * 4, id="missing ids are one unit"),
        pytest.param(["", None] * 4, id="an empty id is not a missing one"),
        pytest.param(["ann", "Ann", "ann ", "ａnn"] * 2, id="bytes, not looks"),
        pytest.param(["7", "07", "7.0", "+7"] * 2, id="texts of numbers are texts"),
        pytest.param(
            [2**63 - 1, -(2**63), 2**53, 2**53 + 1] * 2, id="integers that floats confuse"
        ),
    ],
)
def test_ids_are_compared_exactly(engine_of: EngineOf, ids: list[object]) -> None:
    frame = table(8).assign(who=ids)
    assert engine_of(frame, Unit("who", 1)).aggregate(Count())[0] == pytest.approx(
        len(set(ids)) * UNIT, abs=len(set(ids))
    )


def in_bytes(ids: Sequence[object]) -> Any:
    return pa.array(ids, pa.large_binary())


@pytest.mark.attack
@both
@pytest.mark.parametrize("new", ["aaron", None])
def test_new_unit_changes_no_other_inclusion_bit(engine_of: EngineOf, new: str | None) -> None:
    """It comes first, so that the places of all others shift, and has rows here and there."""
    old = table(400).assign(who=[f"user {n % 90}" for n in range(400)])
    coming = table(3).assign(who=new)
    more = pd.concat([coming[:1], old[:200], coming[1:], old[200:]])
    unit, key = Unit("who", 2), bytes(range(32))
    engines = [engine_of(frame, unit) for frame in (old, more, coming)]
    for sampling_exponent in range(3):
        samples = [engine.sample(sampling_exponent, key) for engine in engines]
        drawn = included(unit_words(key, in_bytes([new and new.encode()])), sampling_exponent)[0]
        for query in QUERIES:
            before, after, alone = (sample.aggregate(query) for sample in samples)
            assert [b - a for a, b in zip(before, after, strict=True)] == alone
            assert any(alone) == drawn


@cheap
@given(st.binary(min_size=32, max_size=32), st.lists(st.one_of(st.none(), st.binary())))
def test_a_units_word_is_32_bits_of_the_key_and_the_id(key: bytes, ids: list[bytes | None]) -> None:
    words = unit_words(key, in_bytes(ids))
    alone = [unit_words(key, in_bytes([id_])) for id_ in ids]
    assert [int(word[0]) for word in alone] == words.tolist()
    assert included(words, 0).all()
    assert included(words, SAMPLING_EXPONENT_MAX).tolist() == [word == 0 for word in words.tolist()]
    assert len({*ids}) - len({*words.tolist()}) <= 1


@pytest.mark.parametrize(
    "ids",
    [
        pytest.param(["ann", 7, None], id="numbers among texts"),
        pytest.param([7, 8, 2**70], id="a number beyond 64 bits"),
        pytest.param(["ann", "bob", "\ud800"], id="a text that UTF-8 does not have"),
        pytest.param(["ann", "bob", np.datetime64("NaT")], id="no time"),
        pytest.param(["ann", ("bob",), b"\xff"], id="anything"),
    ],
)
def test_no_id_makes_a_frame_unreadable(ids: list[object]) -> None:
    frame = table(3).assign(who=pd.Series(ids, dtype=object))
    assert in_memory(frame, Unit("who", 1)).aggregate(Count()) == [3 * UNIT]


@pytest.mark.parametrize("ids", [[None] * 3, [np.nan] * 3, pd.Categorical(["a", 7, None])])
def test_frames_without_ids_or_with_categories_of_them_are_read(ids: Any) -> None:
    frame = table(3).assign(who=pd.Series(ids, dtype=None if hasattr(ids, "codes") else object))
    n_units = 3 if hasattr(ids, "codes") else 1
    (count,) = in_memory(frame, Unit("who", 1)).aggregate(Count())
    assert round(count / UNIT) == n_units


def test_integers_written_as_floats_for_a_gap_are_the_same_ids() -> None:
    found = as_ids(pa.array([7.0, None, 2.5, np.nan, 2.0**70]))
    assert found.to_pylist()[:2] == [b"7", None]
    assert found.to_pylist()[2:4] == [b"2.5", None]
    assert as_ids(pa.array([7])).to_pylist() == [b"7"]
