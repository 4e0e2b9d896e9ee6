"""What must hold of exact sums, whoever wrote the rows: totals bounded, and neighbours close."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privclust.domains.box import Box
from privclust.engines import spilled, streaming
from privclust.engines.spilled import SpilledEngine
from privclust.engines.streaming import ArrowEngine
from privclust.errors import ColumnError, ColumnTypeError, EngineError, UnreadableFileError
from privclust.kernels.grid import UNIT
from privclust.queries.base import Count, Query
from privclust.queries.clusters import ClusterSums
from privclust.queries.unit import ROW, Unit
from privclust.sources import csv_lines
from privclust.sources.streams import source_of

DECLARED = (UnreadableFileError, ColumnError, ColumnTypeError, EngineError)
"""How files that cannot be used are refused."""
PERSON = "who"

# So that small tables meet all that large ones meet, and many can be tried.
csv_lines.BLOCK_BYTES = 2**10
spilled.PARTITIONS = 2
for module in (streaming, spilled):
    module.on_all_cores = lambda work, items, threads: map(work, items)  # type: ignore[attr-defined]


def engine_of(table: Any, columns: Sequence[str], unit: Unit) -> ArrowEngine | SpilledEngine:
    """Return an engine over some columns of a table, on one thread."""
    source = source_of(table)
    assert source is not None
    source.schema.features(unit.column, columns)
    box = Box([-1.0] * len(columns), [1.0] * len(columns))
    if unit == ROW:
        return ArrowEngine(source, columns, box, threads=1)
    return SpilledEngine(source, columns, box, unit, threads=1)


def queries(n_columns: int) -> tuple[Query, ...]:
    """Return a count, and sums around two centres."""
    centers = np.zeros((2, n_columns))
    centers[:, 0] = 0.3, -0.3
    return Count(), ClusterSums(centers, centers, radius=0.5, weight=1.0)


def results(table: Any, columns: Sequence[str], unit: Unit) -> list[list[int]]:
    """Return exact sums; no unit that was counted adds more than it may."""
    engine = engine_of(table, columns, unit)
    found = [list(engine.aggregate(query)) for query in queries(len(columns))]
    count = found[0][0]
    assert count >= 0
    assert unit != ROW or count % UNIT == 0
    return found


def close(one: list[list[int]], other: list[list[int]], unit: Unit, n_columns: int) -> bool:
    """Tell whether results differ by no more than one unit may contribute."""
    for query, first, second in zip(queries(n_columns), one, other, strict=True):
        bounds = unit.sensitivity(query)
        moved = [abs(a - b) for a, b in zip(first, second, strict=True)]
        if sum(moved) > bounds.l1 or sum(m * m for m in moved) > bounds.l2_squared:
            return False
    return True


def written(folder: Path, name: str, data: bytes) -> str:
    """Write a file and return its path."""
    file = folder / name
    file.write_bytes(data)
    return str(file)
