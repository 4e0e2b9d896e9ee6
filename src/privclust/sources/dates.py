"""What a cell says of a day, by a public rule that reads the cell alone."""

from __future__ import annotations

from datetime import date
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from privclust.domains._date_format import ISO, day_pattern
from privclust.kernels.grid import FloatArray
from privclust.sources.cells import kind_of, plain

_ISO_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
"""How a text that is a date begins; what follows, a time, does not matter."""
_PER_DAY = {unit: 86_400 * 1000**power for power, unit in enumerate(("s", "ms", "us", "ns"))}
_FIRST_DAY, _LAST_DAY = (
    end.toordinal() - date(1970, 1, 1).toordinal() for end in (date.min, date.max)
)
"""No bound lies outside."""


def days(column: Any, form: str = ISO) -> FloatArray:
    """Return dates as days since the first of January 1970, NaN where there is none.

    Days that a month does not have are counted on into the next.
    Of a time the day in its own zone counts, or in UTC where Arrow does not know the zone. What
    lies before the year 1 or after 9999 is some day before or after all others. `form` is how texts
    write a day; what it does not match is read as YYYY-MM-DD.

    Examples
    --------
    >>> days(pa.array(["1970-01-03", "1970-01-32", "soon", "1970-01-02 12:00"])).tolist()
    [2.0, nan, nan, 1.0]
    >>> days(pa.array(["3.1.1970", "03.01.1970 09:15", "1970-01-03"]), "DD.MM.YYYY").tolist()
    [2.0, 2.0, 2.0]
    """
    column = plain(column)
    if kind_of(column.type) == "text":
        texts = column.cast(pa.large_binary())
        written = _iso_days(texts)
        if form != ISO:  # which files of other kinds may have all the same
            written = pc.coalesce(_days_in(texts, day_pattern(form)), written.cast(pa.string()))
        column = pc.strptime(written.cast(pa.large_string()), "%Y-%m-%d", "s", error_is_null=True)
    elif pa.types.is_timestamp(column.type):
        column = _times(column, column.type.unit, column.type.tz)
    elif pa.types.is_date64(column.type):
        column = _times(column, "ms", None)
    whole_days = column.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.float64())
    found: FloatArray = whole_days.to_numpy(zero_copy_only=False)
    return found


def _iso_days(texts: Any) -> Any:
    """Return the days with which texts begin, missing where one begins otherwise."""
    dated = pc.match_substring_regex(texts, _ISO_DAY)
    return pc.if_else(dated, pc.binary_slice(texts, 0, 10), None)


def _days_in(texts: Any, pattern: str) -> Any:
    """Return the days that a pattern finds as YYYY-MM-DD, missing where it finds none."""
    parts = pc.extract_regex(texts, pattern)
    year, month, day = (
        pc.struct_field(parts, name).cast(pa.string()) for name in ("YYYY", "MM", "DD")
    )
    padded = (pc.utf8_lpad(part, 2, "0") for part in (month, day))
    return pc.binary_join_element_wise(year, *padded, "-")


def _times(column: Any, unit: str, zone: str | None) -> Any:
    """Return times as such, those that are far off nearer: as days they would wrap around."""
    per_day = _PER_DAY[unit]
    # Two days are more than any zone is away from UTC.
    low = max((_FIRST_DAY - 2) * per_day, -(2**63) + 2 * per_day)
    high = min((_LAST_DAY + 2) * per_day, 2**63 - 1 - 2 * per_day)
    ticks = pc.max_element_wise(column.cast(pa.int64()), low, skip_nulls=False)
    near = pc.min_element_wise(ticks, high, skip_nulls=False)
    return near.cast(pa.timestamp(unit, zone if _is_known(zone) else None))


@cache
def _is_known(zone: str | None) -> bool:
    """Tell by a time of ours whether Arrow knows a zone, so that no row has to."""
    try:
        pa.array([0], pa.timestamp("s", zone)).cast(pa.date32())
    except pa.ArrowException:
        return False
    return True
