"""Faults in every function that a piece of work calls, one after the other."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

GUARD = "guarded.<locals>.quiet"
GUARDS = (GUARD, "_Silence.")
LEFT_OUT = ("<module>", "__init__", "__repr__", "<genexpr>", ":_close", "_Silence.__exit__")
"""Half an object has no text for a traceback to show; the next may be called by Python alone; the
last would leave warnings off for every test that follows."""


class InjectedError(Exception):
    """A fault that nobody planned for."""


def functions_called(work: Callable[[], object], modules: tuple[str, ...]) -> Counter[str]:
    """Return how often `work` calls each function of some modules, the first called first."""
    found: Counter[str] = Counter()

    def listen(frame: FrameType) -> None:
        name = _name(frame)
        if name.startswith(modules) and not name.endswith(LEFT_OUT):
            found[name] += 1

    with _traced(listen):
        work()
    return found


@contextmanager
def failing(name: str, secret: str, call: int = 1) -> Iterator[None]:
    """Make one call of a function fail, beside the rows with an error that shows one."""
    qualname = name.partition(":")[2]
    calls = 0

    def fail(frame: FrameType) -> None:
        nonlocal calls
        # Tens of thousands of calls pass here: first what is cheap to compare.
        if frame.f_code.co_qualname != qualname or _name(frame) != name:
            return
        calls += 1
        if calls == call:
            raise InjectedError(secret if _beside_rows(frame) else "injected")

    with _traced(fail):
        yield


@contextmanager
def _traced(on_call: Callable[[FrameType], None]) -> Iterator[None]:
    def trace(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            on_call(frame)

    before = sys.gettrace()
    threading.settrace(trace)
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before)


def _name(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '')}:{frame.f_code.co_qualname}"


def _beside_rows(frame: FrameType | None) -> bool:
    if frame is not None and frame.f_code.co_qualname.startswith(GUARDS):
        return False  # the guard itself, which reads no row
    if threading.current_thread() is not threading.main_thread():
        return True  # only engines have workers
    while frame is not None:
        if frame.f_code.co_qualname == GUARD:
            return True
        frame = frame.f_back
    return False
