"""Columns of a table as texts, to be written beside labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from privclust.errors import ColumnError
from privclust.sources.cells import LEVELS, NUMBERS, Kind, ids
from privclust.sources.streams import Source

_KINDS: tuple[Kind, ...] = (*LEVELS, "date")


class KeptColumns:
    """Reads some columns once, so many rows at a time as are asked for.

    Parameters
    ----------
    source : Source
        The table.
    names : sequence of str
        Its columns to be kept; numbers, dates and texts.
    """

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        schema = source.schema
        kinds = dict(zip(schema.names or (), schema.kinds, strict=True))
        for name in names:
            if kinds.get(name) not in _KINDS:
                known = ", ".join(repr(one) for one, kind in kinds.items() if kind in _KINDS)
                raise ColumnError(
                    f"there is no column {name!r} of numbers, dates or texts to keep. There are: "
                    f"{known}."
                )
        self._names = names
        self.numbers = [name for name in names if kinds[name] in NUMBERS]
        """Those that may hold numbers, by their type alone."""
        self._batches = source.batches(names)
        self._waiting: list[list[Any]] = [[pa.array([], pa.large_string())] for _ in names]
        self._rows = 0

    def take(self, count: int) -> list[Any]:
        """Return the next `count` rows of each column."""
        while self._names and self._rows < count:
            batch = next(self._batches)
            self._rows += batch.num_rows
            for place, name in enumerate(self._names):
                self._waiting[place].append(_texts(batch.column(name)))
        taken = []
        for place, parts in enumerate(self._waiting):
            column = pa.concat_arrays(parts)
            taken.append(column.slice(0, count))
            self._waiting[place] = [column.slice(count)]
        self._rows -= count
        return taken


def _texts(column: Any) -> Any:
    """Return cells as texts; bytes that are none are marked."""
    found = ids(column)
    try:
        return found.cast(pa.large_string())
    except pa.ArrowInvalid:
        cells = found.to_pylist()
    decoded = [None if cell is None else cell.decode("utf-8", "replace") for cell in cells]
    return pa.array(decoded, pa.large_string())
