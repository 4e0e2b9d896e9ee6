"""The report's list of bounds: what the user declared of each column."""
# merge: model.domain.describe(model.feature_names_in) takes its place.

from __future__ import annotations

from privclust.domains.base import Ball, Box
from privclust.domains.mixed import CategoryColumn, Column, DateColumn, Mixed
from privclust.domains.sphere import Sphere
from privclust.models._coordinates import coordinate_names
from privclust.models.cluster_model import ClusterModel


def bounds_of(model: ClusterModel) -> list[tuple[str, list[str]]]:
    """Return each column with what was declared of it: two bounds, or all its levels."""
    domain = model.domain
    if isinstance(domain, Mixed):
        return [_declared(column) for column in domain.columns]
    if isinstance(domain, Sphere):
        return [("direction alone", ["none", "none"])]
    if isinstance(domain, Box):
        sides = zip(coordinate_names(model), domain.lower, domain.upper, strict=True)
        return [(name, [f"{lower:g}", f"{upper:g}"]) for name, lower, upper in sides]
    assert isinstance(domain, Ball)
    return [("distance from the origin", ["0", f"{domain.radius:g}"])]


def _declared(column: Column) -> tuple[str, list[str]]:
    if isinstance(column, CategoryColumn):
        return column.name, [", ".join(column.levels)]
    if isinstance(column, DateColumn):
        return column.name, [column.lower.isoformat(), column.upper.isoformat()]
    scale = "" if column.transform == "none" else f" ({column.transform} scale)"
    return column.name + scale, [f"{column.lower:g}", f"{column.upper:g}"]
