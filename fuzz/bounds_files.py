"""Bytes as a bounds file: refused as that, or a domain within which every row is bounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from privclust.domains.bounds import bounded_columns, read_bounds
from privclust.errors import BoundsError, ColumnError
from privclust.kernels.grid import GRID
from privclust.sources._reading import on_grid

ALLOWED = (BoundsError, ColumnError)
HEAD = 'bounds_origin = "domain knowledge"\n'
AGE = '[columns.age]\ntype = "number"\nlower = 0\nupper = 120\n'
WARD = '[columns."ward 1"]\ntype = "category"\nlevels = ["A", 2, true, "other"]\n'
VISIT = '[columns.visit]\ntype = "date"\nlower = 1970-01-01\nupper = 2024-12-31\n'
CELLS = ["0", "-1e308", "1e308", None, "inf", "-inf", "5e-324", "60", "A", "2024-02-30", "\xff"]


def seeds() -> list[bytes]:
    """Return files with few and with many faults."""
    texts = (
        HEAD + AGE,
        HEAD + AGE + "weight = 2.5\n" + AGE.replace("age", "height"),
        HEAD + AGE + WARD,
        HEAD + AGE + "missing = 25\n" + VISIT + "missing = 2001-02-03\n",
        HEAD + AGE + "missing = nan\n" + WARD + "missing = 'A'\n",
        HEAD + VISIT + AGE + "weight = 1e-6\ntransform = 'log1p'\n",
        HEAD + AGE.replace("= 0", "= 1e-300") + "transform = 'log'\n",
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
        names = list(bounded_columns(file) or ())
        if not names:  # no table has no columns
            return
        domain = read_bounds(file, names, len(names)).domain
    except ALLOWED:
        return
    cells = pa.table(dict.fromkeys(names, CELLS))
    with np.errstate(all="ignore"):  # as inside an engine
        rows = on_grid(domain, cells, names)
    assert ((rows**2).sum(axis=1) <= GRID**2).all()
