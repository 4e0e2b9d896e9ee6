"""Bytes as a bounds file: refused as that, or a box within which every row is bounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from privclust.bounds import bounded_columns, read_bounds
from privclust.domain import to_unit_grid
from privclust.errors import BoundsError, ColumnError
from privclust.geometry.grid import GRID

ALLOWED = (BoundsError, ColumnError)
HEAD = 'bounds_origin = "domain knowledge"\n'
AGE = '[columns.age]\ntype = "number"\nlower = 0\nupper = 120\n'
WARD = '[columns."ward 1"]\ntype = "category"\nlevels = ["A", "B"]\n'
WHERE_ROWS_LIE = np.array([0.0, -1e308, 1e308, np.nan, np.inf, -np.inf, 5e-324, 60.0])


def seeds() -> list[bytes]:
    """Return files with few and with many faults."""
    texts = (
        HEAD + AGE,
        HEAD + AGE + "weight = 2.5\n" + AGE.replace("age", "height"),
        HEAD + AGE + WARD,
        HEAD + AGE.replace("120", "1e149").replace("= 0", "= -inf"),
        HEAD + "columns = {age = {type = 'number', lower = -0x7f, upper = 1_0e2}}",
        HEAD + "columns = [[[[[[1979-05-27T07:32:00Z]]]]]]",
        HEAD.replace("domain knowledge", "\\U0010FFFF"),
        HEAD + AGE.replace("120", "9" * 400),
        HEAD + AGE.replace("120", "9" * 5000),
        HEAD + AGE.replace("120", "0b" + "1" * 5000),
        HEAD + "x = " + "[" * 3000,
        "x." * 3000 + "y = 1",
    )
    return [text.encode() for text in texts]


def attempt(data: bytes, folder: Path) -> None:
    """Read one file, for a table of its own columns."""
    file = folder / "bounds.toml"
    file.write_bytes(data)
    try:
        names = bounded_columns(file)
        if not names:  # no table has no columns
            return
        box = read_bounds(file, names, len(names)).box
    except ALLOWED:
        return
    rows = np.tile(WHERE_ROWS_LIE[:, None], (1, len(names)))
    assert ((to_unit_grid(box, rows) ** 2).sum(axis=1) <= GRID**2).all()
