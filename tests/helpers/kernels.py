"""Both implementations of the kernels, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from unittest import mock

from privclust.kernels.implementation import VARIABLE, compiled_loops

Result = TypeVar("Result")


@contextmanager
def kernels(name: str) -> Iterator[None]:
    """Let "numpy" or "compiled" kernels run for a while."""
    with mock.patch.dict(os.environ, {VARIABLE: name}):
        compiled_loops.cache_clear()
        assert (compiled_loops() is None) == (name == "numpy")
        yield
    compiled_loops.cache_clear()


def by_both(work: Callable[[], Result]) -> tuple[Result, Result]:
    """Return what NumPy and what compiled loops give."""
    with kernels("numpy"):
        by_numpy = work()
    with kernels("compiled"):
        return by_numpy, work()
