"""Rows of a sample that do not fit in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.domains.ball import Ball
from privclust.engines import _row_buffer
from privclust.engines._row_buffer import RowBuffer
from privclust.engines.factory import local_table
from privclust.engines.sampling import SampleRows, included, row_words
from privclust.queries.clusters import NearestVotes
from privclust.queries.unit import ROW, Unit

KEY = bytes(range(32))


@pytest.mark.attack
@settings(deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 3), st.integers(0, 200))
def test_all_rows_are_kept_in_order_whatever_the_limit(
    sizes: list[int], n_columns: int, limit: int
) -> None:
    """A row that is left out because of others before it would make them count."""
    expected = np.arange(sum(sizes) * n_columns, dtype=np.int32).reshape(-1, n_columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_row_buffer, "ROWS_BYTES", limit)
        buffer, begin = RowBuffer(n_columns), 0
        for size in sizes:
            # Every second column of a wider array, which does not lie in one piece.
            buffer.append(np.repeat(expected[begin : begin + size], 2, axis=1)[:, ::2])
            begin += size
        found = buffer.rows()
    assert found.dtype == np.int32
    assert np.array_equal(found, expected)


def test_rows_beyond_the_limit_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_row_buffer, "ROWS_BYTES", 2**20)
    part = np.ones((2**12, 16), dtype=np.int32)
    tracemalloc.start()
    try:
        buffer = RowBuffer(16)
        for _ in range(64):
            buffer.append(part.copy())
        rows = buffer.rows()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rows.shape == (2**18, 16)
    assert most < 2 * 2**20 < rows.nbytes


def test_the_file_has_no_name_and_ends_with_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_row_buffer, "ROWS_BYTES", 0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    buffer = RowBuffer(1)
    buffer.append(np.ones((5, 1), dtype=np.int32))
    assert list(tmp_path.iterdir()) == []
    rows = buffer.rows()
    assert rows.sum() == 5
    assert not rows.flags.writeable


@pytest.mark.attack
@pytest.mark.parametrize("limit", [0, 100, 2**28])
def test_sample_is_the_same_whatever_the_limit(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_row_buffer, "ROWS_BYTES", limit)
    rows, words = np.arange(600, dtype=np.int32)[:, None], row_words(KEY, 0, 600)
    sample = SampleRows(KEY, 1, 1)
    for begin in range(0, 600, 100):
        sample.add(100, words[begin : begin + 100], rows[begin : begin + 100])
    assert sample.drawn().tolist() == rows[included(words, 1)].tolist()


@pytest.mark.attack
@pytest.mark.parametrize("unit", [ROW, Unit("who", 2)], ids=["row", "who"])
def test_sample_in_a_file_sums_as_one_in_memory(
    unit: Unit, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.uniform(-1, 1, 3000), "b": rng.uniform(-1, 1, 3000)})
    if unit.column is not None:
        table = table.append_column("who", pa.array(rng.integers(0, 900, 3000)))
    query, domain = NearestVotes(rng.uniform(-0.7, 0.7, (5, 2))), Ball([0.0, 0.0], 1.0)
    expected = local_table(table.to_pandas()).open_engine(["a", "b"], domain, unit).sample(1, KEY)
    monkeypatch.setattr(_row_buffer, "ROWS_BYTES", 0)
    found = local_table(lambda: table).open_engine(["a", "b"], domain, unit).sample(1, KEY)
    sums = [engine.aggregate(query) for engine in (found, expected, found)]
    assert sums[0] == sums[1] == sums[2]
