"""Datasets of Hugging Face: Arrow files that nobody changes, and which of their rows are meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from privclust.sources.cells import intact
from privclust.sources.files import BATCH_ROWS


def is_dataset(table: object) -> bool:
    """Tell whether `table` is a ``datasets.Dataset``, without importing that library."""
    return any(
        (one.__module__, one.__name__) == ("datasets.arrow_dataset", "Dataset")
        for one in type(table).__mro__
    )


def types_of(dataset: Any) -> Any:
    """Return the types in which its columns are kept, as an Arrow schema."""
    return dataset.data.schema


def read_dataset(dataset: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Read some columns once more, as they are kept: no format or transform changes them.

    The table behind a dataset has all rows, also those that ``select`` and ``filter`` left out.
    """
    plain = dataset.with_format("arrow").select_columns(list(columns))
    for part in plain.iter(batch_size=BATCH_ROWS):
        # Rows that were chosen one by one lie in as many pieces.
        for batch in part.select(list(columns)).combine_chunks().to_batches():
            for column in batch.columns:
                intact(column)
            yield batch
