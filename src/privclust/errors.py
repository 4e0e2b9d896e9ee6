"""Errors that a program may want to tell apart, and what messages may show of a user's values."""

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


class BoundsError(ValueError):
    """Bounds are missing, or are not what bounds should be."""


class ColumnError(ValueError):
    """A column is named that the table does not have, or has one that is not named."""


class ColumnTypeError(TypeError):
    """A column's declared type is not one that can be used so."""


class ParameterError(ValueError):
    """A parameter is not among the values it may have."""


class TooManyClustersError(ParameterError):
    """More clusters are asked for than there are rows, or points that stand for them."""


class UnreadableFileError(ValueError):
    """A file is not what the ending of its name says, or has none that is known."""


class ModelFileError(ValueError):
    """A file is no model file."""
