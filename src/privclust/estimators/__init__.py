"""The scikit-learn face: one thin class per algorithm."""

from privclust.estimators.hdpe_means import HDPEMeans
from privclust.estimators.pe_means import PEMeans
from privclust.estimators.private_kmeans import PrivateKMeans

__all__ = ["HDPEMeans", "PEMeans", "PrivateKMeans"]
