"""Tables in memory: NumPy arrays, lists of rows, and pandas, Polars or Arrow frames.

A frame's schema is public and is read by each library's own means; its cells are converted inside
an engine only, whatever they hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from privclust.domains.base import Domain
from privclust.kernels.grid import FloatArray
from privclust.sources._reading import ColumnReader
from privclust.sources.cells import Kind, ids, kind_of, numbers
from privclust.sources.row_lists import RowList
from privclust.sources.schema import Schema

_KINDS: dict[str, Kind] = {"i": "integer", "u": "integer", "b": "number", "f": "number"}
_PLAIN, _FLOATS, _TRUTHS = (str, int), (float, np.floating), (bool, np.bool_)


def schema_of(table: Any) -> Schema:
    """Return the columns of an array or frame, or refuse what is not a table.

    Examples
    --------
    >>> schema_of(np.zeros((5, 2))).kinds
    ('number', 'number')
    """
    library = type(table).__module__.split(".")[0]
    if isinstance(table, np.ndarray):
        return _array_schema(table)
    if isinstance(table, RowList):
        return Schema(None, (_KINDS["f"],) * table.n_columns)
    if library == "pandas" and hasattr(table, "dtypes") and hasattr(table, "columns"):
        return _named(table.columns, [_pandas_kind(dtype) for dtype in table.dtypes])
    if library == "polars" and not hasattr(table, "collect") and hasattr(table, "schema"):
        return polars_schema(table.schema)
    if library == "pyarrow" and hasattr(table, "schema") and hasattr(table, "slice"):
        return arrow_schema(table.schema)
    convert = "X.toarray()" if library == "scipy" else "numpy.asarray(X, dtype=float)"
    raise TypeError(
        "X must be a NumPy array, a pandas, Polars or Arrow table, a list of rows, the path "
        "of Parquet or CSV files, a pyarrow dataset, a Polars LazyFrame, a DuckDB relation, a "
        "Spark DataFrame, or a function that returns an Arrow stream; got "
        f"{type(table)!r}. Convert it yourself, for instance with {convert}: guessing types from "
        "values would reveal them."
    )


def arrow_schema(schema: Any) -> Schema:
    """Return an Arrow schema's columns."""
    kinds = [kind_of(field.type) for field in schema]
    lengths = [
        (field.name, field.type.list_size)
        for field, kind in zip(schema, kinds, strict=True)
        if kind == "vector"
    ]
    return replace(_named(schema.names, kinds), lengths=tuple(lengths))


def polars_schema(schema: Any) -> Schema:
    """Return a Polars schema's columns."""
    kinds = [_polars_kind(dtype) for dtype in schema.dtypes()]
    lengths = [
        (name, schema[name].size)
        for name, kind in zip(schema.names(), kinds, strict=True)
        if kind == "vector"
    ]
    return replace(_named(schema.names(), kinds), lengths=tuple(lengths))


def rows_on_grid(
    table: Any, start: int, stop: int, domain: Domain, unit: str | None = None
) -> FloatArray:
    """Return some rows on the grid, without the column of ids; only an engine calls this."""
    if isinstance(table, np.ndarray | RowList):
        return domain.to_grid(_encoded(table, start, stop, domain))
    return domain.read_to_grid(_FrameReader(table, start, stop, unit), None)


def read_rows(table: Any, start: int, stop: int, domain: Domain, unit: str | None = None) -> Any:
    """Return features of some rows, without the column of ids; only an engine calls this."""
    if isinstance(table, np.ndarray | RowList):
        return _encoded(table, start, stop, domain)
    return domain.read(_FrameReader(table, start, stop, unit), None)


def _encoded(table: Any, start: int, stop: int, domain: Domain) -> Any:
    """Return some rows of a table without names as `to_grid` takes them."""
    rows = table.numbers(start, stop) if isinstance(table, RowList) else table[start:stop]
    return domain.encode(rows)


class _FrameReader(ColumnReader):
    """Reads the cells of some rows of a frame."""

    def __init__(self, table: Any, start: int, stop: int, unit: str | None) -> None:
        self._table, self._start, self._stop, self._unit = table, start, stop, unit
        super().__init__(lambda name: _column(_some(table, start, stop), name))

    def matrix(self, columns: Sequence[str] | None) -> FloatArray:
        """Return columns as one number each; all but the ids may have no names."""
        if columns is not None:
            return super().matrix(columns)
        part = through_arrow(self._table, self._start, self._stop, self._unit)
        return np.column_stack([numbers(column) for column in part.columns])


def read_ids(table: Any, unit: str) -> Any:
    """Return the ids of all rows."""
    if not hasattr(table, "iloc"):
        return ids(through_arrow(table, 0, len(table), None).column(unit))
    column = table[unit]
    if hasattr(column, "cat"):
        return _texts(column.cat.categories).take(_places(column.cat.codes.to_numpy()))
    if column.dtype.kind in "iu":
        return ids(through_arrow(column.to_frame(), 0, len(table), None).column(unit))
    return _texts(column)


def _some(table: Any, start: int, stop: int) -> Any:
    return table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]


def _column(table: Any, name: str) -> Any:
    """Return one column through Arrow, and as bytes what pandas keeps as objects."""
    if hasattr(table, "iloc"):
        if _pandas_kind(table[name].dtype) == "text" or hasattr(table[name], "cat"):
            return read_ids(table, name)
        return through_arrow(table[[name]], 0, len(table), None).column(name)
    return through_arrow(table.select([name]), 0, len(table), None).column(name)


def _texts(values: Any) -> Any:
    """Return a pandas column of texts, or of anything, as bytes; no type is guessed from values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = _cells(values.array)
    if float not in set(map(type, cells)):
        return pa.array(cells, pa.large_binary())
    texts = [None if type(cell) is float else cell for cell in cells]
    floats = [cell if type(cell) is float else None for cell in cells]
    # By the rule for a column of floats, so that one text among them makes them no other levels.
    return pc.coalesce(pa.array(texts, pa.large_binary()), ids(pa.array(floats, pa.float64())))


def _cells(values: Any) -> list[bytes | float | None]:
    """Return the cells of a pandas array, None where one is missing or fails."""
    try:
        missing = values.isna()
        return [None if gone else _cell(value) for value, gone in zip(values, missing, strict=True)]
    except Exception:
        # Of a cell at which pandas stops no other must know.
        half = len(values) // 2
        return [*_cells(values[:half]), *_cells(values[half:])] if half else [None]


def _places(codes: Any) -> Any:
    import pyarrow as pa

    return pa.array(codes.astype(np.int64), mask=codes < 0)


def _cell(value: object) -> bytes | float | None:
    """Return a cell as a text or a float; None if it fails, in whatever way: a fit must not."""
    try:
        if type(value) not in _PLAIN:
            if isinstance(value, bytes):
                return value
            if isinstance(value, _FLOATS):
                return float(value)
            if isinstance(value, _TRUTHS):
                return str(value).lower().encode()  # as Arrow does
        return str(value).encode("utf-8", "surrogatepass")  # whatever Python allows in a text
    except Exception:
        return None


def _array_schema(table: Any) -> Schema:
    if table.ndim == 1 and table.dtype.kind == "O":
        raise ValueError(
            "X must be two-dimensional, and this array holds one object per row, as NumPy makes of "
            "rows of different lengths. Give the list of rows itself: what a row lacks then counts "
            "as missing."
        )
    if table.ndim != 2:
        raise ValueError(
            f"X must be two-dimensional, got {table.ndim} dimension(s). Reshape your data: "
            "one row per unit, one column per feature, for instance X.reshape(-1, 1)."
        )
    if table.dtype.kind == "c":
        raise ValueError("Complex data not supported. Give real numbers.")
    if table.dtype.kind not in _KINDS:
        raise TypeError(
            f"columns that do not hold numbers: all, of type {table.dtype}. Convert them to a "
            "numeric type or leave them out."
        )
    return Schema(None, (_KINDS[table.dtype.kind],) * int(table.shape[1]))


def _pandas_kind(dtype: Any) -> Kind:
    if hasattr(dtype, "categories"):
        inner = _pandas_kind(dtype.categories.dtype)
        return inner if inner in ("integer", "text") else "other"
    if dtype.kind == "O" or str(dtype).startswith("str"):
        return "text"
    return "date" if dtype.kind == "M" else _KINDS.get(dtype.kind, "other")


def _polars_kind(dtype: Any) -> Kind:
    if str(dtype).endswith("128"):
        return "other"  # Arrow has no such numbers
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric() or str(dtype) in ("Boolean", "Null"):
        return "number"
    if str(dtype).startswith(("Date", "Datetime")):
        return "date"
    if str(dtype).startswith("Array("):
        flat = len(dtype.shape) == 1 and dtype.inner.is_numeric()
        return "vector" if flat and not str(dtype.inner).endswith("128") else "other"
    text = ("String", "Binary", "Categorical", "Enum")
    return "text" if str(dtype).startswith(text) else "other"


def through_arrow(table: Any, start: int = 0, stop: int = 0, without: str | None = None) -> Any:
    """Return some rows, without one column, which is not converted: its cells may be anything."""
    import pyarrow as pa

    if hasattr(table, "iloc"):
        part = table.iloc[start:stop]
        part = part if without is None else part.drop(columns=without)
        # By default, pandas hands its index over as one more column.
        return pa.Table.from_pandas(part, preserve_index=False)
    part = pa.table(table.slice(start, stop - start))
    return part if without is None else part.drop_columns([without])


def _named(names: Iterable[Any], kinds: list[Kind]) -> Schema:
    labels = tuple(names)
    schema = Schema(tuple(map(str, labels)), tuple(kinds))
    return schema if all(isinstance(name, str) for name in labels) else replace(schema, names=None)
