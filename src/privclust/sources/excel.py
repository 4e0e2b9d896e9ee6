"""Excel files, read as a stream of rows: each cell as the text that a CSV file would have."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from privclust.errors import UnreadableFileError, needs_extra, safe_repr

BATCH_ROWS = 2**13
_FAULTS = frozenset(
    ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA")
)
"""What formulas give that fail."""


def names_in(file: Path, sheet: str | None) -> tuple[str, ...]:
    """Return the names in the first row of a sheet; nothing else is read."""
    try:
        # A sheet whose first row is empty begins with values, of which openpyxl would warn.
        with warnings.catch_warnings(action="ignore"), _opened(file, sheet) as found:
            number, row = next(_numbered_rows(found), ("1", {}))
            filled = row if number == "1" else {}
            cells = [
                _text(filled.get(place)) or b"" for place in range(max(filled, default=-1) + 1)
            ]
    except (ImportError, OSError, UnreadableFileError):
        raise
    except Exception:
        cells = []
    names = [cell.decode() for cell in cells]
    while names and not names[-1]:
        names.pop()
    if names:
        return tuple(names)
    raise UnreadableFileError(
        f"the file {file.name!r} cannot be read as Excel's, or its sheet does not begin with a row "
        "of column names. Check that it is complete, or save it anew as .xlsx or .csv."
    )


def read_rows(
    file: Path, sheet: str | None, names: Sequence[str], columns: Sequence[str]
) -> Iterator[Any]:
    """Give columns of all rows as Arrow batches of texts; a row without any cell is none."""
    import pyarrow as pa

    places = [names.index(name) for name in columns]
    with _opened(file, sheet) as found:
        rows = (row for _, row in islice(_numbered_rows(found), 1, None))
        filled = (row for row in rows if any(cell is not None for cell in row.values()))
        while part := list(islice(filled, BATCH_ROWS)):
            arrays = [pa.array([_text(row.get(p)) for row in part], pa.binary()) for p in places]
            yield pa.record_batch(arrays, names=list(columns))


def _numbered_rows(sheet: Any) -> Iterator[tuple[str, dict[int, Any]]]:
    """Give the number that each row claims to have, and its cells by their place.

    openpyxl's own rows leave out those that another one's number passes over, so that one row
    could remove others. Here each is a row, and a cell that cannot be read is missing.
    """
    from openpyxl.worksheet._reader import WorkSheetParser

    class Parser(WorkSheetParser):  # type: ignore[misc]
        def parse_row(self, row: Any) -> tuple[str, dict[int, Any]]:
            self.col_counter = 0
            cells = [self.parse_cell(cell) for cell in row]
            return row.get("r", "1"), {cell["column"] - 1: cell["value"] for cell in cells if cell}

        def parse_cell(self, element: Any) -> dict[str, Any] | None:
            try:
                cell: dict[str, Any] = super().parse_cell(element)
            except Exception:
                return None
            return cell

    book = sheet.parent
    formats = {"date_formats": book._date_formats, "timedelta_formats": book._timedelta_formats}
    with sheet._get_source() as source:
        strings = sheet._shared_strings
        yield from Parser(source, strings, data_only=True, epoch=book.epoch, **formats).parse()


@contextmanager
def _opened(file: Path, sheet: str | None) -> Iterator[Any]:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise ImportError(f"{needs_extra('excel')}.") from None
    # Of a formula, the value that Excel last computed.
    book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
    try:
        known = {one.title: one for one in book.worksheets}
        if not known or sheet not in (None, *known):
            raise UnreadableFileError(
                f"the file {file.name!r} has no sheet {safe_repr(sheet)}. It has "
                f"{', '.join(map(safe_repr, known)) or 'none'}."
            )
        found = next(iter(known.values())) if sheet is None else known[sheet]
        yield found
    finally:
        book.close()


def _text(cell: object) -> bytes | None:
    """Return a cell as a text, by a rule that looks at the cell alone."""
    if cell is None or cell in _FAULTS:
        return None
    if isinstance(cell, bool):
        return str(cell).lower().encode()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell)).encode()
    if isinstance(cell, date | datetime):
        return cell.isoformat().encode()
    return str(cell).encode("utf-8", "surrogatepass")
