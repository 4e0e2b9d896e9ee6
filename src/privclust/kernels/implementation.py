"""Which implementation of the kernels runs: NumPy's, always there, or compiled loops."""

from __future__ import annotations

import importlib
import os
from functools import cache
from types import ModuleType

VARIABLE = "PRIVCLUST_KERNELS"
"""Set to "numpy", it keeps compiled loops out."""


@cache
def compiled_loops() -> ModuleType | None:
    """Return the module of compiled loops; None without Numba (extra ``fast``) or if unwanted.

    None also where Numba has no folder to keep them in, as in a container that nobody may write to:
    each process would compile for seconds. Both give the same integers, so that the choice changes
    no result.
    """
    if os.environ.get(VARIABLE) == "numpy":
        return None
    try:
        return importlib.import_module("privclust.kernels.compiled")
    except (ImportError, RuntimeError):
        return None
