"""Arrow batches of any types: all are summed, however they are cut, and neighbours are close."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import atheris
import pyarrow as pa

from fuzz.neighbours import PERSON, close, results
from fuzz.values import noise_seeds
from privclust.queries.unit import ROW, Unit
from privclust.sources.cells import ids

COLUMNS = ("age", "weight")
PEOPLE = Unit(PERSON, 2)
Data: TypeAlias = atheris.FuzzedDataProvider

TEXTS = ("", "0.5", "+1", "-inf", "nan", "1e400", "ann", " 7 ", "\x00", "٣")
INTEGERS = (0, 1, -1, 127, -128)
FLOATS = (0.0, -0.0, 0.5, 1e-310, 1e308, float("nan"), float("inf"), float("-inf"))
MAKERS: tuple[tuple[pa.DataType, Callable[[Data], Any]], ...] = (
    (pa.float64(), lambda data: data.PickValueInList([*FLOATS, data.ConsumeFloat()])),
    (pa.float32(), lambda data: data.PickValueInList([*FLOATS])),
    (pa.float16(), lambda data: data.PickValueInList([0.0, 0.5, float("nan"), float("inf")])),
    (pa.int8(), lambda data: data.PickValueInList([*INTEGERS])),
    (pa.int64(), lambda data: data.ConsumeIntInRange(-(2**63), 2**63 - 1)),
    (pa.uint64(), lambda data: data.ConsumeIntInRange(0, 2**64 - 1)),
    (pa.bool_(), lambda data: data.ConsumeBool()),
    (pa.decimal128(38, 3), lambda data: Decimal(data.ConsumeInt(8)) / 1000),
    (pa.decimal256(76, 0), lambda data: Decimal(data.ConsumeInt(16))),
    (pa.null(), lambda data: None),
)
WRITTEN: tuple[tuple[pa.DataType, Callable[[Data], Any]], ...] = (
    (pa.string(), lambda data: data.PickValueInList([*TEXTS])),
    (pa.large_string(), lambda data: data.PickValueInList([*TEXTS])),
    (pa.string_view(), lambda data: data.PickValueInList([*TEXTS])),
    (pa.binary(), lambda data: data.ConsumeBytes(6)),
    (pa.binary_view(), lambda data: data.ConsumeBytes(20)),
    (pa.binary(3), lambda data: data.ConsumeBytes(3).ljust(3)),
    (pa.int64(), lambda data: data.PickValueInList([*INTEGERS, 2**63 - 1])),
    (pa.dictionary(pa.int8(), pa.string()), lambda data: data.PickValueInList([*TEXTS])),
    (pa.dictionary(pa.int32(), pa.int64()), lambda data: data.PickValueInList([*INTEGERS])),
)


def seeds() -> list[bytes]:
    """Return inputs to begin with."""
    return noise_seeds(60)


def attempt(data: bytes, folder: Path) -> None:
    """Make up a table and compare it with itself cut differently, and with its neighbours."""
    source = Data(data)
    n_rows = source.ConsumeIntInRange(0, 12)
    columns = [column(MAKERS, n_rows, source) for _ in COLUMNS]
    who = column(WRITTEN, n_rows, source)
    table = pa.table([*columns, who], names=[*COLUMNS, PERSON])
    cut = source.ConsumeIntInRange(1, 5)
    people = ids(who).to_pylist()
    for unit in (ROW, PEOPLE):
        found = results(lambda: table, COLUMNS, unit)
        chunks = pa.Table.from_batches(table.to_batches(max_chunksize=cut), table.schema)
        assert results(lambda chunks=chunks: chunks, COLUMNS, unit) == found
        if n_rows:
            gone = source.ConsumeIntInRange(0, n_rows - 1)
            kept = [
                place
                for place in range(n_rows)
                if (place != gone if unit == ROW else people[place] != people[gone])
            ]
            neighbour = pa.concat_tables([table.slice(place, 1) for place in kept] or [table[:0]])
            other = results(lambda neighbour=neighbour: neighbour, COLUMNS, unit)
            assert close(found, other, unit, len(COLUMNS))
            assert found[0] != other[0]


def column(
    makers: tuple[tuple[pa.DataType, Callable[[Data], Any]], ...], n_rows: int, data: Data
) -> Any:
    """Return a column of some type, with gaps."""
    kind, make = makers[data.ConsumeIntInRange(0, len(makers) - 1)]
    cells = [make(data) if data.ConsumeIntInRange(0, 7) else None for _ in range(n_rows)]
    if pa.types.is_dictionary(kind):
        return pa.array(cells, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(cells, kind)
