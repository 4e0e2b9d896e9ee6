"""privclust: clustering of sensitive data under differential privacy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privclust.estimators import PEMeans

__all__ = ["PEMeans", "__version__"]
__version__ = "0.1.0.dev0"


def __getattr__(name: str) -> object:
    # Estimators load scikit-learn; a federated client that only needs queries should not.
    if name == "PEMeans":
        from privclust.estimators import PEMeans

        return PEMeans
    raise AttributeError(f"module 'privclust' has no attribute {name!r}")
