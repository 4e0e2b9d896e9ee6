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
    columns = domain.bounded_columns(names)
    if columns is None:
        bounds = "; ".join(f"{what}: {_values(sides)}" for what, sides in domain.describe(names))
        found: list[tuple[str, str, Use, str]] = [
            (name, CLUSTERED, domain.uses.get(name, "number"), f"all columns together: {bounds}")
            for name in names
        ]
    else:
        weights = _weights(model)
        # A description has another name than its column where this is on logarithms.
        found = [
            (name, CLUSTERED, column.use, _values(declared) + weights.get(column.name, ""))
            for column in columns
            for name, declared in [column.describe()]
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
