"""A fit of a table that is read again and again, in a process that may be killed while reading."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from privclust import PrivateKMeans
from privclust.engines import streaming
from privclust.testing import RepeatableNoise, noise_from

N_ROWS, BATCH = 280_000, 10_000
ROW_BYTES = 8
"""Of two columns on the grid."""


def table() -> pa.Table:
    """Return three blobs, two rows to an id."""
    rng = np.random.default_rng(0)
    rows = rng.normal(0.0, 0.05, (N_ROWS, 2)) + rng.choice([-0.5, 0.0, 0.5], (N_ROWS, 1))
    return pa.table({"x": rows[:, 0], "y": rows[:, 1], "who": np.arange(N_ROWS) // 2})


def killed_in_pass(number: int) -> Callable[[], pa.RecordBatchReader]:
    """Return a table whose reader dies in the middle of being read for the n-th time."""
    rows, opened = table(), 0

    def stream() -> pa.RecordBatchReader:
        nonlocal opened
        opened += 1
        dies = opened == number + 2  # it is opened twice for its schema

        def batches() -> Iterator[pa.RecordBatch]:
            for place, batch in enumerate(rows.to_batches(BATCH)):
                if dies and place == N_ROWS // BATCH // 2:
                    os.kill(os.getpid(), signal.SIGKILL)
                yield batch

        return pa.RecordBatchReader.from_batches(rows.schema, batches())

    return stream


def model_of(place: str | None, unit: str | None) -> PrivateKMeans:
    """Return the estimator, with the ledger at `place` if any."""
    return PrivateKMeans(
        3,
        delta=1e-6,
        bounds={"x": (-1, 1), "y": (-1, 1)},
        max_clusters=4,
        unit=unit,
        ledger=place,
        dataset=None if place is None else "table",
        random_state=0,
    )


def fit(model: PrivateKMeans, source: object, resume: str | None = None) -> PrivateKMeans:
    """Fit with noise that a resumed fit draws again; the table counts as too large to keep."""
    with (
        noise_from(RepeatableNoise(0)),
        patch.object(streaming, "RESERVE_BYTES", ROW_BYTES * N_ROWS * 3 // 4),
    ):
        return model.fit(source, resume=resume)
