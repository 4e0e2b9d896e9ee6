"""How texts of a column write a day, such as DD.MM.YYYY: declared, never guessed."""

from __future__ import annotations

import re
from functools import cache

from privclust.errors import safe_repr

ISO = "YYYY-MM-DD"
"""What is read if nothing is declared."""
_FORMAT = re.compile(r"(YYYY|MM|DD)([-./ ])(YYYY|MM|DD)\2(YYYY|MM|DD)", re.ASCII)
_DIGITS = {"YYYY": "(?P<YYYY>[0-9]{4})", "MM": "(?P<MM>[0-9]{1,2})", "DD": "(?P<DD>[0-9]{1,2})"}


@cache
def day_pattern(form: object) -> str:
    """Return the regular expression of days in a format, with groups YYYY, MM and DD.

    A time may follow after anything but a digit. Days and months below 10 need no zero.

    Examples
    --------
    >>> re.match(day_pattern("DD.MM.YYYY"), "7.11.2025 08:00").groupdict()
    {'DD': '7', 'MM': '11', 'YYYY': '2025'}
    """
    found = _FORMAT.fullmatch(form) if isinstance(form, str) else None
    parts = found.group(1, 3, 4) if found else ()
    if found is None or len(set(parts)) < 3:
        raise ValueError(
            f"{safe_repr(form)} is no format of days. Type YYYY, MM and DD in their order, with "
            "one of . / - or a space twice between them, such as 'DD.MM.YYYY'."
        )
    separator = f"[{found[2]}]"
    return f"^{separator.join(_DIGITS[part] for part in parts)}(?:[^0-9]|$)"
