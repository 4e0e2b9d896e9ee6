"""privclust: clustering of sensitive data under differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privclust.estimators import HDPEMeans, PEMeans, PrivateKMeans
    from privclust.privacy.journal import LedgerError
    from privclust.privacy.ledger import BudgetExceededError, Ledger

__all__ = [
    "BudgetExceededError",
    "HDPEMeans",
    "Ledger",
    "LedgerError",
    "PEMeans",
    "PrivateKMeans",
    "__version__",
]
__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> object:
    # Estimators load scikit-learn; a federated client that only needs queries should not.
    if name in ("BudgetExceededError", "Ledger", "LedgerError"):
        from privclust.privacy import ledger

        return getattr(ledger, name)
    if name in __all__:
        from privclust import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'privclust' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
