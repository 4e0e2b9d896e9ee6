"""A model of today's estimators, and back."""
# merge: replaced by est, whose estimators hold a ClusterModel and have from_model.

from __future__ import annotations

from typing import Any

import numpy as np

from privclust.domains.base import Ball, Box
from privclust.models.cluster_model import ClusterModel
from privclust.models.model_file import NOT_SAVED

_OPTIONAL = ("center_stderr", "size_stderr", "cluster_radii", "coreset")


def paste(kind: Any) -> None:
    """Give a class `model_` and `from_model`."""
    kind.model_ = property(_model)
    kind.from_model = classmethod(_from_model)


def _model(self: Any) -> ClusterModel:
    given = self.get_params(deep=False)
    names = getattr(self, "feature_names_in_", None)
    return ClusterModel(
        type(self).__name__,
        {name: value for name, value in given.items() if name not in NOT_SAVED},
        self.domain_,
        self.n_features_in_,
        None if names is None else tuple(map(str, names)),
        int(self.n_rows_),
        self.cluster_centers_,
        self.cluster_sizes_,
        self.releases_,
        self.privacy_statement_,
        **{name: getattr(self, f"{name}_", None) for name in _OPTIONAL},
        participation=getattr(self, "attendance_", None),
    )


def _from_model(cls: Any, model: ClusterModel) -> Any:
    from privclust.estimators._fit import keep_columns

    domain, found = model.domain, cls(**model.parameters)
    if isinstance(domain, Ball):
        # A radius is from the origin; a ball around public rows has another middle.
        found.set_params(radius=None if domain.middle.any() else domain.radius)
    elif isinstance(domain, Box) and (
        model.parameters["scale"] == "none" or np.all(domain.weights == 1)  # pairs have no weights
    ):
        found.set_params(bounds=(domain.lower, domain.upper))
    keep_columns(found, domain, model.n_features_in, model.feature_names_in)
    for name in ("cluster_centers", "cluster_sizes", "n_rows", "releases", "privacy_statement"):
        setattr(found, f"{name}_", getattr(model, name))
    for name in _OPTIONAL:
        if getattr(model, name) is not None:
            setattr(found, f"{name}_", getattr(model, name))
    return found
