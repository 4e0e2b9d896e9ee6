"""In what two models of the same columns were declared otherwise, which their centres do not show.

All of it is public: units, parameters and bounds as they were typed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from privclust.errors import safe_repr
from privclust.models._fit_notes import LISTED
from privclust.models.cluster_model import ClusterModel
from privclust.queries.unit import Unit


def differences(before: ClusterModel, after: ClusterModel) -> list[str]:
    """Return in what two models differ beside their clusters, in sentences; none if in nothing.

    Examples
    --------
    >>> from privclust import PrivateKMeans
    >>> rows = [[30.0], [60.0]] * 500
    >>> models = [PrivateKMeans(1, delta=1e-6, bounds=(0, top)).fit(rows) for top in (100, 120)]
    >>> differences(*(model.model_ for model in models))[0].partition(": ")[2]
    "upper of 'column 0' is 100.0 and 120.0."
    """
    found = _declared_otherwise(before, after)
    more = ", …" if len(found) > LISTED else ""
    sentences = _counted_otherwise(before, after)
    if found:
        sentences.append(
            "The models were fitted with other declarations, so that rows count otherwise and "
            f"clusters may differ though nothing moved: {'; '.join(found[:LISTED])}{more}."
        )
    if before.decimal != after.decimal:
        sentences.append(
            f"Decimals of the first model's files were read with {before.decimal!r} and those of "
            f"the second with {after.decimal!r}: where files are written alike, one of the two "
            "read its numbers wrongly or as missing."
        )
    if before.center_stderr is None or after.center_stderr is None:
        sentences.append(
            "Standard errors of centres are not known of both models, so no cluster is said to "
            "have moved."
        )
    return sentences


def _counted_otherwise(before: ClusterModel, after: ClusterModel) -> list[str]:
    one, other = (_counted(model.privacy_statement.run.unit) for model in (before, after))
    if one == other:
        return []
    return [f"Sizes cannot be compared: the first model counts {one}, the second {other}."]


def _counted(unit: Unit) -> str:
    if unit.column is None:
        return "every row"
    rows = f"{unit.total_rows:,} row{'s' if unit.total_rows > 1 else ''}"
    where = " in each cluster" if unit.whole else ""
    return f"each {safe_repr(unit.column)} as {rows} at most{where}"


def _declared_otherwise(before: ClusterModel, after: ClusterModel) -> list[str]:
    scales = [model.parameters.get("scale") for model in (before, after)]
    found = []
    if scales[0] != scales[1]:
        found.append(f"scale is {safe_repr(scales[0])} and {safe_repr(scales[1])}")
    one, other = _declared(before), _declared(after)
    # Measured weights are results, and other ones in each fit.
    skipped = {"weight"} if "private" in scales else set()
    for name in one.keys() | other.keys():
        sides = one.get(name, {}), other.get(name, {})
        found += [
            f"{field} of {safe_repr(name)} is {_text(sides[0], field)} and {_text(sides[1], field)}"
            for field in sorted((sides[0].keys() | sides[1].keys()) - skipped)
            if sides[0].get(field) != sides[1].get(field)
        ]
    return sorted(found)


def _declared(model: ClusterModel) -> dict[str, Mapping[str, Any]]:
    """Return what a model declares: of each column, or of all together."""
    names = model.coordinate_names if model.feature_names_in is None else model.feature_names_in
    given = model.domain.parameters(model.parameters.get("scale"), names)
    bounds = given.get("bounds")
    if not isinstance(bounds, Mapping):
        return {"all columns": given}
    # A box and declared columns write the same numbers with other defaults.
    plain = {"transform": "none", "weight": 1.0}
    return {
        name: {field: value for field, value in content.items() if plain.get(field) != value}
        for name, content in bounds.items()
    }


def _text(declared: Mapping[str, Any], field: str) -> str:
    default = {"weight": "1.0", "transform": "'none'"}.get(field, "not declared")
    return safe_repr(declared[field]) if field in declared else default
