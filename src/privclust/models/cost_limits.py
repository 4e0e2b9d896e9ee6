"""How much computing and memory a fit, and what follows from it, may take; docs/limits.md."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from privclust.errors import ParameterError, safe_repr

MEMORY_VARIABLE, MINUTES_VARIABLE = "PRIVCLUST_MAX_MEMORY", "PRIVCLUST_MAX_MINUTES"
"""Environment variables, for the command line and for whole processes."""
GIB = 2**30
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True)
class Limits:
    """What a fit may take at most, beside what its rows take.

    Attributes
    ----------
    memory : int
        Bytes.
    minutes : float
        Of one core, for work that is the same whatever the number of rows.
    """

    memory: int = 8 * GIB
    minutes: float = 10.0


_chosen: ContextVar[Limits | None] = ContextVar("limits", default=None)


@contextmanager
def limits(*, memory: str | int | None = None, minutes: float | None = None) -> Iterator[Limits]:
    """Change what fits may take, within a ``with`` block.

    The environment variables ``PRIVCLUST_MAX_MEMORY`` and ``PRIVCLUST_MAX_MINUTES`` do the same for
    a whole process.

    Parameters
    ----------
    memory : str or int, optional
        Such as ``"32 GiB"``, or a number of bytes; 8 GiB unless changed.
    minutes : float, optional
        Of computing that does not depend on the number of rows; 10 unless changed.

    Examples
    --------
    >>> import numpy as np, privclust
    >>> rows = np.zeros((10, 2))
    >>> with privclust.limits(minutes=0.001):
    ...     try:
    ...         privclust.PrivateKMeans(100, delta=1e-6, radius=1.0).fit(rows)
    ...     except privclust.errors.CostError:
    ...         print("refused, nothing spent")
    refused, nothing spent
    """
    now = current_limits()
    if memory is not None:
        now = replace(now, memory=_bytes("memory", memory))
    if minutes is not None:
        now = replace(now, minutes=_minutes("minutes", minutes))
    token = _chosen.set(now)
    try:
        yield now
    finally:
        _chosen.reset(token)


def current_limits() -> Limits:
    """Return the limits of this ``with`` block, of the process, or the usual ones."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    found = Limits()
    if memory := os.environ.get(MEMORY_VARIABLE):
        found = replace(found, memory=_bytes(MEMORY_VARIABLE, memory))
    if minutes := os.environ.get(MINUTES_VARIABLE):
        found = replace(found, minutes=_minutes(MINUTES_VARIABLE, minutes))
    return found


def _bytes(name: str, value: str | int) -> int:
    """Read an amount of memory: K, M, G and T count in powers of 1024.

    Examples
    --------
    >>> _bytes("memory", "8 GiB") == _bytes("memory", "8g") == 8 * 2**30
    True
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", str(value), re.IGNORECASE)
    if match is None or isinstance(value, bool) or len(match[1]) > 30:
        raise ParameterError(
            f"{name} must be an amount of memory such as '16 GiB' or a number of bytes, got "
            f"{safe_repr(value)}."
        )
    return int(float(match[1]) * 1024 ** _POWERS[match[2].lower()])


def _minutes(name: str, value: str | float) -> float:
    try:
        minutes = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        minutes = math.nan
    if not minutes > 0:
        raise ParameterError(
            f"{name} must be a number of minutes above 0, such as 60, got {safe_repr(value)}."
        )
    return minutes
