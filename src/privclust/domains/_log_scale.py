"""Logarithms read off a ruler, by comparisons and single roundings only.

A library's log may depend on where in an array a number stands.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from privclust.kernels.grid import FloatArray

_MARKS = 2**12
_RULERS = 4096
"""So many are remembered: a server may declare as many columns as it likes."""


@lru_cache(_RULERS)
def ruler(lower: float, upper: float, shift: float) -> tuple[FloatArray, FloatArray]:
    """Return marks between bounds, equal ratios apart, and their logarithms.

    Examples
    --------
    >>> marks, logs = ruler(1.0, 1000.0, 0.0)
    >>> marks[[0, -1]].tolist(), logs[[0, -1]].tolist()
    ([1.0, 1000.0], [0.0, 3.0])
    """
    logs = np.linspace(np.log10(lower + shift), np.log10(upper + shift), _MARKS)
    # A search among marks that do not increase would depend on the number searched for before.
    marks = np.clip(np.maximum.accumulate(10.0**logs - shift), lower, upper)
    marks[0], marks[-1] = lower, upper
    for array in (marks, logs):
        array.setflags(write=False)
    return marks, logs


def read_off(values: FloatArray, marks: FloatArray, logs: FloatArray) -> FloatArray:
    """Find each value between two marks, and go as far between their logarithms."""
    place: NDArray[np.intp] = np.searchsorted(marks, values, side="right") - 1
    place = np.clip(place, 0, len(marks) - 2)
    before, after = marks[place], marks[place + 1]
    part = (values - before) / (after - before)
    return logs[place] + part * (logs[place + 1] - logs[place])
