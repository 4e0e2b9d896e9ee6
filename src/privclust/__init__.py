"""privclust: clustering of sensitive data under differential privacy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from privclust.version import __version__

if TYPE_CHECKING:
    from privclust.engines.federated import Federation
    from privclust.engines.lakes import on_spark
    from privclust.estimators import (
        BalcanKMeans,
        DPLloyd,
        FastLloyd,
        FedDPKMeans,
        HDPEMeans,
        LSHCoreset,
        PEMeans,
        PrivateKMeans,
    )
    from privclust.planning import plan, simulate
    from privclust.postprocessing.comparing import compare
    from privclust.postprocessing.tracking import track
    from privclust.privacy.journal import LedgerError
    from privclust.privacy.ledger import BudgetExceededError, Ledger
    from privclust.resources import limits
    from privclust.saving import load, load_profile, save, save_profile
    from privclust.statements.composition import compose

__all__ = [
    "BalcanKMeans",
    "BudgetExceededError",
    "DPLloyd",
    "FastLloyd",
    "FedDPKMeans",
    "Federation",
    "HDPEMeans",
    "LSHCoreset",
    "Ledger",
    "LedgerError",
    "PEMeans",
    "PrivateKMeans",
    "__version__",
    "compare",
    "compose",
    "limits",
    "load",
    "load_profile",
    "on_spark",
    "plan",
    "save",
    "save_profile",
    "simulate",
    "track",
]
_ROOMS = {
    "BalcanKMeans": "estimators",
    "BudgetExceededError": "privacy.ledger",
    "DPLloyd": "estimators",
    "FastLloyd": "estimators",
    "FedDPKMeans": "estimators",
    "Federation": "engines.federated",
    "HDPEMeans": "estimators",
    "LSHCoreset": "estimators",
    "Ledger": "privacy.ledger",
    "LedgerError": "privacy.journal",
    "PEMeans": "estimators",
    "PrivateKMeans": "estimators",
    "compare": "postprocessing.comparing",
    "compose": "statements.composition",
    "limits": "resources",
    "load": "saving",
    "load_profile": "saving",
    "on_spark": "engines.lakes",
    "plan": "planning",
    "save": "saving",
    "save_profile": "saving",
    "simulate": "planning",
    "track": "postprocessing.tracking",
}


def __getattr__(name: str) -> object:
    # Estimators load scikit-learn; a federated client that only needs queries should not.
    if name in _ROOMS:
        return getattr(import_module(f"privclust.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'privclust' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
