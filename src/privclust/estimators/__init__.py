"""The scikit-learn face: one thin class per algorithm."""

from privclust.estimators import _model_adapter
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

for _name in __all__:  # merge: replaced by est
    _model_adapter.paste(globals()[_name])
