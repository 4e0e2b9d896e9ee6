"""What error messages may show of what a user passed."""

from __future__ import annotations

import numpy as np

_LONGEST = 80


def shown(value: object) -> str:
    """Return a short text for a plain value, and only the type of anything that could hold rows.

    Examples
    --------
    >>> shown("1e-6"), shown(np.zeros((3, 2)))
    ("'1e-6'", 'a value of type ndarray')
    """
    if value is None or isinstance(value, str | bool | int | float | np.number | np.bool_):
        text = repr(value)
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"a value of type {type(value).__name__}"
