"""Tables in memory: NumPy arrays, and pandas, Polars or Arrow frames read through Arrow.

A frame's schema is public and is read by each library's own means; its cells are converted inside
an engine only, to float64, whatever they hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from privclust.geometry.grid import FloatArray


@dataclass(frozen=True)
class Schema:
    """What is public about a table: its columns."""

    names: tuple[str, ...] | None
    n_columns: int


def schema_of(table: Any) -> Schema:
    """Return the columns of an array or frame, or refuse what is not a table of numbers.

    Examples
    --------
    >>> schema_of(np.zeros((5, 2)))
    Schema(names=None, n_columns=2)
    """
    library = type(table).__module__.split(".")[0]
    if isinstance(table, np.ndarray):
        if table.ndim != 2:
            raise ValueError(
                f"X must be two-dimensional, got {table.ndim} dimension(s). Reshape your data: "
                "one row per unit, one column per feature, for instance X.reshape(-1, 1)."
            )
        if table.dtype.kind == "c":
            raise ValueError("Complex data not supported. Give real numbers.")
        kinds = [(f"all, of type {table.dtype}", table.dtype.kind in "biuf")]
        schema = Schema(None, int(table.shape[1]))
    elif library == "pandas" and hasattr(table, "dtypes") and hasattr(table, "columns"):
        kinds = [(str(name), dtype.kind in "biuf") for name, dtype in table.dtypes.items()]
        schema = _named(table.columns)
    elif library == "polars" and not hasattr(table, "collect") and hasattr(table, "schema"):
        kinds = [
            (name, dtype.is_numeric() or str(dtype) == "Boolean")
            for name, dtype in table.schema.items()
        ]
        schema = _named(table.columns)
    elif library == "pyarrow" and hasattr(table, "schema"):
        kinds = [(field.name, _arrow_number(field.type)) for field in table.schema]
        schema = _named(table.schema.names)
    else:
        raise TypeError(
            f"X must be a NumPy array or a pandas, Polars or Arrow table, got {type(table)!r}. "
            "Convert it yourself, for instance with numpy.asarray(X, dtype=float): guessing types "
            "from values would reveal them."
        )
    refused = [name for name, is_number in kinds if not is_number]
    if refused:
        raise TypeError(
            f"columns that do not hold numbers: {', '.join(refused)}. Convert them to a numeric "
            "type or leave them out."
        )
    if len({name for name, _ in kinds}) < len(kinds):
        raise ValueError("columns must have names that differ. Rename those that share one.")
    if schema.n_columns == 0:
        raise ValueError("X has 0 feature(s) while a minimum of 1 is required. Give it columns.")
    return schema


def read_rows(table: Any, start: int, stop: int) -> Any:
    """Return some rows as an array; only an engine's `aggregate`, or the holder, calls this."""
    if isinstance(table, np.ndarray):
        return table[start:stop]
    return _through_arrow(table, start, stop)


def _through_arrow(table: Any, start: int, stop: int) -> FloatArray:
    import pyarrow as pa

    if hasattr(table, "iloc"):
        # Unless told not to, pandas hands its index over as one more column.
        part = pa.Table.from_pandas(table.iloc[start:stop], preserve_index=False)
    else:
        part = pa.table(table.slice(start, stop - start))
    return np.column_stack(
        [column.cast(pa.float64(), safe=False).to_numpy() for column in part.columns]
    )


def _named(names: Any) -> Schema:
    labels = tuple(names)
    if not all(isinstance(name, str) for name in labels):
        return Schema(None, len(labels))
    return Schema(labels, len(labels))


def _arrow_number(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )
