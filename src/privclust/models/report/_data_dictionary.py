"""The data dictionary of a release: each column, what it is declared as, which values count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privclust.domains.reader import Use
from privclust.models.cluster_model import ClusterModel
from privclust.models.profile import Profile

CLUSTERED, PROFILED = "clustered", "profiled"


def data_dictionary(
    model: ClusterModel, profiles: Sequence[Profile]
) -> list[tuple[str, str, Use, str]]:
    """Return name, use in the release, declared type and declared values of each column."""
    domain = model.domain
    names = model.feature_names_in or tuple(
        f"column {place}" for place in range(model.n_features_in)
    )
    described = domain.describe(names)
    types: list[Use] = [domain.uses.get(name, "number") for name in names]
    if domain.bounded_columns(names) is None:
        together = "; ".join(f"{what}: {_values(declared)}" for what, declared in described)
        found = [
            (name, CLUSTERED, kind, f"all columns together: {together}")
            for name, kind in zip(names, types, strict=True)
        ]
    else:
        kinds = list(domain.uses.values()) or types
        weights = _weights(model)
        found = [
            (name, CLUSTERED, kind, _values(declared) + weights.get(name, ""))
            for (name, declared), kind in zip(described, kinds, strict=True)
        ]
    return found + [
        (name, PROFILED, column.column.use, _values(declared))
        for profile in profiles
        for column in profile.columns
        for name, declared in [column.column.describe()]
    ]


def _weights(model: ClusterModel) -> dict[str, str]:
    """Return for columns that count more or less than others how much, as it was declared."""
    scale = model.parameters.get("scale")
    declared = model.domain.parameters(scale, model.feature_names_in).get("bounds")
    if scale == "private" or not isinstance(declared, Mapping):
        return {}
    weights = {
        name: column.get("weight", 1.0)
        for name, column in declared.items()
        if isinstance(column, Mapping)
    }
    return {name: f"; weight {weight:g}" for name, weight in weights.items() if weight != 1}


def _values(declared: list[str]) -> str:
    if len(declared) == 1:
        return f"levels: {declared[0]}"
    return "any" if declared == ["none", "none"] else " to ".join(declared)
