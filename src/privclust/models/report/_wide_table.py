"""Tables that no paper and no window cuts: split, and with clusters beside or below each other."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from privclust.models._cluster_table import ColumnHeader

LINE, GAP, NAME, LEAD = 100, 2, 14, 30
"""Characters of a line that a table may take, those between its cells, and those after which a part
of a name and a lead cell are broken; paper and windows have space for so many."""
BOLD = 1.15
"""How much wider names are than cells of as many characters."""
_PIECES = re.compile(rf"[^=_/. -]{{1,{NAME - 1}}}[=_/. -]?|[=_/. -]")
Row = tuple[list[str], list[str]]
"""Lead cells, which stand in every part of a table, and cells."""


@dataclass(frozen=True)
class WideTable:
    """A table whose columns may be split among several parts.

    Attributes
    ----------
    lead : list of str
        Names of the columns that stand in every part.
    names : list of str
        Those of the others.
    rows : list of Row
    """

    lead: list[str]
    names: list[str]
    rows: list[Row]

    @property
    def parts(self) -> list[slice]:
        """Which columns stand beside each other."""
        return parts_of(self.names, self.rows)


def pieces_of(name: str) -> list[str]:
    """Return the pieces of a name between which a line may end.

    Examples
    --------
    >>> pieces_of("ward=maternity"), pieces_of("x" * 20)
    (['ward=', 'maternity'], ['xxxxxxxxxxxxx', 'xxxxxxx'])
    """
    return _PIECES.findall(name)


def name_width(name: str) -> int:
    """Return how many characters of a cell a column's name, or the mark below it, is as wide as."""
    mark = name.mark if isinstance(name, ColumnHeader) else ""
    return math.ceil(BOLD * max(map(len, [*pieces_of(name), *mark.split()]), default=0))


def table_of_clusters(names: Sequence[str], clusters: Sequence[tuple[str, list[str]]]) -> WideTable:
    """Return the table of sizes and centres: with clusters beside each other if parts are fewer.

    Examples
    --------
    >>> found = table_of_clusters(["age", "pay"], [("52 ± 1", ["40", "9"])])
    >>> found.lead, found.rows
    (['cluster', 'size'], [(['0', '52 ± 1'], ['40', '9'])])
    >>> table_of_clusters([f"pay {year}" for year in range(40)], [("52 ± 1", ["40"] * 40)]).names
    ['cluster 0']
    """
    below = WideTable(
        ["cluster", "size"],
        list(names),
        [([str(number), size], cells) for number, (size, cells) in enumerate(clusters)],
    )
    columns = zip(names, zip(*(cells for _, cells in clusters), strict=True), strict=True)
    beside = WideTable(
        ["column"],
        [f"cluster {number}" for number in range(len(clusters))],
        [
            (["size"], [size for size, _ in clusters]),
            *(([name], list(cells)) for name, cells in columns),
        ],
    )
    return min(below, beside, key=lambda table: len(table.parts))


def parts_of(names: Sequence[str], rows: Sequence[Row]) -> list[slice]:
    """Return which columns of a table stand beside each other: as many as fit, and evenly.

    Examples
    --------
    >>> parts_of(["age", "pay"], [(["1"], ["52 ± 1", "21,300 ± 250"])])
    [slice(0, 2, None)]
    >>> wide = ["21,300.25 ± 250.50"] * 6
    >>> parts_of([f"pay {year}" for year in range(6)], [(["1"], wide)])
    [slice(0, 3, None), slice(3, 6, None)]
    """
    leads = zip(*(lead for lead, _ in rows), strict=True)
    left = LINE - sum(GAP + min(max(map(_width, cells)), LEAD) for cells in leads)
    widths = [
        GAP + max([name_width(name), *(len(cells[place]) for _, cells in rows)])
        for place, name in enumerate(names)
    ]
    for n_parts in range(1, len(names) + 1):
        edges = [round(len(names) * part / n_parts) for part in range(n_parts + 1)]
        parts = [slice(*edge) for edge in pairwise(edges)]
        if all(sum(widths[part]) <= left for part in parts):
            return parts
    return [slice(place, place + 1) for place in range(len(names))]


def _width(name: str) -> int:
    """Return how many characters the longer line of a header has."""
    return max(len(name), len(name.mark)) if isinstance(name, ColumnHeader) else len(name)
