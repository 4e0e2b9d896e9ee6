"""What is public about a table: names and types of its columns, and which of them are used."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from privclust.domains.base import Domain
from privclust.domains.reader import Use
from privclust.errors import ColumnError, ColumnTypeError, Message, Parameter, did_you_mean
from privclust.sources.cells import DATES, IDS, LEVELS, NUMBERS, Kind

_SURROGATE = re.compile("[\ud800-\udfff]")

_KINDS: dict[Use, tuple[Kind, ...]] = {
    "number": NUMBERS,
    "category": LEVELS,
    "date": DATES,
    "vector": ("vector",),
}
_KINDS_OF_OTHER_FILES: dict[Use, tuple[Kind, ...]] = {**_KINDS, "number": (*NUMBERS, "text")}
"""As in CSV files, a text in another file than the first may be a number."""
_CONTENT: dict[Use, str] = {
    "number": "numbers",
    "category": "texts, integers or truth values",
    "date": "dates",
    "vector": "vectors of one length",
}

_PAIR = (0, 120)
_DECLARATIONS: dict[Kind, object] = {
    "integer": _PAIR,
    "number": _PAIR,
    "text": {"type": "category", "levels": ["A", "B"]},
    "date": {"type": "date", "lower": "2020-01-01", "upper": "2029-12-31"},
}
"""How a column of each kind may be declared; of other kinds there is no way."""


_STORED_AS_TEXT = (
    " Numbers that are stored as text are converted with pandas.to_numeric(..., errors='coerce')."
)


class Variant(NamedTuple):
    """A column as another file than the first declares it.

    Attributes
    ----------
    name : str
        What it is called.
    kind : str
        What its type allows.
    length : int or None
        How long its vectors are.
    file : str
        The name of the file.
    """

    name: str
    kind: Kind
    length: int | None
    file: str


@dataclass(frozen=True)
class Schema:
    """Columns of a table.

    Attributes
    ----------
    names : tuple of str or None
        None if columns have none.
    kinds : tuple of str
        What each column's declared type allows.
    lengths : tuple of (str, int)
        Columns of vectors, and how long these are.
    variants : tuple of Variant
        Columns that other files declare otherwise, each way once.
    hint : str
        What a message about a column's type adds, for tables where there is more to say.
    """

    names: tuple[str, ...] | None
    kinds: tuple[Kind, ...]
    lengths: tuple[tuple[str, int], ...] = ()
    variants: tuple[Variant, ...] = ()
    hint: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.names is not None and len(set(self.names)) < len(self.names):
            raise ColumnError("columns must have names that differ. Rename those that share one.")
        surrogates = [name for name in self.names or () if _SURROGATE.search(name)]
        if surrogates:
            raise ColumnError(
                "columns whose names hold half a character, a lone surrogate: "
                f"{', '.join(map(ascii, surrogates))}. Names must be texts that UTF-8 can write. "
                "Rename them."
            )

    @property
    def n_columns(self) -> int:
        """How many there are."""
        return len(self.kinds)

    @property
    def looks_like_a_row(self) -> bool:
        """Whether the first line of a CSV file, which should hold names, holds a value.

        Examples
        --------
        >>> Schema(("40", "7.5"), ("cell", "cell")).looks_like_a_row
        True
        """
        return set(self.kinds) <= {"cell"} and any(map(_is_value, self.names or ()))

    def kind(self, name: str) -> Kind:
        """Return what a column's type allows."""
        return dict(self._columns())[name]

    def features(
        self,
        unit: str | None,
        only: Collection[str] | None = None,
        uses: Mapping[str, Use] | None = None,
    ) -> Schema:
        """Return the columns to cluster: all but that of ids, or those named in `only`.

        `uses` says which of them are declared as something else than numbers.

        Examples
        --------
        >>> Schema(("who", "age"), ("text", "integer")).features("who").names
        ('age',)
        """
        unknown = [name for name in only or () if name not in (self.names or ())]
        if unknown:
            raise ColumnError(
                f"the table does not have these columns: {', '.join(map(repr, unknown))}. "
                f"{self._known(unknown, len(only or ()))}"
            )
        if unit is not None:
            self.check_ids(unit)
        columns = [
            (name, kind)
            for name, kind in self._columns()
            if name != unit and (only is None or name in only)
        ]
        declared = uses or {}
        for use, kinds in _KINDS.items():
            refused = {
                name: kind
                for name, kind in columns
                if declared.get(name, "number") == use and kind not in kinds
            }
            if refused:
                advice = "" if self.names is None else _declaring(refused)
                texts = use == "number" and "text" in refused.values() and not self.hint
                raise ColumnTypeError(
                    f"columns that do not hold {_CONTENT[use]}: {', '.join(refused)}. Convert "
                    f"them,{advice} or leave them out.{self.hint}{_STORED_AS_TEXT if texts else ''}"
                )
        if not columns:
            raise ColumnError(
                "X has 0 feature(s) while a minimum of 1 is required. Give it columns."
            )
        self._check_variants({name: declared.get(name, "number") for name, _ in columns})
        kinds = tuple(kind for _, kind in columns)
        names = None if self.names is None else tuple(name for name, _ in columns)
        return Schema(names, kinds, self.lengths)

    def read_by(self, domain: Domain, unit: str | None, columns: tuple[str, ...] | None) -> Schema:
        """Return the columns that a domain reads: those it clusters, and those of a profile.

        `columns` are their names; None means all but that of ids.
        """
        noted: dict[str, Use] = {column.name: column.use for column in domain.noted}
        if unit in noted:
            raise ColumnError(
                f"{unit!r} is the column of ids and says whose row it is. Profile other columns."
            )
        clustered, base = domain.clustered_columns(columns), domain.model_domain
        found = self.features(unit, clustered, base.uses)
        found.check_lengths(base)
        if not noted:
            return found
        self.features(unit, noted, noted)
        names = tuple(dict.fromkeys((*(clustered or ()), *noted)))
        return Schema(names, tuple(self.kind(name) for name in names))

    def check_lengths(self, domain: Domain) -> None:
        """Refuse vectors of another length than those that a model was fitted to."""
        lengths = dict(self.lengths)
        for name, wanted in domain.vector_lengths.items():
            length = lengths.get(name, wanted)
            if length != wanted:
                raise ValueError(
                    f"vectors must have {wanted} numbers, as in the fit; those of {name!r} have "
                    f"{length}."
                )

    def check_ids(self, unit: str) -> None:
        """Refuse a column of ids that is not there, or in which equal ids could differ."""
        if self.names is None or unit not in self.names:
            raise ColumnError(
                Message(
                    Parameter("unit", unit, f"unit={unit!r}"),
                    f" is not a column of the table. {self._known([unit])} Name the column that "
                    "says whose row it is.",
                )
            )
        if self.kind(unit) not in IDS:
            raise ColumnTypeError(
                Message(
                    Parameter("unit", unit, f"unit={unit!r}"),
                    " holds neither integers nor text, so that equal ids could differ. Convert it "
                    "to one of them; pandas makes floats of integers with gaps, and "
                    ".astype('Int64') takes that back.",
                )
            )
        for name, kind, _, file in self.variants:
            if name == unit and kind not in IDS:
                raise ColumnTypeError(
                    Message(
                        Parameter("unit", unit, f"unit={unit!r}"),
                        f" of the file {file!r} holds neither integers nor text, so that ids that "
                        "are equal in the first file could differ there. Convert it to one of "
                        "them, or leave the file out.",
                    )
                )

    def _columns(self) -> list[tuple[str, Kind]]:
        names = self.names or tuple(f"number {place}" for place in range(self.n_columns))
        return list(zip(names, self.kinds, strict=True))

    def _check_variants(self, uses: Mapping[str, Use]) -> None:
        """Refuse what another file cannot be read as; found later, its rows would decide."""
        for name, kind, length, file in self.variants:
            use = uses.get(name)
            if use is None:
                continue
            fits = length is None or length == dict(self.lengths).get(name)
            if kind not in _KINDS_OF_OTHER_FILES[use] or not fits:
                raise ColumnTypeError(
                    f"column {name!r} of the file {file!r} does not hold {_CONTENT[use]} as in the "
                    "first file. Convert it, or leave the file out."
                )

    def _known(self, unknown: Sequence[str], wanted: int = 1) -> str:
        """Return which names there are, where they are public, and which may have been meant.

        `wanted` is how many columns the caller named.
        """
        if self.names is None:
            return "The table's columns have no names."
        # Without a header, the first row would be taken for one; a row names no columns.
        is_header = 2 * len(unknown) < wanted and not self.looks_like_a_row
        if set(self.kinds) <= {"cell"} and not is_header:
            return (
                "The file's first line must have the names of its columns: see whether these are "
                "written alike there."
            )
        return f"It has {', '.join(map(repr, self.names))}.{did_you_mean(unknown, self.names)}"


def _declaring(kinds: dict[str, Kind]) -> str:
    """Return the advice to declare columns as what they are, with an example of each kind.

    Examples
    --------
    >>> _declaring({"geo": "other", "year": "integer"})
    " declare them as what they are in bounds, such as {'year': (0, 120)},"
    """
    first = {kind: name for name, kind in reversed(kinds.items()) if kind in _DECLARATIONS}
    examples = {name: _DECLARATIONS[kind] for kind, name in reversed(first.items())}
    return f" declare them as what they are in bounds, such as {examples}," if examples else ""


_VALUE = re.compile(r"\d{4}-\d\d?-\d\d?.*|\d\d?[./]\d\d?[./]\d{2,4}|true|false", re.IGNORECASE)
"""What names of columns are not: days, true and false."""


def _is_value(name: str) -> bool:
    """Tell whether a name is a number, with whatever marks its decimals, a day or true or false.

    Examples
    --------
    >>> [name for name in ("age", "40", "25,6", "2024-12-31", "x1", "1.250,5") if _is_value(name)]
    ['40', '25,6', '2024-12-31', '1.250,5']
    """
    if _VALUE.fullmatch(name.strip()):
        return True
    for text in (name, name.replace(",", "."), name.replace(".", "").replace(",", ".")):
        with suppress(ValueError):
            float(text)
            return True
    return False
