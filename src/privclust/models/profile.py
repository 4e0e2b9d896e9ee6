"""What other columns are like in each cluster of a model."""
# merge: replaced by est, who moves these here; report, compose and profile_file import them.

from __future__ import annotations

from hashlib import sha256

from privclust.algorithms.profile import ColumnProfile
from privclust.domains._places import in_ball
from privclust.estimators._profile import Profile, said, summary
from privclust.kernels.grid import to_grid
from privclust.models.cluster_model import ClusterModel

__all__ = ["ColumnProfile", "Profile", "clusters_of", "said", "summary"]


def clusters_of(model: ClusterModel) -> str:
    """Return a hash of a model's centres, as rows are assigned to them."""
    centers = to_grid(in_ball(model.domain, model.cluster_centers))
    return sha256(centers.tobytes()).hexdigest()[:16]
