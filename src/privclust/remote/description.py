"""What a node says of a table, and of one more fit on it, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from privclust.remote._fields import Fields, printable
from privclust.remote.error import RemoteError

_LISTED = 12
"""Levels of a category that are named."""


@dataclass(frozen=True)
class ColumnDescription:
    """A column that may be clustered, as the owner declared it.

    Attributes
    ----------
    name, type : str
        What it is called, and "number", "category" or "date".
    values : str
        What it may hold, in words.
    """

    name: str
    type: str
    values: str


@dataclass(frozen=True)
class TableDescription:
    """What is public about a table at a node, and what an analyst has left of its budget.

    Attributes
    ----------
    name, description : str
        What the owner calls it, and says of it.
    columns : tuple of ColumnDescription
        Those that may be clustered.
    profile_columns : tuple of str
        Those that may be profiled.
    unit : str
        Column of ids whose rows are protected together; "" if every row is alone.
    max_rows_per_unit : int
        How many rows of one id count.
    about_rows : int or None
        About how many rows there are, if the owner says so.
    seconds : int
        How long a fit takes, whatever the rows.
    delta : float
        The remainder that the guarantee allows beside epsilon.
    periods : int
        How many periods share the budget.
    epsilon_left : float
        The most that one more fit of yours may have: what your part or the table's total has left,
        whichever is less.
    max_clusters : int
        The most clusters that you may ask for.
    estimators : tuple of str
        Those that the node runs.

    Examples
    --------
    >>> age = ColumnDescription("age", "number", "18 to 100")
    >>> print(TableDescription("credit", "card holders of 2025", (age,), (), "", 1, None, 600,
    ...                        1e-6, 1, 0.71, 64, ("PrivateKMeans",)))
    credit: card holders of 2025
      columns:        age (number, 18 to 100)
      protected unit: one row
      budget left:    epsilon 0.71 for one more fit, at delta 1e-06
      a fit takes:    600 seconds, whatever the rows
      clusters:       64 at most
      estimators:     PrivateKMeans
    """

    name: str
    description: str
    columns: tuple[ColumnDescription, ...]
    profile_columns: tuple[str, ...]
    unit: str
    max_rows_per_unit: int
    about_rows: int | None
    seconds: int
    delta: float
    periods: int
    epsilon_left: float
    max_clusters: int
    estimators: tuple[str, ...]

    @classmethod
    def of(cls, body: bytes) -> TableDescription:
        """Read the `body` that a node sent."""
        found = Fields.of(body, "a table")
        rows, delta = found.integer("about_rows", -1), found.number("delta")
        if not 0 <= delta < 1:
            raise RemoteError(
                "the node says that its delta is not between 0 and 1, which protects nobody. Tell "
                "the owner of the node."
            )
        return cls(
            name=found.text("name"),
            description=found.text("description", ""),
            columns=tuple(map(_column, found.parts("columns"))),
            profile_columns=found.texts("profile_columns", []),
            unit=found.text("unit", ""),
            max_rows_per_unit=found.integer("max_rows_per_unit", 1),
            about_rows=rows if rows >= 0 else None,
            seconds=found.integer("seconds"),
            delta=delta,
            periods=found.integer("periods", 1),
            epsilon_left=found.number("epsilon_left"),
            max_clusters=found.integer("max_clusters"),
            estimators=found.texts("estimators"),
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return what it says, each line with its title."""
        unit = "one row"
        if self.unit:
            unit = f"all rows of one {self.unit!r}, of which {self.max_rows_per_unit} count"
        listed = [f"{one.name} ({one.type}, {one.values})" for one in self.columns]
        found = {
            "columns": ", ".join(listed),
            "to profile": ", ".join(self.profile_columns),
            "protected unit": unit,
            "rows": "" if self.about_rows is None else f"about {self.about_rows:,}",
            "budget left": f"epsilon {self.epsilon_left:g} for one more fit, at delta "
            f"{self.delta:g}",
            "periods": "" if self.periods == 1 else f"{self.periods}, which share the budget",
            "a fit takes": f"{self.seconds:g} seconds, whatever the rows",
            "clusters": f"{self.max_clusters} at most",
            "estimators": ", ".join(self.estimators),
        }
        return [(title, text) for title, text in found.items() if text]

    def __str__(self) -> str:
        title = f"{self.name}: {self.description}" if self.description else self.name
        return "\n".join([title, *(f"  {head + ':':15} {text}" for head, text in self.lines())])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align: left">{escape(head)}</th>'
            f'<td style="text-align: left">{escape(text)}</td></tr>'
            for head, text in self.lines()
        )
        return f"<p><b>{escape(self.name)}</b> {escape(self.description)}</p><table>{rows}</table>"


@dataclass(frozen=True)
class RemoteForecast:
    """What one more fit would cost and give, by request, policy and ledger alone.

    Attributes
    ----------
    epsilon, delta : float
        What the fit would spend.
    epsilon_left : float
        The most that one more fit may have now.
    price : float
        What it counts of the work that the node does for you: the seconds that it takes.
    allowed : bool
        Whether the node would take it.
    forecast : dict or None
        What to expect of the clusters, if the owner says about how many rows there are: what
        `privclust.forecast` has.

    Examples
    --------
    >>> print(RemoteForecast(1.0, 1e-6, 2.5, 12.0, True))
    epsilon 1 at delta 1e-06; you have epsilon 2.5 left for one more fit, and it takes 12 seconds
    """

    epsilon: float
    delta: float
    epsilon_left: float
    price: float
    allowed: bool
    forecast: Mapping[str, Any] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, body: bytes) -> RemoteForecast:
        """Read the `body` that a node sent."""
        found = Fields.of(body, "a forecast")
        expected = found.content.get("forecast")
        return cls(
            epsilon=found.number("epsilon"),
            delta=found.number("delta"),
            epsilon_left=found.number("epsilon_left"),
            price=found.number("price"),
            allowed=found.truth("allowed"),
            forecast=dict(Fields(expected, "a forecast").content) if expected else None,
        )

    def __str__(self) -> str:
        text = (
            f"epsilon {self.epsilon:g} at delta {self.delta:g}; you have epsilon "
            f"{self.epsilon_left:g} left for one more fit, and it takes {self.price:g} seconds"
        )
        return text if self.allowed else f"{text}. The node would not take it"


def _column(found: Fields) -> ColumnDescription:
    declared = found.content
    levels = declared.get("levels")
    if isinstance(levels, list):
        named = ", ".join(printable(str(level)) for level in levels[:_LISTED])
        values = named if len(levels) <= _LISTED else f"{named} and {len(levels) - _LISTED} more"
    else:
        lower, upper = (printable(str(declared.get(side, "?"))) for side in ("lower", "upper"))
        values = f"{lower} to {upper}"
        if declared.get("missing") is not None:
            values += f", missing cells count as {printable(str(declared['missing']))}"
    return ColumnDescription(found.text("name"), found.text("type", "number"), values)
