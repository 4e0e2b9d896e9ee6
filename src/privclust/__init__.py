"""privclust: clustering of sensitive data under differential privacy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from privclust._version import __version__

if TYPE_CHECKING:
    from privclust.cohorts.federation import NodeFederation
    from privclust.engines.federated.federation import Federation
    from privclust.engines.spark.table import on_spark
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
    from privclust.estimators._load import load
    from privclust.estimators._versions import show_versions
    from privclust.estimators.base import PrivateClusterer
    from privclust.models.compare import compare
    from privclust.models.compose import compose
    from privclust.models.cost_limits import limits
    from privclust.models.model_file import save
    from privclust.models.profile_file import load_profile, save_profile
    from privclust.models.track import track
    from privclust.planning.forecast import forecast
    from privclust.planning.simulate import simulate
    from privclust.privacy.ledger.journal import LedgerError
    from privclust.privacy.ledger.ledger import BudgetExceededError, Ledger
    from privclust.remote.error import RemoteError
    from privclust.remote.node import RemoteNode
    from privclust.remote.table import RemoteTable
    from privclust.sources.dialects import Files
    from privclust.sources.sql.table import sql

__all__ = [
    "BalcanKMeans",
    "BudgetExceededError",
    "DPLloyd",
    "FastLloyd",
    "FedDPKMeans",
    "Federation",
    "Files",
    "HDPEMeans",
    "LSHCoreset",
    "Ledger",
    "LedgerError",
    "NodeFederation",
    "PEMeans",
    "PrivateClusterer",
    "PrivateKMeans",
    "RemoteError",
    "RemoteNode",
    "RemoteTable",
    "__version__",
    "compare",
    "compose",
    "forecast",
    "limits",
    "load",
    "load_profile",
    "on_spark",
    "save",
    "save_profile",
    "show_versions",
    "simulate",
    "sql",
    "track",
]
_PACKAGES = {
    "BalcanKMeans": "estimators",
    "BudgetExceededError": "privacy.ledger.ledger",
    "DPLloyd": "estimators",
    "FastLloyd": "estimators",
    "FedDPKMeans": "estimators",
    "Federation": "engines.federated.federation",
    "Files": "sources.dialects",
    "HDPEMeans": "estimators",
    "LSHCoreset": "estimators",
    "Ledger": "privacy.ledger.ledger",
    "LedgerError": "privacy.ledger.journal",
    "NodeFederation": "cohorts.federation",
    "PEMeans": "estimators",
    "PrivateClusterer": "estimators.base",
    "PrivateKMeans": "estimators",
    "RemoteError": "remote.error",
    "RemoteNode": "remote.node",
    "RemoteTable": "remote.table",
    "compare": "models.compare",
    "compose": "models.compose",
    "forecast": "planning.forecast",
    "limits": "models.cost_limits",
    "load": "estimators._load",
    "load_profile": "models.profile_file",
    "on_spark": "engines.spark.table",
    "save": "models.model_file",
    "save_profile": "models.profile_file",
    "show_versions": "estimators._versions",
    "simulate": "planning.simulate",
    "sql": "sources.sql.table",
    "track": "models.track",
}


def __getattr__(name: str) -> object:
    # Estimators load scikit-learn; a federated client that only needs queries should not.
    if name in _PACKAGES:
        return getattr(import_module(f"privclust.{_PACKAGES[name]}"), name)
    raise AttributeError(f"module 'privclust' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
