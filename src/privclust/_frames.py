"""Errors of code that was called with rows: they keep their lines, and nothing that frames hold."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def clears_frames(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let an error pass with its lines, and with nothing that the frames below hold.

    For everything that is called with rows. Errors that the caller was handling already keep
    their frames: they are not ours.

    Examples
    --------
    >>> @clears_frames
    ... def refuse(X):
    ...     raise ValueError("no such column")
    >>> try:
    ...     refuse([40, 50])
    ... except ValueError as error:
    ...     [frame.f_locals for frame, _ in traceback.walk_tb(error.__traceback__)][-1]
    {}
    """

    @wraps(work)
    def cleared(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        before = sys.exception()
        try:
            return work(*args, **kwargs)
        except BaseException as error:
            del args, kwargs
            _clear(error, before)
            raise

    return cleared


def _clear(error: BaseException | None, before: BaseException | None) -> None:
    """Clear the frames of an error and of all that it came from, up to what was there before."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or one is before or any(one is other for other in found):
            continue
        found.append(one)
        traceback.clear_frames(one.__traceback__)
        waiting += [one.__cause__, one.__context__]
