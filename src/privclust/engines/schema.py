"""What is public about a table: names and types of its columns, and which of them are used."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from privclust.engines.cells import IDS, NUMBERS, Kind


@dataclass(frozen=True)
class Schema:
    """Columns of a table.

    Attributes
    ----------
    names : tuple of str or None
        None if columns have none.
    kinds : tuple of str
        What each column's declared type allows.
    """

    names: tuple[str, ...] | None
    kinds: tuple[Kind, ...]

    def __post_init__(self) -> None:
        if self.names is not None and len(set(self.names)) < len(self.names):
            raise ValueError("columns must have names that differ. Rename those that share one.")

    @property
    def n_columns(self) -> int:
        """How many there are."""
        return len(self.kinds)

    def features(self, unit: str | None, only: Collection[str] | None = None) -> Schema:
        """Return the columns to cluster: all but that of ids, or those named in `only`.

        Examples
        --------
        >>> Schema(("who", "age"), ("text", "integer")).features("who").names
        ('age',)
        """
        if unit is not None:
            self._check_ids(unit)
        columns = [
            (name, kind)
            for name, kind in self._columns()
            if name != unit and (only is None or name in only)
        ]
        refused = [name for name, kind in columns if kind not in NUMBERS]
        if refused:
            raise TypeError(
                f"columns that do not hold numbers: {', '.join(refused)}. Convert them to a "
                "numeric type or leave them out."
            )
        if not columns:
            raise ValueError(
                "X has 0 feature(s) while a minimum of 1 is required. Give it columns."
            )
        kinds = tuple(kind for _, kind in columns)
        return Schema(None if self.names is None else tuple(name for name, _ in columns), kinds)

    def _columns(self) -> list[tuple[str, Kind]]:
        names = self.names or tuple(f"number {place}" for place in range(self.n_columns))
        return list(zip(names, self.kinds, strict=True))

    def _check_ids(self, unit: str) -> None:
        if self.names is None or unit not in self.names:
            known = (
                "the table's columns have no names"
                if self.names is None
                else (f"it has {', '.join(map(repr, self.names))}")
            )
            raise ValueError(
                f"unit={unit!r} is no column of the table; {known}. Name the column that tells "
                "whose row it is."
            )
        if self.kinds[self.names.index(unit)] not in IDS:
            raise TypeError(
                f"unit={unit!r} holds neither whole numbers nor text, so that equal ids could "
                "differ. Convert it to one of them."
            )
