"""Tables that commands write: Parquet, CSV or Excel, by the ending of the file's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from privclust.cli.messages import needing
from privclust.errors import ParameterError
from privclust.sources.dialects import Files

Write = Callable[[pa.Table], None]
"""Adds rows to a table that is being written."""

ROWS_MAX = 2**20
"""What a sheet of Excel has."""
EXCEL_DIGITS = 15
"""Excel forgets others: longer ids stay texts."""
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:e[+-][0-9]+)?)")


@contextmanager
def _csv(file: Path, schema: pa.Schema, style: Files, numbers: Sequence[str]) -> Iterator[Write]:
    texts = _with_commas(schema.empty_table()).schema if style.decimal == "," else schema
    options = arrow_csv.WriteOptions(delimiter=style.delimiter or default_delimiter(style.decimal))
    # Arrow's writer leaves a file open that it opened itself, and Windows moves no open file.
    with (
        file.open("wb") as stream,
        arrow_csv.CSVWriter(stream, texts, write_options=options) as writer,
    ):

        def write(table: pa.Table) -> None:
            writer.write_table(_with_commas(table) if style.decimal == "," else table)

        yield write


def default_delimiter(decimal: str) -> str:
    """Return what separates cells of a CSV file in which decimals are marked so."""
    return ";" if decimal == "," else ","


def _with_commas(table: pa.Table) -> pa.Table:
    """Return a table whose decimals are texts with commas."""
    columns = {
        name: pc.replace_substring(column.cast(pa.string()), ".", ",")
        if pa.types.is_floating(column.type)
        else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    return pa.table(columns)


@contextmanager
def _parquet(
    file: Path, schema: pa.Schema, style: Files, numbers: Sequence[str]
) -> Iterator[Write]:
    with pq.ParquetWriter(file, schema) as writer:
        yield writer.write_table


@contextmanager
def _excel(file: Path, schema: pa.Schema, style: Files, numbers: Sequence[str]) -> Iterator[Write]:
    with needing("excel"):
        from openpyxl import Workbook
    book = Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(schema.names)
    written = 1
    reads_numbers = [name in numbers for name in schema.names]

    def write(table: pa.Table) -> None:
        nonlocal written
        written += table.num_rows
        if written > ROWS_MAX:
            raise ParameterError(
                f"a sheet of Excel has {ROWS_MAX:,} rows, fewer than this table. Name a file that "
                "ends in .csv or .parquet."
            )
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            cells = zip(row, reads_numbers, strict=True)
            sheet.append(
                [
                    _plain(sheet, _number(cell, style.decimal) if reads else cell)
                    for cell, reads in cells
                ]
            )

    yield write
    with file.open("wb") as stream:
        book.save(stream)
    book.close()


def _number(value: object, decimal: str) -> object:
    """Return the number that a text is written as, if it would be written the same again.

    Examples
    --------
    >>> [_number(text, ",") for text in ("17", "-2,5", "007", "2.5", "north")]
    [17, -2.5, '007', '2.5', 'north']
    """
    if not isinstance(value, str):
        return value
    text = value if decimal == "." else value.translate({ord(","): ".", ord("."): ","})
    found = _PLAIN_NUMBER.fullmatch(text)
    if found is None or (not found[1] and len(value.lstrip("-")) > EXCEL_DIGITS):
        return value
    return float(found[0]) if found[1] else int(found[0])


def _plain(sheet: Any, value: object) -> object:
    """Return a cell that Excel takes for a text where it is one, and not for a formula."""
    if not isinstance(value, str):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell


_WRITERS = {".parquet": _parquet, ".csv": _csv, ".xlsx": _excel}
ENDINGS = tuple(_WRITERS)


@contextmanager
def writing_table(
    file: Path,
    named: Path,
    schema: pa.Schema,
    style: Files | None = None,
    numbers: Sequence[str] = (),
) -> Iterator[Write]:
    """Write a table part by part to `file`, as what the ending of `named` says.

    A name with another ending is that of a pipe or a device, which gets Parquet. `style` says what
    separates cells and marks decimals in CSV files; by default commas and points. In Excel, texts
    of the columns `numbers` become numbers where they are written as such.
    """
    writer = _WRITERS.get(named.suffix, _parquet)
    with writer(file, schema, style or Files(str(named)), numbers) as write:
        yield write
