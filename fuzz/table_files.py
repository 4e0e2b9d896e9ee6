"""Bytes as Parquet or Arrow files: refused as that, or summed within bounds, the same each time."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from fuzz.neighbours import DECLARED, PERSON, results, written
from privclust.queries.unit import ROW, Unit

ALLOWED = DECLARED
ENDINGS = (".parquet", ".arrow")
COLUMNS = ("age", "weight")


def tables() -> list[pa.Table]:
    """Return small tables of many types."""
    ages = [0.25, None, float("nan"), float("-inf"), 0.75]
    weights: list[Any] = [
        pa.array([1, 2, None, -4, 5], pa.int16()),
        pa.array([Decimal("0.10"), None, Decimal("-7.25"), Decimal(0), Decimal(1)]),
        pa.array([True, False, None, True, True]),
        pa.array(["1", "two", None, "-inf", "0.5"]).dictionary_encode(),
        pa.nulls(5),
    ]
    people: list[Any] = [
        pa.array(["ann", "bob", None, "ann", ""]),
        pa.array([7, 7, None, 1, -1]),
        pa.array([b"\xff", b"", None, b"\xff", b"x"]),
        pa.array(["ann", "bob", None, "ann", ""]).dictionary_encode(),
        pa.array(["ann", "bob", None, "ann", ""], pa.large_string()),
    ]
    return [
        pa.table({"age": ages, "weight": weight, PERSON: who})
        for weight, who in zip(weights, people, strict=True)
    ]


def seeds() -> list[bytes]:
    """Return the tables as files; the last byte says which ending to give them."""
    found = []
    for number, table in enumerate(tables()):
        with io.BytesIO() as plain, io.BytesIO() as compressed:
            pq.write_table(table, plain, compression=("none", "snappy", "zstd")[number % 3])
            pyarrow.feather.write_feather(
                table, compressed, compression=("uncompressed", "lz4", "zstd")[number % 3]
            )
            found += [plain.getvalue() + b"\x00", compressed.getvalue() + b"\x01"]
    return found


def attempt(data: bytes, folder: Path) -> None:
    """Read one file, by rows and by people, twice."""
    place = written(folder, f"table{ENDINGS[data[-1] % 2] if data else ENDINGS[0]}", data[:-1])
    for unit in (ROW, Unit(PERSON, 3)):
        try:
            found = results(place, COLUMNS, unit)
            again = results(place, COLUMNS, unit)
        except ALLOWED:
            continue
        assert found == again
