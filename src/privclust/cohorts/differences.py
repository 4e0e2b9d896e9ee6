"""In what the terms of a fit differ from a node's policy, for whoever has to bring them together.

All of it is public: a coordinator is told what a node's owner declared, and never what rows hold.
"""

from __future__ import annotations

from typing import Protocol

from privclust.domains.base import Domain
from privclust.engines.federated._request import Columns
from privclust.engines.federated.wire import encode
from privclust.errors import safe_repr
from privclust.queries.unit import Unit

ABSENT = "not there"


class DeclaredTable(Protocol):
    """What a policy and terms both declare of a table."""

    @property
    def columns(self) -> Columns:
        """The columns, or how many there are."""

    @property
    def domain(self) -> Domain:
        """What is declared about their values."""

    @property
    def unit(self) -> Unit:
        """Whose rows count as one."""


def difference(policy: DeclaredTable, terms: DeclaredTable) -> str | None:
    """Return the first difference between a policy and terms with both values; None without one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from privclust.domains.box import Box
    >>> mine = SimpleNamespace(columns=("age",), domain=Box([0], [120]), unit=Unit())
    >>> theirs = SimpleNamespace(columns=("age",), domain=Box([0], [99]), unit=Unit())
    >>> difference(mine, theirs)
    "upper of column 'age' is 120.0 in its policy and 99.0 in the terms"
    """
    declared, wanted = (encode((one.columns, one.domain, one.unit)) for one in (policy, terms))
    if declared == wanted:
        return None
    if policy.columns != terms.columns:
        return _differ("columns", _listed(policy.columns), _listed(terms.columns))
    if policy.unit.column != terms.unit.column:
        return _differ("unit", f"one {policy.unit.quoted}", f"one {terms.unit.quoted}")
    if policy.unit.rows != terms.unit.rows:
        return _differ("max_rows_per_unit", str(policy.unit.rows), str(terms.unit.rows))
    return _difference_of_domains(policy.domain, terms.domain, policy.columns)


def _difference_of_domains(policy: Domain, terms: Domain, columns: Columns) -> str:
    names = tuple(map(str, range(columns))) if isinstance(columns, int) else columns
    declared, wanted = policy.bounded_columns(names), terms.bounded_columns(names)
    if declared is None or wanted is None:
        return _differ("the kind of bounds", safe_repr(policy.kind), safe_repr(terms.kind))
    for one, other in zip(declared, wanted, strict=False):
        mine, theirs = one.to_dict(), other.to_dict()
        for field in mine | theirs:
            if mine.get(field) != theirs.get(field):
                found = [_text(side[field]) if field in side else ABSENT for side in (mine, theirs)]
                return _differ(f"{field} of column {safe_repr(one.name)}", *found)
    return "columns count otherwise in its policy than in the terms: by scale, weights or order"


def _differ(what: str, policy: str, terms: str) -> str:
    verb = "are" if what == "columns" else "is"
    return f"{what} {verb} {policy} in its policy and {terms} in the terms"


def _listed(columns: Columns) -> str:
    if isinstance(columns, int):
        return f"{columns} without names"
    return ", ".join(map(safe_repr, columns))


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(safe_repr, value))}]"
    return safe_repr(value)
