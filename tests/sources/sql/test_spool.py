"""What was fetched once is given again, and nothing of it is left."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from privclust.sources.sql.spool import Spool


class Fetching:
    def __init__(self, *batches: Any) -> None:
        self.batches, self.fetched = batches, 0

    def __call__(self, columns: Sequence[str]) -> Iterator[Any]:
        self.fetched += 1
        for batch in self.batches:
            yield batch.select(list(columns))


TWO = [pa.record_batch({"a": [place, None], "w": ["x", "é"]}) for place in range(2)]


def read(spool: Spool, stream: Any, *columns: str) -> list[Any]:
    return [row for batch in spool.batches(stream, columns) for row in batch.to_pylist()]


def test_rows_are_fetched_once() -> None:
    stream, spool = Fetching(*TWO), Spool()
    first = read(spool, stream, "a", "w")
    assert first == [row for batch in TWO for row in batch.to_pylist()]
    assert read(spool, stream, "a", "w") == read(spool, stream, "a", "w") == first
    assert stream.fetched == 1
    assert read(spool, stream, "w") == [{"w": row["w"]} for row in first]
    assert read(spool, stream, "w", "a") == first
    assert stream.fetched == 1


def test_columns_that_are_not_kept_are_fetched() -> None:
    stream, spool = Fetching(*TWO), Spool()
    assert len(read(spool, stream, "a")) == len(read(spool, stream, "a", "w")) == 4
    assert stream.fetched == 2


@pytest.mark.parametrize("batches", [(), (TWO[0].slice(0, 0),)])
def test_a_result_without_rows_is_kept_too(batches: Any) -> None:
    stream, spool = Fetching(*batches), Spool()
    assert read(spool, stream, "a") == read(spool, stream, "a") == []
    assert stream.fetched == 1


def test_a_pass_that_ends_early_keeps_nothing() -> None:
    stream, spool = Fetching(*TWO), Spool()
    unfinished = spool.batches(stream, ["a"])
    next(unfinished)
    del unfinished
    assert len(read(spool, stream, "a")) == 4
    assert stream.fetched == 2


def test_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    stream, spool = Fetching(*TWO), Spool()
    read(spool, stream, "a")
    assert not [*tmp_path.iterdir()]
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    spool.close()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before - 1
    assert len(read(spool, stream, "a")) == 4


def test_what_was_read_does_not_stay_in_memory() -> None:
    batch = pa.record_batch({"a": np.zeros(2**20)})
    stream, spool = Fetching(*[batch] * 12), Spool()
    for _ in spool.batches(stream, ["a"]):
        pass
    before, most = mapped_mb(), 0.0
    for found in spool.batches(stream, ["a"]):
        assert np.asarray(found.column(0)).sum() == 0
        most = max(most, mapped_mb() - before)
    assert stream.fetched == 1
    assert 4 < most < 24  # of 96, one batch at a time


def mapped_mb() -> float:
    """Return how much of files is mapped and counts as memory of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if re.match("Rss(File|Shmem)", line)) / 1024
