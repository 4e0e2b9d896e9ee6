"""What missing cells count as, in words."""

from __future__ import annotations

from collections.abc import Sequence

from privclust.domains.columns import Column
from privclust.models._fit_notes import listed

COUNTED = (
    "missing number or date counted as the middle of its bounds, and a category that is missing or "
    "has no declared level as equal shares of its levels"
)


def missing_note(columns: Sequence[Column]) -> str:
    """Say as what missing cells counted in a fit.

    Examples
    --------
    >>> from privclust.domains.columns import NumberColumn
    >>> missing_note([NumberColumn("bmi", 12, 60, missing=25)]).partition(". ")[0]
    "Missing cells counted as declared: 'bmi' as 25"
    """
    declared = declared_missing(columns)
    if not declared:
        return f"A {COUNTED}: both pull centres there."
    return (
        f"Missing cells counted as declared: {declared}. Any other {COUNTED}: all of them pull "
        "centres there."
    )


def declared_missing(columns: Sequence[Column]) -> str:
    """Return the values that are declared for missing cells, in a row; "" if there are none."""
    return listed(
        [
            f"{column.name!r} as {column.missing_text}"
            for column in columns
            if column.missing_text is not None
        ]
    )
