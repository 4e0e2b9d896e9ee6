"""The privacy unit: whose rows count as one, and what one unit may contribute to a query."""

from __future__ import annotations

import math
from dataclasses import dataclass

from privclust.queries.base import Query, Sensitivity

ROWS_PER_UNIT_MAX = 1024
"""Clipped sums then stay below 2^40, so that their squares can be added exactly in two halves."""
COORDINATES_MAX = 2**20
"""Coordinates of a result, all of which a unit with many rows may change."""


@dataclass(frozen=True)
class Unit:
    """Whose data one guarantee protects.

    Attributes
    ----------
    column : str or None
        The column of ids; None if every row is a unit of its own. "client" for a whole client.
    rows : int
        A unit counts as so many rows at most, at each client.
    clients : int
        At so many clients of a federation a unit may have rows; 0 where there is no federation.
    whole : bool
        Whether all rows of a client of a federation are one unit. It is then clipped by length
        alone, which is what Gaussian noise goes by: its rows spread over many coordinates.
    """

    column: str | None = None
    rows: int = 1
    clients: int = 0
    whole: bool = False

    def __post_init__(self) -> None:
        alone = self.column is None
        if alone and self.whole:
            # Without a name it would pass for a row, and have a row's sensitivity.
            raise ValueError("a whole client has a name as its column, such as 'client'; got None.")
        if not 1 <= self.rows <= (1 if alone else ROWS_PER_UNIT_MAX) or self.clients < 0:
            raise ValueError(
                f"a unit counts as 1 to {ROWS_PER_UNIT_MAX} rows, a row as one, at 0 or more "
                f"clients; got rows={self.rows!r}, clients={self.clients!r}."
            )

    @property
    def name(self) -> str:
        """What statements call it."""
        return "row" if self.column is None else self.column

    @property
    def quoted(self) -> str:
        """What sentences call one of them: a column's name is quoted, whatever it holds."""
        return "row" if self.column is None else repr(self.column)

    @property
    def ledger_name(self) -> str:
        """What ledgers call it: charges for units of different names add up to no guarantee.

        Examples
        --------
        >>> Unit("patient").ledger_name, Unit("patient", clients=2).ledger_name
        ('patient', 'patient in 2 clients')
        """
        if self.whole:
            return "whole client"
        if self.clients == 0 or (self.column is None and self.clients == 1):
            return self.name
        return f"{self.name} in {self.clients} client{'s' if self.clients > 1 else ''}"

    def protects_same(self, other: Unit) -> bool:
        """Tell whether guarantees for this unit and another add up.

        By what they are and not by name: a column may be called "whole client". How many rows of
        one count does not matter, nor whether a row lies in a table or at one client.

        Examples
        --------
        >>> Unit().protects_same(Unit(clients=1)), Unit("who").protects_same(Unit("who", clients=1))
        (True, False)
        """
        return self._kind == other._kind

    @property
    def _kind(self) -> tuple[str | None, int, bool]:
        in_one_place = self.column is None and self.clients <= 1
        return self.column, 0 if in_one_place else self.clients, self.whole

    @property
    def l0(self) -> int:
        """Coordinates of a result that one unit may change, whatever the query; 0 for rows."""
        return 0 if self.column is None and self.clients < 2 else COORDINATES_MAX

    @property
    def total_rows(self) -> int:
        """As how many rows one unit counts at most, at all its clients: noise grows with it.

        Examples
        --------
        >>> Unit().total_rows, Unit("patient", rows=3, clients=2).total_rows
        (1, 6)
        """
        return self.rows * max(1, self.clients)

    def sensitivity(self, query: Query) -> Sensitivity:
        """Return the most one unit can add to the result."""
        one, times = query.sensitivity, self.total_rows
        if self.l0 == 0:
            return one
        # No vector of this length has a longer sum of absolute values.
        l1 = math.isqrt(query.size * one.l2_squared) + 1 if self.whole else one.l1
        return Sensitivity(
            l1=l1 * times,
            l2_squared=one.l2_squared * times**2,
            linf=one.linf * times,
            l0=query.size,
            monotone=one.monotone,
        )


ROW = Unit()
"""Every row is a unit of its own."""
