"""Domains, and the columns that they declare, as files keep them."""
# merge: Domain.to_dict and domain_from_dict take the place of the first two.

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from privclust.domains._declared import declaration, declared_column
from privclust.domains.base import Ball, Box, Domain
from privclust.domains.mixed import Column, DateColumn, Mixed
from privclust.domains.sphere import Sphere


def domain_content(domain: Domain) -> dict[str, Any]:
    """Return a domain as plain values, for JSON."""
    if isinstance(domain, Box):
        sides = {"lower": domain.lower, "upper": domain.upper, "weights": domain.weights}
        return {"box": {name: side.tolist() for name, side in sides.items()}}
    if isinstance(domain, Mixed):
        return {"columns": [column_content(column) for column in domain.columns]}
    if isinstance(domain, Sphere):
        return {"sphere": {"n_columns": domain.n_columns, "vector": domain.vector}}
    assert isinstance(domain, Ball)
    return {"ball": {"middle": domain.middle.tolist(), "radius": domain.radius}}


def domain_from(content: Mapping[str, Any]) -> Domain:
    """Return the domain that `domain_content` described, checked anew."""
    if "sphere" in content:
        return Sphere(**content["sphere"])
    if "columns" in content:
        return Mixed(tuple(column_from(column) for column in content["columns"]))
    return Box(**content["box"]) if "box" in content else Ball(**content["ball"])


def column_content(column: Column) -> dict[str, Any]:
    """Return what was declared of a column as plain values, for JSON."""
    content = declaration(column)
    if isinstance(column, DateColumn):
        content |= {side: content[side].isoformat() for side in ("lower", "upper")}
    return content


def column_from(content: Mapping[str, Any]) -> Column:
    """Return the column that `column_content` described, checked anew."""
    if content["type"] == "date":
        days = {side: date.fromisoformat(content[side]) for side in ("lower", "upper")}
        content = {**content, **days}
    return declared_column(content["name"], content)
