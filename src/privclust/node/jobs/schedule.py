"""When a fit starts and when its model is released: functions of public times alone.

What an analyst sees of a fit's time follows from the request, the policy and the clock. How long
the rows took to read does not show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

TURNS_MAX = 2
"""How many times its public time a fit may compute before it is failed."""


@dataclass(frozen=True)
class Times:
    """When a fit has its lane.

    Attributes
    ----------
    lane : int
        Which of the node's lanes, counted from 0.
    starts_at, release_at : int
        From when to when, in POSIX seconds.
    """

    lane: int
    starts_at: int
    release_at: int


def times(now: float, ends: Sequence[int], seconds: int, tick: int) -> Times:
    """Give a new fit the lane that is free first.

    Parameters
    ----------
    now : float
        POSIX time of the request.
    ends : sequence of int
        For each lane, when its last fit is released; 0 if it had none.
    seconds : int
        The public duration of fits on the table.
    tick : int
        Fits start at multiples of so many seconds.

    Examples
    --------
    >>> times(100.5, [700, 0], seconds=600, tick=10)
    Times(lane=1, starts_at=110, release_at=710)
    >>> times(100.5, [700, 710], seconds=600, tick=10)
    Times(lane=0, starts_at=700, release_at=1300)
    """
    lane = min(range(len(ends)), key=lambda place: ends[place])
    starts_at = next_tick(max(now, ends[lane]), tick)
    return Times(lane, starts_at, starts_at + seconds)


def visible_at(ready: float, times: Times, seconds: int) -> int:
    """Return when a fit that was `ready` at a time is released.

    That is at its `release_at`, and if it was not ready by then, `seconds` later, or twice
    `seconds`, and so on.

    Examples
    --------
    >>> granted = Times(0, 100, 700)
    >>> [visible_at(ready, granted, 600) for ready in (150.0, 700, 700.1, 1301)]
    [700, 700, 1300, 1900]
    """
    late = max(0, math.ceil(ready) - times.release_at)
    return times.release_at + _round_up(late, seconds)


def progress(now: float, times: Times) -> float:
    """Return which part of a fit's time has passed, rounded down to tenths.

    Examples
    --------
    >>> granted = Times(0, 100, 700)
    >>> [progress(now, granted) for now in (99, 100, 465.9, 700)]
    [0.0, 0.0, 0.6, 1.0]
    """
    length = times.release_at - times.starts_at
    tenths = math.floor(10 * (now - times.starts_at) / length)
    return min(max(tenths, 0), 10) / 10


def next_tick(now: float, tick: int) -> int:
    """Return the first public time from `now` on.

    Examples
    --------
    >>> next_tick(100.5, 10), next_tick(110, 10)
    (110, 110)
    """
    return _round_up(math.ceil(now), tick)


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step
