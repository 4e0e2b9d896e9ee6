"""In which columns centres, or all rows, lie at a bound: from centres, sizes and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privclust.domains.columns import CategoryColumn, DateColumn, NumberColumn
from privclust.kernels.grid import FloatArray
from privclust.models._fit_notes import columns_of, parts_of_columns

if TYPE_CHECKING:
    from privclust.models.cluster_model import ClusterModel

AT_BOUND = 0.1
"""Parts of half a column's width from a bound within which a centre is said to lie at it."""
ALL_AT_BOUND, NEARLY_ALL_ROWS = 0.01, 0.95
"""All rows seem to lie at a bound if clusters with this part of them have centres this close to it,
noise allowed for: no more than a tenth of such a cluster's rows lie farther from it than a tenth
of half the width."""
SURE = 3.0
"""Standard errors by which noise is allowed for."""


class Place(NamedTuple):
    """One coordinate of centres: where it lies from -1 to 1 between its bounds, and its error."""

    center: FloatArray
    error: FloatArray


def columns_at_bounds(model: ClusterModel) -> list[NumberColumn | DateColumn]:
    """Return the numbers and dates of which a centre of a reported cluster lies at a bound."""
    large = _reported(model)

    def is_at_bound(column: NumberColumn | DateColumn, place: Place) -> bool:
        at_lower = (place.center <= AT_BOUND - 1) & (column.lower != 0)
        at_either = (place.center >= 1 - AT_BOUND) | at_lower
        return bool((at_either & (place.error < AT_BOUND))[large].any())

    return [column for column, place in _places(model) if is_at_bound(column, place)]


def bounds_with_all_rows(model: ClusterModel) -> dict[str, Literal["lower", "upper"]]:
    """Return at which bound of which columns all rows seem to lie, or beyond it."""
    large, sizes = _reported(model), np.maximum(model.cluster_sizes, 0.0)
    if not large.any() or sizes[large].sum() < NEARLY_ALL_ROWS * sizes.sum():
        return {}
    found = dict[str, Literal["lower", "upper"]]()
    for column, (center, error) in _places(model):
        if (1 - center + SURE * error <= ALL_AT_BOUND)[large].all():
            found[column.name] = "upper"
        elif (1 + center + SURE * error <= ALL_AT_BOUND)[large].all() and column.lower != 0:
            found[column.name] = "lower"
    return found


def _places(model: ClusterModel) -> list[tuple[NumberColumn | DateColumn, Place]]:
    """Return the places of centres in numbers and dates, except in flags, 0 or 1."""
    domain, errors, columns = model.domain, model.center_stderr, columns_of(model)
    if errors is None:
        return []
    widths = domain.half_widths
    centers = (domain.to_scales(model.cluster_centers) - domain.center) / widths
    errors = errors / domain.slopes(model.cluster_centers) / widths
    return [
        (column, Place(centers[:, part.start], errors[:, part.start]))
        for column, part in zip(columns, parts_of_columns(columns), strict=True)
        if not isinstance(column, CategoryColumn) and (column.lower, column.upper) != (0, 1)
    ]


def _reported(model: ClusterModel) -> NDArray[np.bool_]:
    # Its module imports that of models, which imports those of notes.
    from privclust.models.suppression import reported

    return reported(model)
