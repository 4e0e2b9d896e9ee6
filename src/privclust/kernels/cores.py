"""How many cores there are to work on."""

from __future__ import annotations

import os


def available_cores() -> int:
    """Return how many cores this process may use, which in a container may be few of a machine's.

    Examples
    --------
    >>> 1 <= available_cores() <= os.cpu_count()
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
