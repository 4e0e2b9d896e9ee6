"""Which parameters are integers: those of Python and of NumPy, and no truth values."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from privclust.errors import Message, Parameter, ParameterError, safe_repr

INTEGER_MAX = 2**53
"""No table has as many rows, and arithmetic with larger numbers may fail."""


def is_integer(value: object) -> TypeGuard[int]:
    """Tell whether a value is an integer. What NumPy calls one can be used like Python's.

    Examples
    --------
    >>> is_integer(3), is_integer(np.int64(3)), is_integer(3.0), is_integer(True)
    (True, True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def integer(name: str, value: object, remedy: str = "Type one such as 8.") -> int:
    """Return a parameter that counts something as an int, or say what it should be.

    Parameters
    ----------
    name : str
        What it is called.
    value : object
        What was typed.
    remedy : str, default="Type one such as 8."
        What to do if it is none, as a sentence.
    """
    if not is_integer(value) or value < 1:
        raise ParameterError(
            Message(
                Parameter(name),
                f" must be an integer of at least 1, got {safe_repr(value)}. {remedy}",
            )
        )
    if value > INTEGER_MAX:
        raise ParameterError(
            Message(
                Parameter(name),
                f" must be at most 2^53, got {safe_repr(int(value))}. Type the number you mean.",
            )
        )
    return int(value)
