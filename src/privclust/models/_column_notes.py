"""What a fit tells of single columns: which one rules, which ones hardly count or tell nothing.

All of it follows from what the fit released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privclust.domains.columns import OTHER, CategoryColumn, Column, DateColumn, NumberColumn
from privclust.kernels.grid import FloatArray
from privclust.models._bound_places import AT_BOUND, bounds_with_all_rows, columns_at_bounds
from privclust.models._fit_notes import (
    RULING,
    columns_of,
    listed,
    not_read,
    parts_of_columns,
    perhaps_unread,
    smaller_weight,
    variance_parts,
)
from privclust.models.quality import TOLD_APART

if TYPE_CHECKING:
    from privclust.models.cluster_model import ClusterModel

MATCHED = 0.5
"""If fewer cells of a category than this part can have a declared level, that is said."""
NEARLY_ALL = 0.95
"""From this share of "other" on, few cells have another declared level."""
NARROW, OVERSHADOWED = 0.03, 0.1
"""Standard deviations below which a column hardly counts: parts of half the width of its bounds,
and of that of the column that counts most."""
CROWDED, BULK, BEYOND, TAIL = 0.1, 0.75, 3.0, 0.01
"""A long tail: in the lowest tenth of the bounds lie three quarters of the rows, and beyond it,
three times as far out as these, at least one of a hundred."""
OUTSIDE = 5.0
"""Standard errors by which a point of the coreset lies beyond, of thousands that noise moves."""
LARGE, ALIKE, FEWEST_LEVELS = 0.05, 0.25, 3
"""Of clusters with this part of the rows, shares of at least so many levels are alike if each is
off their mean by no more than this part of it."""
FEW = 5.0
"""Up to here a logarithm changes little: columns with no larger bound are no amounts."""
APART = 3.0
"""Standard errors by which two centres differ at least, if clusters differ in a column."""


def column_warnings(model: ClusterModel) -> list[str]:
    """Return which columns may be declared otherwise than was meant, and what would help.

    If the fit warned that noise hides clusters, columns are not judged.
    """
    if model.fit_warning is not None:
        return []
    found = [unmatched(model), all_other(model), overshadowed(model), long_tailed(model)]
    if found[2] is None and found[3] is None:  # otherwise that is why another column rules
        found.append(ruled_by(model))
    return [note for note in found if note is not None]


def ruled_by(model: ClusterModel) -> str | None:
    """Return which column alone makes clusters, in words; None if there is none."""
    shares = variance_parts(model)
    if not shares or max(shares.values()) < RULING:
        return None
    name = max(shares, key=lambda column: shares[column])
    (column,) = [one for one in columns_of(model) if one.name == name]
    lead = (
        f"Clusters differ by {name!r} nearly alone: it has {100 * shares[name]:.0f} % of the "
        "variance of their centres."
    )
    if isinstance(column, DateColumn):
        return (
            f"{lead} So they are spans of time. If they should not be, leave the column out of the "
            f"table, or give it a smaller weight: {smaller_weight(model, column)}."
        )
    return (
        f"{lead} If other columns should count more, give it a smaller weight: "
        f"{smaller_weight(model, column)}; or fit with scale 'private', by which columns count by "
        "their spread."
    )


def unmatched(model: ClusterModel) -> str | None:
    """Return of which categories few cells have a declared level, in words; None if there are none.

    A cell with a level lies at a known distance from equal shares, any other cell there itself. So
    the mean square of these distances tells how many have one. It is that of centres, which is
    known, and that within clusters, which is no more than the loss.
    """
    quality, domain = model.quality, model.domain
    columns = domain.bounded_columns(model.coordinate_names)
    if columns is None or quality is None or not domain.centers_are_means:
        return None
    sizes = np.maximum(model.cluster_sizes, 0.0)
    squares = sizes @ domain.to_ball(model.cluster_centers) ** 2 / max(float(sizes.sum()), 1.0)
    within = max(0.0, quality.loss + TOLD_APART * quality.loss_stderr)
    found = []
    for column, part in zip(columns, parts_of_columns(columns), strict=True):
        if isinstance(column, CategoryColumn):
            of_level = (1 - 1 / len(column.levels)) / domain.scales[part.start] ** 2
            most = (float(squares[part].sum()) + within) / of_level
            if most < MATCHED:
                found.append(f"{column.name!r} {math.ceil(100 * most)} %")
    if not found:
        return None
    return (
        f"Few cells have a declared level, by noisy figures at most: {listed(found)}. All others "
        "count as missing. Levels are compared letter by letter: look whether they are declared "
        "as the table writes them."
    )


def all_other(model: ClusterModel) -> str | None:
    """Return of which categories nearly all cells count as "other", in words; None if of none."""
    sizes = np.maximum(model.cluster_sizes, 0.0)
    shares = sizes @ model.cluster_centers / max(float(sizes.sum()), 1.0)
    columns = columns_of(model)
    found = [
        repr(column.name)
        for column, part in zip(columns, parts_of_columns(columns), strict=True)
        if isinstance(column, CategoryColumn)
        and OTHER in column.levels
        and shares[part][column.levels.index(OTHER)] >= NEARLY_ALL
    ]
    if not found:
        return None
    return (
        f"Nearly all cells of {listed(found)} count as {OTHER!r}, as cells do whose level is not "
        "declared. Levels are compared letter by letter: look whether they are declared as the "
        "table writes them."
    )


def overshadowed(model: ClusterModel) -> str | None:
    """Return which numbers and dates hardly count, in words; None if there are none."""
    columns, cells = model.domain.bounded_columns(model.coordinate_names), _weighed_cells(model)
    if columns is None or cells is None:
        return None
    weights, points = cells.weights, model.domain.to_ball(cells.points)
    spreads = np.sqrt(weights @ (points - weights @ points) ** 2)
    of_width = spreads * model.domain.scales / model.domain.half_widths
    narrow = (of_width < NARROW) & (spreads < OVERSHADOWED * spreads.max())
    # Where cells were not read, or lie beyond a bound, narrower bounds would not help.
    explained = {*perhaps_unread(model), *(column.name for column in columns_at_bounds(model))}
    found = [
        column
        for column, part in zip(columns, parts_of_columns(columns), strict=True)
        if column.use != "category" and narrow[part].all() and column.name not in explained
    ]
    if not found:
        return None
    amounts = [
        column for column in found if isinstance(column, NumberColumn) and _may_be_amount(column)
    ]
    logarithm = (
        " If a few values are far larger, as of an amount, a count or a duration, declare the "
        f"logarithm: {_logarithm_of(amounts[0])}."
        if amounts
        else ""
    )
    return (
        f"Rows fill a small part of the bounds of {_names(found)}, so that clusters hardly depend "
        "on how they differ there. If that should count, declare narrower bounds from knowledge of "
        f"the field.{logarithm}"
    )


def long_tailed(model: ClusterModel) -> str | None:
    """Return which numbers seem to have a long tail, in words; None if there are none.

    Noise moves points of the coreset, by more the fewer rows they stand for. What it may explain is
    no tail.
    """
    columns, cells = model.domain.bounded_columns(model.coordinate_names), _weighed_cells(model)
    if columns is None or cells is None:
        return None
    found = [
        column
        for column, part in zip(columns, parts_of_columns(columns), strict=True)
        if isinstance(column, NumberColumn)
        and _may_be_amount(column)
        and _has_tail(model, cells, column, part.start)
    ]
    if not found:
        return None
    return (
        "Most rows lie in the lowest tenth of the bounds of "
        f"{_names(found)} and some far beyond, as amounts, "
        f"counts and durations do. If it is one, declare its logarithm: {_logarithm_of(found[0])}."
    )


def _has_tail(model: ClusterModel, cells: _Cells, column: NumberColumn, coordinate: int) -> bool:
    """Tell whether most rows of a column lie low and, noise allowed for, some far beyond."""
    assert model.coreset is not None
    places, weights = cells.points[:, coordinate] - column.lower, cells.weights
    order = np.argsort(places)
    bulk = places[order][np.searchsorted(np.cumsum(weights[order]), BULK)]
    tenth = CROWDED * (column.upper - column.lower)
    errors = model.coreset.precision.center_stderr * model.domain.scales[coordinate]
    far = places - max(BEYOND * bulk, tenth)
    some = float(weights[far > 0].sum()) >= TAIL and bool((far > OUTSIDE * errors).any())
    return bool(bulk <= tenth) and some


def at_bounds(model: ClusterModel) -> str | None:
    """Return in which numbers and dates centres lie at a bound, in words; None if in none.

    Rows beyond a bound count as if they had its value, so that nothing else shows too narrow ones.
    0 is no such bound, nor are those of flags, 0 and 1: many rows have these values.
    """
    columns, all_there = columns_at_bounds(model), rows_at_bounds(model)
    if not columns:
        return None
    whole = bounds_with_all_rows(model)
    found = [column for column in columns if column.name not in whole]
    some = (
        f"Some centres lie at a bound of {_names(found)}. Rows beyond a bound count as if they had "
        "its value: if there may be many, declare wider bounds."
    )
    zeros = any(
        isinstance(column, NumberColumn) and column.transform == "log" for column in columns
    )
    hint = 'Zeros lie beyond those of a logarithm: transform = "log1p" takes them.'
    filled = _names([column for column in columns if _counts_missing_at_bound(column)])
    gaps = f"Missing cells of {filled} count as values there, too."
    notes = all_there, some if found else None, hint if zeros else None, gaps if filled else None
    return " ".join(note for note in notes if note is not None)


def rows_at_bounds(model: ClusterModel) -> str | None:
    """Return at which bounds nearly all rows seem to lie, in words; None if at none."""
    found = bounds_with_all_rows(model)
    if not found:
        return None
    places = listed([f"the {bound} one of {name!r}" for name, bound in found.items()])
    return (
        f"Nearly all rows seem to lie at or beyond a bound: {places}. Rows beyond a bound count as "
        "if they had its value, so that nothing there tells them apart. Declare bounds that hold "
        "the values, from knowledge of the field; look whether units and decimals are as declared."
    )


def nothing_differs(model: ClusterModel) -> str | None:
    """Return why all rows look alike, if that is due to how columns are declared; None if not."""
    columns = {column.name for column in columns_of(model)}
    if not columns or columns - {*perhaps_unread(model), *bounds_with_all_rows(model)}:
        return None
    notes = rows_at_bounds(model), not_read(model)
    reasons = " ".join(note for note in notes if note is not None)
    return f"{reasons} Until then, more rows or a larger epsilon hardly help."


def _counts_missing_at_bound(column: NumberColumn | DateColumn) -> bool:
    """Tell whether the value that is declared for missing cells lies at a bound."""
    place = (column.missing_features - column.center) / column.half_widths
    return bool((np.abs(place) >= 1 - AT_BOUND).all())


def equal_shares(model: ClusterModel) -> str | None:
    """Return which clusters have all levels of a category alike, in words; None if none have.

    So have cells that are missing or of no declared level. Where it is so of every cluster, levels
    tell nothing apart, and nothing is said.
    """
    errors, found = model.center_stderr, []
    if model.fit_warning is not None or errors is None:
        return None
    sizes = np.maximum(model.cluster_sizes, 0.0)
    large = sizes >= LARGE * sizes.sum()
    columns = columns_of(model)
    for column, part in zip(columns, parts_of_columns(columns), strict=True):
        if not isinstance(column, CategoryColumn) or len(column.levels) < FEWEST_LEVELS:
            continue
        equal = 1 / len(column.levels)
        off = np.abs(model.cluster_centers[:, part] - equal).max(axis=1)
        alike = large & (off <= ALIKE * equal) & (errors[:, part].max(axis=1) <= ALIKE * equal)
        if alike.any() and (off[large] > equal).any():
            clusters = [f"cluster {one}" for one in np.flatnonzero(alike)]
            found.append(f"{column.name!r} in {listed(clusters)}")
    if not found:
        return None
    return (
        "All levels have nearly the same share: " + "; ".join(found) + ". So they have where cells "
        "are missing or their level is not declared as the table writes it: each counts as equal "
        "shares."
    )


def _names(columns: Sequence[Column]) -> str:
    return listed([repr(column.name) for column in columns])


def _may_be_amount(column: NumberColumn) -> bool:
    return column.transform == "none" and column.lower >= 0 and column.upper > FEW


def _logarithm_of(column: NumberColumn) -> str:
    """Return how a column on logarithms is declared, to be copied."""
    missing = "" if column.missing is None else f", 'missing': {column.missing}"
    return (
        f"in a bounds file transform = \"log1p\", in Python {{{column.name!r}: {{'type': 'number', "
        f"'lower': {column.lower}, 'upper': {column.upper}, 'transform': 'log1p'{missing}}}}}"
    )


def alike(model: ClusterModel) -> str | None:
    """Return in which columns noise explains how centres differ, in words; None if in none."""
    columns = model.domain.bounded_columns(model.coordinate_names)
    errors = model.center_stderr
    if columns is None or errors is None or len(errors) < 2 or not errors.all():
        return None
    same, unread = same_but_for_noise(model.cluster_centers, errors), perhaps_unread(model)
    found = [
        repr(column.name)
        for column, part in zip(columns, parts_of_columns(columns), strict=True)
        if same[part].all() and column.name not in unread
    ]
    if not found:
        return None
    return (
        f"Noise may explain how centres differ in {listed(found)}: the differences are within "
        f"{APART:g} standard errors. Read nothing into them."
    )


def same_but_for_noise(centers: FloatArray, errors: FloatArray) -> NDArray[np.bool_]:
    """Return in which coordinates no two centres differ by more than noise explains.

    Without an error (NaN or 0), whatever differs does.

    Examples
    --------
    >>> same_but_for_noise(np.array([[10.0, 5.0], [20.0, 6.0]]), np.ones((2, 2))).tolist()
    [False, True]
    """
    same = np.ones(centers.shape[1], dtype=bool)
    # All pairs at once would take as many times the memory as there are clusters.
    for number in range(len(centers)):
        apart = np.abs(centers[number:, same] - centers[number, same])
        noise = np.sqrt(errors[number:, same] ** 2 + errors[number, same] ** 2)
        same[same] = (apart < APART * noise).all(axis=0)
    return same


class _Cells(NamedTuple):
    """Points of a coreset in the user's units, and the part of all rows that each stands for."""

    points: FloatArray
    weights: FloatArray


def _weighed_cells(model: ClusterModel) -> _Cells | None:
    """Return a model's coreset; None if it has none, or one without any row."""
    if model.coreset is None:
        return None
    weights = np.maximum(model.coreset.weights, 0.0)
    rows = float(weights.sum())
    return None if rows < 1 else _Cells(model.coreset.points, weights / rows)
