"""What centres and sizes tell beside the loss: how much they explain, and by which columns.

All of it follows from what the fit released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import NDArray

from privclust.domains.columns import WEIGHT_MIN, CategoryColumn, Column, DateColumn, NumberColumn
from privclust.kernels.grid import FloatArray
from privclust.models.quality import TOLD_APART

if TYPE_CHECKING:
    from privclust.models.cluster_model import ClusterModel

AT_THE_MIDDLE = 4.0
"""Standard errors within which all centres of a column that was not read lie where its missing
cells do."""
SHARP = 0.02
"""Parts of half a column's width: of centres with larger errors, where they lie means nothing."""
OFF_THE_MIDDLE, OFF_SHARE = 0.05, 0.5
"""A column was read if points of the coreset with this part of the rows lie off where its missing
cells do by this part of half its width, and not by noise."""
LISTED, NAMED = 5, 3
DECIDING = 0.4
"""From this part of the variance of centres on, the levels of one category decide."""
IN_PART, RULING = 0.2, 0.9
"""From these parts on, clusters are in part and nearly alone what one column makes of them."""


def explained(model: ClusterModel) -> str | None:
    """Return how much of the variance the clusters explain, in words; None if noise hides it.

    Explained is the variance of centres, each counted as often as its cluster has rows; the rest is
    the loss. Noise in centres and in the loss is allowed for.
    """
    shares = _explained_shares(model)
    if shares is None:
        return None
    least, most = shares
    low, high = math.floor(100 * least), math.floor(100 * most)
    if low <= 0:
        return None
    if most == 1.0:
        return f"Clusters explain at least {low} % of the variance of rows."
    share = f"about {round(50 * (least + most))}" if high - low <= 2 else f"{low} to {high + 1}"
    return f"Clusters explain {share} % of the variance of rows."


def explained_share(model: ClusterModel) -> int | None:
    """Return the per cent of the variance that the clusters explain at least, noise allowed for."""
    shares = _explained_shares(model)
    return None if shares is None else math.floor(100 * shares[0])


def _explained_shares(model: ClusterModel) -> tuple[float, float] | None:
    """Return the least and the most that the clusters explain of the variance, or None."""
    quality = model.quality
    if quality is None or len(model.cluster_sizes) < 2 or not model.domain.centers_are_means:
        return None
    between = max(0.0, float(_variance_of_centers(model).sum()))
    error = TOLD_APART * quality.loss_stderr
    least, most = (
        between / (between + max(loss, 0.0)) if between + max(loss, 0.0) > 0 else 0.0
        for loss in (quality.loss + error, quality.loss - error)
    )
    return least, most


def not_read(model: ClusterModel) -> str | None:
    """Return which columns look as if no cell was read, in words; None if there are none."""
    found = perhaps_unread(model)
    declares = {one.name for one in columns_of(model) if one.missing_text is not None}
    at_middle = [repr(name) for name in found if name not in declares]
    at_declared = [repr(name) for name in found if name in declares]
    notes = []
    if at_middle:
        notes.append(
            f"All centres lie at the middle of {listed(at_middle)}. So they do where cells are "
            "spread evenly, and where none could be read: look whether decimals, dates and levels "
            "are written as declared. Bounds with another middle tell which."
        )
    if at_declared:
        notes.append(
            f"All centres lie at what missing cells of {listed(at_declared)} count as. So they do "
            "where cells lie around that value, and where none could be read: look whether "
            "decimals and dates are written as declared. Another value for missing cells tells "
            "which."
        )
    return " ".join(notes) or None


def perhaps_unread(model: ClusterModel) -> list[str]:
    """Return the columns in which all centres lie where missing cells do, and most of the coreset.

    A missing cell counts as the value declared for it, or as the middle of its column. Where all
    do, all centres lie there. So they do where cells are spread evenly around it, but then points
    of the coreset lie all over the column. Columns where that is 0 are not judged: there, people
    put what they have centred.
    """
    domain = model.domain
    columns = domain.bounded_columns(model.coordinate_names)
    if model.center_stderr is None or columns is None:
        return []
    widths = domain.half_widths
    missing = np.concatenate([column.missing_features for column in columns])
    offsets = np.abs(domain.to_scales(model.cluster_centers) - missing) / widths
    errors = model.center_stderr / domain.slopes(model.cluster_centers) / widths
    sharp = errors <= SHARP
    near = offsets <= AT_THE_MIDDLE * errors + 1e-4
    all_near = near.all(axis=0) & sharp.any(axis=0) & (missing != 0)
    elsewhere = _spread_in_coreset(model, missing)
    parts = zip(columns, parts_of_columns(columns), strict=True)
    return [
        column.name for column, part in parts if all_near[part].all() and not elsewhere[part].any()
    ]


def _spread_in_coreset(model: ClusterModel, missing: FloatArray) -> NDArray[np.bool_]:
    """Tell in which coordinates the coreset has most rows off missing cells, not by noise."""
    domain, coreset = model.domain, model.coreset
    if coreset is None:
        return np.zeros(domain.center.size, dtype=bool)
    offsets = np.abs(domain.to_scales(coreset.points) - missing) / domain.half_widths
    errors = coreset.precision.center_stderr[:, None] * domain.scales / domain.half_widths
    off = offsets > np.maximum(AT_THE_MIDDLE * errors, OFF_THE_MIDDLE)
    weights = np.maximum(coreset.weights, 0.0)
    return np.asarray(weights @ off >= OFF_SHARE * max(float(weights.sum()), 1.0))


def on_logarithms(model: ClusterModel) -> str | None:
    """Return which columns have means of logarithms for centres, in words; None if none have."""
    found = [column for column in columns_of(model) if is_on_logarithms(column)]
    if not found:
        return None
    with_zeros = any(column.transform == "log1p" for column in found)
    zeros = (
        " Where many cells of a cluster are 0, its centre lies between these and the others, where "
        "there may be no row."
        if with_zeros
        else ""
    )
    return (
        f"Centres of {listed([repr(column.name) for column in found])} are means of logarithms, no "
        f"higher than means.{zeros}"
    )


def is_on_logarithms(column: Column) -> TypeGuard[NumberColumn]:
    """Tell whether the centres of a column are means of logarithms."""
    return isinstance(column, NumberColumn) and column.transform != "none"


def differ_most(model: ClusterModel) -> str | None:
    """Return the columns in which clusters differ most, in words; None if there is one column."""
    shares = variance_parts(model)
    if not shares:
        return None
    most = sorted(shares.items(), key=lambda item: -item[1])[:NAMED]
    percents = {name: round(100 * part) for name, part in most if part >= 0.01}
    named = ", ".join(f"{name!r} {percent} %" for name, percent in percents.items())
    rest = 100 - sum(percents.values())
    others = f", others {rest} %" if rest > 0 and len(shares) > len(percents) else ""
    hints = _weight_hints(model, shares)
    return " ".join([f"Of the variance of their centres, columns have: {named}{others}.", *hints])


def _weight_hints(model: ClusterModel, shares: dict[str, float]) -> list[str]:
    """Return which columns may count more than they should, and how to give them less weight."""
    first, found = max(shares, key=lambda name: shares[name]), []
    for column in columns_of(model):
        name = column.name
        if isinstance(column, DateColumn) and IN_PART <= shares[name] < RULING:
            found.append(
                f"By {name!r} clusters are in part spans of time; if they should not be, leave it "
                f"out or give it a smaller weight: {smaller_weight(model, column)}."
            )
        elif isinstance(column, CategoryColumn) and name == first and shares[name] >= DECIDING:
            found.append(
                f"Levels of {name!r} decide most; if they should only help to, give it a smaller "
                f"weight: {smaller_weight(model, column)}; or fit with scale 'private'."
            )
    return found


def smaller_weight(model: ClusterModel, column: Column) -> str:
    """Return how a column is declared with a third of its weight, in a file and in Python."""
    declared = {**column.to_dict(), "weight": 1.0}
    scale, name = model.parameters.get("scale"), declared.pop("name")
    if scale != "private":  # which measures weights
        bounds = model.domain.parameters(scale, model.coordinate_names).get("bounds")
        declared |= bounds[name] if isinstance(bounds, dict) else {}
    declared["weight"] = max(WEIGHT_MIN, float(f"{0.3 * declared['weight']:.1g}"))
    if declared.get("transform") == "none":
        del declared["transform"]
    if "levels" in declared:
        declared["levels"] = ["..."]  # it has them all, which may be hundreds
    return f"in a bounds file weight = {declared['weight']:g}, in Python {{{name!r}: {declared}}}"


def variance_parts(model: ClusterModel) -> dict[str, float]:
    """Return the part of the variance of centres that each column has; nothing of one column."""
    columns = model.domain.bounded_columns(model.coordinate_names)
    variances = np.maximum(_variance_of_centers(model), 0.0)
    if columns is None or len(columns) < 2 or variances.sum() <= 0:
        return {}
    shares = variances / variances.sum()
    parts = zip(columns, parts_of_columns(columns), strict=True)
    return {column.name: float(shares[part].sum()) for column, part in parts}


def parts_of_columns(columns: Sequence[Column]) -> list[slice]:
    """Return which coordinates are those of each column."""
    ends = accumulate((column.center.size for column in columns), initial=0)
    return [slice(*pair) for pair in pairwise(ends)]


def listed(names: Sequence[str]) -> str:
    """Return the first of some names in a row, and whether there are more."""
    return ", ".join(names[:LISTED]) + (", …" if len(names) > LISTED else "")


def columns_of(model: ClusterModel) -> Sequence[Column]:
    """Return each column with bounds of its own; none if they are bounded together."""
    return model.domain.bounded_columns(model.coordinate_names) or ()


def _variance_of_centers(model: ClusterModel) -> FloatArray:
    """Return the variance of centres in each coordinate, without that of their noise.

    It is in squared radii of the domain. Sizes that noise makes negative count as 0.
    """
    domain = model.domain
    sizes = np.maximum(model.cluster_sizes, 0.0)
    shares = sizes / max(float(sizes.sum()), 1.0)
    centers = domain.to_ball(model.cluster_centers)
    variance = shares @ (centers - shares @ centers) ** 2
    if model.center_stderr is not None:
        slopes = domain.slopes(model.cluster_centers) * domain.scales
        variance -= (shares * (1 - shares)) @ (model.center_stderr / slopes) ** 2
    return np.asarray(variance)
