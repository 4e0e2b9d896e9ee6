"""Estimators as scikit-learn has them: one thin class per algorithm."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privclust.estimators.balcan_kmeans import BalcanKMeans
    from privclust.estimators.dp_lloyd import DPLloyd
    from privclust.estimators.fast_lloyd import FastLloyd
    from privclust.estimators.feddp_kmeans import FedDPKMeans
    from privclust.estimators.hdpe_means import HDPEMeans
    from privclust.estimators.lsh_coreset import LSHCoreset
    from privclust.estimators.pe_means import PEMeans
    from privclust.estimators.private_kmeans import PrivateKMeans

__all__ = [
    "BalcanKMeans",
    "DPLloyd",
    "FastLloyd",
    "FedDPKMeans",
    "HDPEMeans",
    "LSHCoreset",
    "PEMeans",
    "PrivateKMeans",
]
_MODULES = {
    "BalcanKMeans": "balcan_kmeans",
    "DPLloyd": "dp_lloyd",
    "FastLloyd": "fast_lloyd",
    "FedDPKMeans": "feddp_kmeans",
    "HDPEMeans": "hdpe_means",
    "LSHCoreset": "lsh_coreset",
    "PEMeans": "pe_means",
    "PrivateKMeans": "private_kmeans",
}


def __getattr__(name: str) -> object:
    # One algorithm does not load the others, nor a command that fits nothing scikit-learn.
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
