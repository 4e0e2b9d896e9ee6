"""How far a fit has come, for whoever waits for it: queries, never rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """A query that is about to be measured, or was.

    Attributes
    ----------
    slot : str
        Its name.
    finished : bool
        Whether it was measured.
    measured : int
        How many were measured before it.
    left : int
        How many are planned after it, as far as is known.
    whole : bool
        Whether all rows are measured, not a sample.
    """

    slot: str
    finished: bool
    measured: int
    left: int
    whole: bool


@dataclass(frozen=True)
class Wait:
    """A fit at a node that is waited for: its public time, of which no row knows.

    Attributes
    ----------
    state : str
        Such as "queued" or "running".
    part : float
        Which part of its time has passed.
    seconds_left : float
        How long it will still take; of one that is late, until it may be released next.
    """

    state: str
    part: float
    seconds_left: float


Watcher = Callable[[Any], None]
"""Gets a `Step` of a fit here, or a `Wait` for one elsewhere."""
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Report every step of the fits inside the ``with`` block to `watcher`.

    Examples
    --------
    >>> import numpy as np
    >>> from privclust import PrivateKMeans
    >>> slots = []
    >>> with watching(lambda step: slots.append(step.slot)):
    ...     model = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> slots[0], slots[-1]
    ('locate 1', 'quality')
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def is_watched() -> bool:
    """Tell whether somebody watches already."""
    return _watcher.get() is not None


def report(step: Step | Wait) -> None:
    """Report a step to whoever watches."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(step)
