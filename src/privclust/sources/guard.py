"""What may escape from code that touches rows: its result, and no more.

`guarded` is for code that reads rows: whatever fails there, one fixed error leaves. `clears_frames`
is for code that is called with rows and refuses them: its own errors pass. Debuggers, notebooks and
services that record failures print the variables of every frame. Whoever calls this library holds
the rows; its own frames do not.
"""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from privclust.errors import EngineError, FailedClientError, TooFewClientsError

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _Silence:
    """Turns Python's warnings off while any thread is inside; filters are the process's own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._filters = warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._filters = warnings.catch_warnings()
                self._filters.__enter__()
                warnings.simplefilter("ignore")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._filters.__exit__(None, None, None)


_silence = _Silence()


def guarded(work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Run row-touching code so that nothing about the rows escapes but its result.

    Warnings are silenced. Any failure becomes one `EngineError` with a fixed text, raised outside
    the handler so that it keeps no reference to the original error or to the frames that hold rows;
    an interrupt or exit is passed on in the same way.
    """

    def quiet(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        failure: BaseException
        with _silence, np.errstate(all="ignore"):
            try:
                return work(*args, **kwargs)
            except KeyboardInterrupt:
                failure = KeyboardInterrupt()
            except SystemExit:
                failure = SystemExit(1)
            except TooFewClientsError as error:
                failure = TooFewClientsError(*error.numbers)
            except FailedClientError:
                failure = FailedClientError()
            except BaseException:
                failure = EngineError(
                    "the rows could not be read or summed. Why is withheld, because the reason "
                    "may depend on them. Check that the table can still be read and that memory "
                    "suffices."
                )
        del args, kwargs
        raise failure

    quiet.__name__, quiet.__doc__ = work.__name__, work.__doc__
    return quiet


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
