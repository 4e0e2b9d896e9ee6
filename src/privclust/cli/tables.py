"""Tables at a terminal: what does not fit side by side is printed below it, or counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from privclust.cli.messages import clean

_BORDER = 3
"""What a column takes beside its cells: a line, and a space on each side."""


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], whole: str = "") -> None:
    """Print a table; what is in brackets stays in brackets, and the `whole` column is never cut."""
    table = Table()
    for name in header:
        table.add_column(clean(name), no_wrap=name == whole, overflow="fold")
    for row in rows:
        table.add_row(*map(clean, row))
    Console(markup=False, emoji=False).print(table)


def print_in_parts(
    header: Sequence[str], rows: Sequence[Sequence[str]], most: int | None = None
) -> int:
    """Print a table as several below each other, as wide as the terminal, each with the names.

    The first column has the names of the rows. At `most` so many parts are printed; returns how
    many columns are not.
    """
    end = len(header)
    for begin, end in islice(_parts(header, rows), most):
        print_table([header[0], *header[begin:end]], [[row[0], *row[begin:end]] for row in rows])
    return len(header) - end


def _parts(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Give begin and end of the columns that fit beside the first one, which all parts have."""
    columns = zip(header, *rows, strict=True)
    first, *others = (max(cell_len(cell) for cell in column) + _BORDER for column in columns)
    space = Console().width - first - 1
    begin = taken = 0
    for place, width in enumerate(others):
        if place > begin and taken + width > space:
            yield begin + 1, place + 1
            begin, taken = place, 0
        taken += width
    yield begin + 1, len(header)
