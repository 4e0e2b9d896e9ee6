"""What a cell says: a number or an id, by a public rule that reads the cell alone.

Types are declared, never guessed from values. A text that is not a number is a missing number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privclust.domains._category_column import OTHER
from privclust.kernels.grid import FloatArray, IntArray

Kind = Literal["integer", "number", "text", "date", "vector", "cell", "other", "unknown"]
"""What a column's type allows: ids and numbers ("integer", and "cell", a text to be read as what is
declared), numbers only, ids only, days, vectors of one length, or nothing. Types of columns that
only clients of a federation see may be unknown."""

NUMBERS: tuple[Kind, ...] = ("integer", "number", "cell")
IDS: tuple[Kind, ...] = ("integer", "text", "cell")
LEVELS: tuple[Kind, ...] = (*IDS, "number")
DATES: tuple[Kind, ...] = ("date", "text", "cell")

_NUMBER = (
    r"^[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)$"
)

_NUMBER_WITH_COMMA = _NUMBER.replace(r"\.", ",")
_AS_BYTES = {
    **{kind: pa.binary() for kind in (pa.string(), pa.binary())},
    **{kind: pa.large_binary() for kind in (pa.large_string(), pa.large_binary())},
    **{kind: pa.binary_view() for kind in (pa.string_view(), pa.binary_view())},
}


class CommaText(pa.ExtensionType):  # type: ignore[misc]
    """Texts of a file in which a comma marks the decimals of numbers.

    Examples
    --------
    >>> texts = pa.array([b"1,5", b"1.5", b"north"])
    >>> numbers(pa.ExtensionArray.from_storage(CommaText(), texts)).tolist()
    [1.5, nan, nan]
    """

    def __init__(self) -> None:
        super().__init__(pa.binary(), "privclust.comma_text")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> CommaText:
        return cls()


def kind_of(declared: pa.DataType) -> Kind:
    """Tell what a column of an Arrow type can be used for.

    Examples
    --------
    >>> kind_of(pa.int32()), kind_of(pa.float64()), kind_of(pa.string()), kind_of(pa.date32())
    ('integer', 'number', 'text', 'date')
    """
    types = pa.types
    if types.is_dictionary(declared):
        inner = kind_of(declared.value_type)
        return inner if inner in IDS else "other"
    if types.is_integer(declared):
        return "integer"
    if any(
        is_it(declared)
        for is_it in (types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    ):
        return "number"
    if any(
        is_it(declared)
        for is_it in (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
            types.is_binary_view,
            types.is_fixed_size_binary,
        )
    ):
        return "text"
    if types.is_date(declared) or types.is_timestamp(declared):
        return "date"
    if types.is_fixed_size_list(declared) and kind_of(declared.value_type) in NUMBERS:
        return "vector"
    return "other"


def intact(column: Any) -> Any:
    """Return a column of a file if its texts lie where it says, or fail; Arrow would read on.

    Examples
    --------
    >>> intact(pa.array(["ann", None])).to_pylist()
    ['ann', None]
    """
    if pa.types.is_dictionary(column.type):
        intact(column.dictionary)
        pa.DictionaryArray.from_arrays(column.indices, column.dictionary, safe=True)
    elif column.type in _AS_BYTES:
        # As bytes, because one cell that is not UTF-8 must not make a table unreadable.
        column.view(_AS_BYTES[column.type]).validate(full=True)
    return column


def numbers(column: Any) -> FloatArray:
    """Return a column as float64, NaN where a number is missing.

    Examples
    --------
    >>> numbers(pa.array([b"1e3", b" +7.5", b"seven", b"", None], pa.binary())).tolist()
    [1000.0, 7.5, nan, nan, nan]
    """
    has_commas = isinstance(column.type, CommaText)
    column = plain(column)
    if kind_of(column.type) == "text":
        column = _parsed(column, has_commas)
    found: FloatArray = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def ids(column: Any) -> Any:
    """Return a column of ids as bytes, integers in decimal.

    Examples
    --------
    >>> ids(pa.array(["ann", None])).to_pylist(), ids(pa.array([7])).to_pylist()
    ([b'ann', None], [b'7'])
    """
    if isinstance(column, pa.ChunkedArray):
        parts = [pa.array([], pa.large_binary()), *map(ids, column.chunks)]
        return pa.concat_arrays(parts)
    column = plain(column)
    if pa.types.is_floating(column.type):
        column = _whole_numbers(column)
    if kind_of(column.type) != "text":
        column = column.cast(pa.large_string())
    return column.cast(pa.large_binary())


def codes(found: Any, levels: Sequence[str]) -> IntArray:
    """Return which level each id is: its place, that of "other" if it is none, or -1.

    Examples
    --------
    >>> codes(ids(pa.array(["B", None, "C"])), ["A", "B"]).tolist()
    [1, -1, -1]
    >>> codes(ids(pa.array(["B", None, "C"])), ["A", "other"]).tolist()
    [1, -1, 1]
    """
    known = pa.array([level.encode() for level in levels], pa.large_binary())
    places = pc.fill_null(pc.index_in(found, known), -1).to_numpy(zero_copy_only=False)
    rest = levels.index(OTHER) if OTHER in levels else -1
    missing = pc.is_null(found).to_numpy(zero_copy_only=False)
    return np.where((places < 0) & ~missing, rest, places).astype(np.int64)


def vectors(column: Any, width: int) -> FloatArray:
    """Return vectors of one length as rows, NaN where a number or a whole vector is missing.

    In a column of another kind all are: so are those read that a file lacks.

    Examples
    --------
    >>> vectors(pa.array([[1, None], None], pa.list_(pa.float16(), 2)), 2).tolist()
    [[1.0, nan], [nan, nan]]
    >>> vectors(pa.nulls(1), 2).tolist()
    [[nan, nan]]
    """
    column = plain(column)
    if kind_of(column.type) != "vector":
        return np.full((len(column), width), np.nan)
    # What flatten() gives is without the vectors that are missing.
    every = column.values.slice(column.offset * width, len(column) * width)
    rows = numbers(every).reshape(len(column), width).copy()
    rows[column.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return rows


def by_unit(found: Any) -> tuple[IntArray, IntArray, Any]:
    """Return the order that brings units together, where each starts, and their ids.

    Missing ids form one unit.

    Examples
    --------
    >>> order, starts, distinct = by_unit(ids(pa.array([7, None, 7, 5, None])))
    >>> order.tolist(), starts.tolist(), distinct.to_pylist()
    ([0, 2, 1, 4, 3], [0, 2, 4], [b'7', None, b'5'])
    """
    encoded = found.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    counts = np.bincount(codes, minlength=len(encoded.dictionary))
    order = np.argsort(codes, kind="stable")
    return order, np.cumsum(counts) - counts, encoded.dictionary


def _whole_numbers(column: Any) -> Any:
    """Return floats as texts, integral ones as integers: so are ids written that had gaps."""
    values = column.cast(pa.float64())
    whole = pc.and_(pc.equal(pc.trunc(values), values), pc.less(pc.abs(values), 2.0**63))
    as_integers = pc.if_else(whole, values, None).cast(pa.int64(), safe=False)
    texts = pc.if_else(pc.is_nan(values), None, values).cast(pa.large_string())
    return pc.coalesce(as_integers.cast(pa.large_string()), texts)


def plain(column: Any) -> Any:
    """Return a column as one array of texts, numbers or dates, whatever form it has.

    Examples
    --------
    >>> plain(pa.chunked_array([pa.array(["a", "b"]).dictionary_encode()])).to_pylist()
    [b'a', b'b']
    """
    if isinstance(column, pa.ChunkedArray):
        # Each alone: together, dictionaries may have more values than their indices can count.
        parts = [plain(part) for part in column.chunks or [pa.array([], column.type)]]
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    if isinstance(column.type, CommaText):
        return column.storage
    if not pa.types.is_dictionary(column.type):
        return column
    values = column.dictionary
    # Some forms of text cannot be taken apart by Arrow.
    values = values.cast(pa.large_binary()) if kind_of(values.type) == "text" else values
    return values.take(column.indices)


def _parsed(column: Any, has_commas: bool) -> Any:
    texts = column.cast(pa.binary())
    trimmed = pc.replace_substring_regex(texts, r"^[ \t]+|[ \t]+$", "")
    is_number = pc.match_substring_regex(trimmed, _NUMBER_WITH_COMMA if has_commas else _NUMBER)
    # Arrow reads no sign of plus.
    unsigned = pc.replace_substring_regex(trimmed, r"^\+", "")
    if has_commas:
        unsigned = pc.replace_substring(unsigned, ",", ".")
    return pc.if_else(is_number, unsigned, None).cast(pa.string())
