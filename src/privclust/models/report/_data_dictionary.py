"""The data dictionary of a release: each column, what it is declared as, which values count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privclust.domains.columns import Column
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
            (name, CLUSTERED, one.use, _declared(one, declared) + weights.get(one.name, ""))
            for one in columns
            for name, declared in [one.describe()]
        ]
    return found + [
        (name, PROFILED, one.column.use, _declared(one.column, declared))
        for profile in profiles
        for one in profile.columns
        for name, declared in [one.column.describe()]
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


def _declared(column: Column, declared: list[str]) -> str:
    """Return which values count, and as what missing cells do if that is declared."""
    missing = column.missing_text
    return _values(declared) + ("" if missing is None else f"; missing cells count as {missing}")


def _values(declared: list[str]) -> str:
    if len(declared) == 1:
        return f"levels: {declared[0]}"
    return "any" if declared == ["none", "none"] else " to ".join(declared)
