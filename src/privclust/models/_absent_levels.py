"""Which declared levels of a category seem to have no rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privclust.domains.columns import OTHER, CategoryColumn
from privclust.kernels.grid import FloatArray
from privclust.models._column_notes import ALIKE, APART
from privclust.models._fit_notes import columns_of, listed, parts_of_columns

if TYPE_CHECKING:
    from privclust.models.cluster_model import ClusterModel

KNOWN = 0.01
"""Noise of the share of a level among all rows up to which its absence would show."""


def absent_levels(model: ClusterModel) -> str | None:
    """Return which levels have no rows that noise would show, in words; None if all have some.

    Cells without a declared level count as equal shares, so that clusters in which these are most
    are left aside: `equal_shares` names them.
    """
    errors = model.center_stderr
    if model.fit_warning is not None or errors is None:
        return None
    sizes, columns = np.maximum(model.cluster_sizes, 0.0), columns_of(model)
    found = [
        f"{level!r} of {column.name!r}"
        for column, part in zip(columns, parts_of_columns(columns), strict=True)
        if isinstance(column, CategoryColumn)
        for level, absent in zip(
            column.levels,
            _absent(model.cluster_centers[:, part], errors[:, part], sizes),
            strict=True,
        )
        if absent and level != OTHER
    ]
    if not found:
        return None
    verb = "have" if len(found) > 1 else "has"
    return (
        f"{listed(found)} {verb} no rows that noise would show. If there should be some, look "
        "whether the table writes the level so, letter by letter."
    )


def _absent(shares: FloatArray, errors: FloatArray, sizes: FloatArray) -> list[bool]:
    """Tell of each level whether noise explains its share in every cluster that has levels."""
    equal = 1 / shares.shape[1]
    parts = sizes * (np.abs(shares - equal).max(axis=1) > ALIKE * equal)
    if not parts.any():
        return [False] * shares.shape[1]
    parts = parts / parts.sum()
    noise = np.sqrt((parts[:, None] ** 2 * errors**2).sum(axis=0))
    none = (shares <= APART * errors)[parts > 0].all(axis=0)
    return list((none & (parts @ shares <= APART * noise) & (noise <= KNOWN)).tolist())
