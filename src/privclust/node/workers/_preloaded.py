"""What jobs import, once for all of them, but for OpenDP.

OpenDP draws from a generator of OpenSSL's in the memory of its process. Each job loads its own, so
that no two can have the same state.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module

import numpy as np

from privclust import estimators
from privclust.kernels.grid import map_to_ball
from privclust.remote.request import ESTIMATORS

_LATE = (
    "privclust.models.k_path",
    "privclust.models.synthetic",
    "privclust.privacy.ledger.sql",
    "psycopg",
    "pyarrow.dataset",
    "sqlalchemy.dialects.postgresql.psycopg",
)
"""What is imported when it is first needed, and may not be installed."""


def import_all() -> None:
    """Import what fits and profiles need. No thread is started, and nothing is drawn."""
    for name in _LATE:
        with suppress(ImportError):
            import_module(name)
    for name in ESTIMATORS:
        getattr(estimators, name)
    one = np.ones(1)
    map_to_ball(one[None], one, one, one)  # Numba prepares itself when a loop is first called
