"""What may escape from code that reads rows: its result, and no more.

Whatever fails there, one fixed error leaves.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from privclust.errors import EngineError, FailedClientError, SnapshotError, TooFewClientsError

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
            except SnapshotError as error:
                # Found by versions and connections, never by rows.
                failure = SnapshotError(error.cause)
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
