"""A cell says what its declared type and its own bytes say, whatever lies beside it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privclust.sources.cells import IDS, NUMBERS, Kind, by_unit, ids, kind_of, numbers
from privclust.sources.dates import days

cheap = settings(deadline=None, derandomize=True, database=None, max_examples=150)
NUMBER = re.compile(
    rb"[ \t]*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity)[ \t]*", re.IGNORECASE
)
MISSING = [
    *(b"", b" ", b"seven", b"nan", b"NaN", b"NULL", b"-", b"+", b".", b"e5", b"1e", b"1e5.5"),
    *(b"++1", b"+-1", b"- 1", b"1 2", b"1,5", b"1_000", b"0x10", b"1f", b"true", b"1%", b"1\n"),
    *(b"1\x00", b"\x00", b"\xff\xfe", b"1\xa0", b"infinit", b"\xef\xbc\x91", b"12.5.2024"),
]
READ = {
    b"7": 7.0,
    b" 7.5\t": 7.5,
    b"+5": 5.0,
    b"-.5e3": -500.0,
    b"5.": 5.0,
    b"0007": 7.0,
    b"1E+2": 100.0,
    b"18446744073709551615": 2.0**64,
    b"1e400": math.inf,
    b"-1e999999999999": -math.inf,
    b"9" * 400: math.inf,
    b"1e-400": 0.0,
    b"iNf": math.inf,
    b"-Infinity": -math.inf,
    b"+inf": math.inf,
}


def texts(cells: list[bytes | None]) -> Any:
    return pa.array(cells, pa.binary())


# Numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cell", MISSING)
def test_a_text_that_is_no_number_is_a_missing_number_and_no_error(cell: bytes) -> None:
    found = numbers(texts([b"1", cell, b"2"]))
    np.testing.assert_array_equal(found, [1.0, np.nan, 2.0])


@pytest.mark.parametrize("cell", READ)
def test_numbers_are_read_as_far_as_they_go(cell: bytes) -> None:
    assert numbers(texts([cell])).tolist() == [READ[cell]]


@cheap
@given(st.lists(st.one_of(st.none(), st.binary(max_size=6), st.from_regex(NUMBER, fullmatch=True))))
def test_a_text_is_read_as_python_reads_it_if_it_is_a_number(cells: list[bytes | None]) -> None:
    expected = [
        float(cell) if cell is not None and NUMBER.fullmatch(cell) else math.nan for cell in cells
    ]
    np.testing.assert_array_equal(numbers(texts(cells)), expected)


@pytest.mark.attack
@cheap
@given(st.lists(st.binary(max_size=4)), st.lists(st.binary(max_size=4)))
def test_a_cell_is_read_alike_alone_and_among_others(one: list[bytes], other: list[bytes]) -> None:
    together = numbers(texts([*one, *other]))
    np.testing.assert_array_equal(together[: len(one)], numbers(texts([*one])))
    np.testing.assert_array_equal(together[len(one) :], numbers(texts([*other])))


FORMS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.binary(),
    pa.large_binary(),
    pa.binary_view(),
    pa.binary(1),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_texts_of_any_form_are_read_alike(form: Any) -> None:
    column = pa.array([b"7", b"x", None, b"8"], pa.binary()).cast(form)
    np.testing.assert_array_equal(numbers(column), [7.0, np.nan, np.nan, 8.0])
    assert ids(column).to_pylist() == [b"7", b"x", None, b"8"]
    assert ids(column).type == pa.large_binary()
    assert numbers(column.slice(0, 0)).tolist() == ids(column.slice(0, 0)).to_pylist() == []


@pytest.mark.parametrize("form", [*FORMS[:6], pa.int64()], ids=str)
def test_a_dictionary_is_read_as_what_it_stands_for(form: Any) -> None:
    values = pa.array([b"7", b"8"], pa.binary()).cast(pa.string()).cast(form)
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1], pa.int8()), values)
    np.testing.assert_array_equal(numbers(column), [8.0, np.nan, 7.0, 8.0])
    assert ids(column).to_pylist() == [b"8", None, b"7", b"8"]


@pytest.mark.attack
@pytest.mark.parametrize("read", [numbers, ids, days], ids=["numbers", "ids", "days"])
@pytest.mark.parametrize("n_values", [127, 128, 200])
def test_a_value_more_in_a_dictionary_in_pieces_is_read_like_the_others(
    read: Callable[[Any], Any], n_values: int
) -> None:
    """Brought together first, dictionaries had more values than their indices could count."""
    texts = pa.array([f"2020-01-{place:03}" for place in range(n_values)])
    pieces = [texts.slice(0, 100).dictionary_encode(), texts.slice(100).dictionary_encode()]
    small = pa.dictionary(pa.int8(), pa.string())
    column = pa.chunked_array([piece.cast(small) for piece in pieces])
    found = read(column)
    np.testing.assert_array_equal(found, read(texts))
    assert len(read(column.slice(0, 0))) == len(read(pa.chunked_array([], small))) == 0


@pytest.mark.parametrize(
    ("values", "declared", "expected"),
    [
        ([2**53 + 1, None], pa.int64(), [2.0**53, math.nan]),
        ([2**64 - 1, 0], pa.uint64(), [2.0**64, 0.0]),
        ([-128, 127], pa.int8(), [-128.0, 127.0]),
        ([True, None, False], pa.bool_(), [1.0, math.nan, 0.0]),
        ([Decimal("1.25"), None], pa.decimal32(5, 2), [1.25, math.nan]),
        ([Decimal("1.25"), None], pa.decimal128(38, 2), [1.25, math.nan]),
        ([Decimal(10) ** 70, None], pa.decimal256(76, 2), [1e70, math.nan]),
        ([0.1, math.inf, math.nan, None], pa.float64(), [0.1, math.inf, math.nan, math.nan]),
        (np.array([1.5, np.nan], np.float16), pa.float16(), [1.5, math.nan]),
        ([None, None], pa.null(), [math.nan, math.nan]),
    ],
)
def test_typed_numbers_are_read_without_complaint(
    values: Any, declared: Any, expected: list[float]
) -> None:
    assert kind_of(declared) in NUMBERS
    np.testing.assert_allclose(numbers(pa.array(values, declared)), expected, rtol=1e-15)
    chunked = pa.chunked_array([pa.array(values[:1], declared), pa.array(values[1:], declared)])
    np.testing.assert_allclose(numbers(chunked), expected, rtol=1e-15)


# Kinds -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "declared",
    [
        pa.time64("us"),
        pa.duration("s"),
        pa.list_(pa.float64()),
        pa.list_(pa.string(), 3),
        pa.list_(pa.list_(pa.float64(), 3), 3),
        pa.struct([("a", pa.float64())]),
        pa.dictionary(pa.int8(), pa.float64()),
        pa.dictionary(pa.int8(), pa.date32()),
    ],
    ids=str,
)
def test_other_types_are_neither_numbers_nor_ids(declared: Any) -> None:
    assert kind_of(declared) == "other"
    assert "other" not in (*NUMBERS, *IDS)


@pytest.mark.parametrize(
    ("declared", "kind"),
    [
        (pa.date32(), "date"),
        (pa.timestamp("us"), "date"),
        (pa.list_(pa.float16(), 3), "vector"),
        (pa.list_(pa.int8(), 3), "vector"),
    ],
    ids=str,
)
def test_days_and_vectors_are_neither_numbers_nor_ids(declared: Any, kind: Kind) -> None:
    assert kind_of(declared) == kind
    assert kind not in (*NUMBERS, *IDS)


def test_fractions_are_no_ids_and_texts_no_numbers() -> None:
    for declared in (pa.float64(), pa.bool_(), pa.decimal128(5), pa.null()):
        assert kind_of(declared) not in IDS
    for declared in FORMS:
        assert kind_of(declared) not in NUMBERS
        assert kind_of(declared) in IDS


# Ids ---------------------------------------------------------------------------------------------


@cheap
@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))))
def test_integers_as_ids_have_the_bytes_of_their_decimals(values: list[int | None]) -> None:
    expected = [None if value is None else str(value).encode() for value in values]
    assert ids(pa.array(values, pa.int64())).to_pylist() == expected


@pytest.mark.attack
def test_ids_of_unsigned_numbers_stay_apart_from_negative_ones() -> None:
    """Files may declare either: two people must not become one, who would count double."""
    signed = pa.array([-1, -(2**63), 5], pa.int64())
    unsigned = pa.array([2**64 - 1, 2**63, 6], pa.uint64())
    together = [*ids(signed).to_pylist(), *ids(unsigned).to_pylist()]
    assert len(set(together)) == 6


small_ids = st.lists(st.one_of(st.none(), st.sampled_from([b"", b"a", b"b", b"\x00", b"ab"])))


@cheap
@given(small_ids)
def test_rows_of_an_id_are_brought_together_and_none_is_lost(found: list[bytes | None]) -> None:
    order, starts, distinct = by_unit(pa.array(found, pa.large_binary()))
    assert sorted(order.tolist()) == list(range(len(found)))
    names = distinct.to_pylist()
    assert len(set(names)) == len(names) == len(starts)
    ends = [*starts.tolist(), len(found)][1:]
    for name, begin, end in zip(names, starts.tolist(), ends, strict=True):
        assert [found[row] for row in order[begin:end]] == [name] * found.count(name)
