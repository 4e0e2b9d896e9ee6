"""How files of texts are written: what separates cells, and what marks decimals.

Neither is guessed from values, which are private: the line of names, which is public, shows what
separates its cells, and the user says what else there is to know.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

from privclust.errors import Message, Parameter, ParameterError, UnreadableFileError, safe_repr

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
DECIMALS = {".": "points", ",": "commas"}
_QUOTED = re.compile(r'"(?:[^"]|"")*"')

Paths: TypeAlias = str | os.PathLike[str] | list[str | os.PathLike[str]]


class MarksClashError(ParameterError):
    """Commas are to mark decimals where they separate cells."""

    def __init__(self, cells: str) -> None:
        super().__init__(
            f"{cells} are separated by commas, so that a comma cannot mark decimals. Leave the "
            "decimal mark out, or write the table with semicolons."
        )
        self.cells = cells

    def __reduce__(self) -> tuple[type[MarksClashError], tuple[str]]:
        return type(self), (self.cells,)


@dataclass(frozen=True)
class Files:
    """Files of a table, and how they are written; estimators take them as they take paths.

    Parameters
    ----------
    paths : path or list of paths
        Parquet, CSV, Excel or Arrow files, folders, patterns, or addresses in stores.
    delimiter : {",", ";", tab, "|"}, optional
        What separates the cells of CSV files; by default what their line of names shows.
    decimal : {".", ","}, default="."
        What marks the decimals of numbers in CSV files. Marks of thousands are not read: a number
        that has them is missing.
    sheet : str, optional
        Which sheet of Excel files; by default their first.

    Examples
    --------
    >>> Files("visits.csv", decimal=",").decimal
    ','
    """

    paths: Paths
    delimiter: str | None = None
    decimal: str = "."
    sheet: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter not in DELIMITERS:
            raise ParameterError(
                f"delimiter must be one of {', '.join(map(repr, DELIMITERS))}, got "
                f"{safe_repr(self.delimiter)}."
            )
        if self.decimal not in DECIMALS:
            raise ParameterError(_no_mark(self.decimal))
        if self.delimiter == self.decimal:
            raise MarksClashError("cells")

    def delimiter_of(self, names: str, file: str) -> str:
        """Return what separates the cells of a CSV file: what was typed, or what its names show.

        `names` is the line of names of the file that is called `file`.

        Examples
        --------
        >>> Files("visits.csv").delimiter_of("age;height, in cm;weight", "visits.csv")
        ';'
        """
        found = self.delimiter or _most_frequent(names, file)
        if found == self.decimal:
            raise MarksClashError(f"the cells of {file!r}")
        return found


def _most_frequent(names: str, file: str) -> str:
    """Return what separates most names; a comma where there is but one name."""
    counts = Counter(mark for mark in _QUOTED.sub("", names) if mark in DELIMITERS)
    (first, most), (second, next_most) = (*counts.most_common(2), (",", 0), (",", 0))[:2]
    if most and most == next_most:
        raise UnreadableFileError(
            f"the names in the first line of {file!r} may be separated by {DELIMITERS[first]} or "
            f"by {DELIMITERS[second]}. Say which: --delimiter '{first}', or in Python "
            f"privclust.Files(path, delimiter={first!r})."
        )
    return first


def _no_mark(typed: object) -> Message:
    """Say what may mark decimals, and how to say what separates cells if that was meant."""
    parts: list[str | Parameter] = [
        *(Parameter("decimal", typed, f"decimal={safe_repr(typed)}"), " marks no decimals: "),
        *("it must be one of ", ", ".join(map(repr, DECIMALS)), "."),
    ]
    if typed in DELIMITERS:
        delimiter = Parameter("delimiter", typed, f"delimiter={typed!r}")
        parts += [" What separates cells is said by ", delimiter, "."]
    return Message(*parts)
