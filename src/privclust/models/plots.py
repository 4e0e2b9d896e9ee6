"""Pictures of models and of what follows from them: merges, and clusters that move."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from privclust.errors import ParameterError, safe_repr
from privclust.kernels.grid import FloatArray
from privclust.models import _drawing
from privclust.models._canvas import (
    BLUE,
    ORANGE,
    PALETTE,
    axes_for,
    plain_texts,
    side_by_side,
)
from privclust.models._cluster_table import SHOWN_COLUMNS, ClusterTable
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import rounded_up
from privclust.models.hierarchy import Hierarchy
from privclust.models.k_path import KPath
from privclust.models.profile import Profile, frequent_places
from privclust.models.statement import Statement
from privclust.models.track import Series

GREY = "#9ca3af"
COLORS = ("#c2570c", "#33638d", "#228833", "#aa3377", "#b59a00", "#0e9aa7")
BARS = 8
"""With more clusters, only sizes of those that drifted have error bars."""
LISTED, SHOWN_LEVELS = 20, 12
"""Columns that a refusal names, and levels of a category that are drawn: the most frequent."""
LABEL_PART = 0.045
"""Part of the height of a picture that a label at the end of a line takes."""
NAMED_CLUSTERS = 64
"""With more, the labels of a tree would overlap."""


def plot_model(
    model: ClusterModel, ax: Axes | None = None, columns: Sequence[str] | None = None
) -> Axes:
    """Draw where clusters lie: a map of two columns, or the centres of more as a heat map."""
    chosen = None if columns is None else _places(model, columns)
    table = ClusterTable.of(model, SHOWN_COLUMNS)
    is_map = chosen is not None or _drawing.has_map(model)
    axes = axes_for(ax, 6.4 if is_map else 7.5, 5.2 if is_map else 1.4 + 0.45 * len(table.names))
    with plain_texts():
        if is_map:
            _drawing.draw_map(axes, model, table.hidden, chosen)
        else:
            _drawing.draw_heat_map(axes, table)
        found = f"{len(model.cluster_centers)} clusters by {model.estimator}"
        _title(axes, found, model.privacy_statement.dataset)
    return axes


def _places(model: ClusterModel, columns: Sequence[str]) -> list[int]:
    """Return which coordinates two names are."""
    names = model.coordinate_names
    two = not isinstance(columns, str) and len(columns) == 2
    if not two or not all(name in names for name in columns):
        known = ", ".join(map(repr, names[:LISTED])) + (", …" if len(names) > LISTED else "")
        raise ParameterError(
            f"columns must be two of {known}, got {safe_repr(columns)}. Type a pair of names."
        )
    return [names.index(name) for name in columns]


def plot_profile(profile: Profile, column: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw shares of the levels or ranges of a column in each cluster."""
    found = profile.columns[0] if column is None else profile[column]
    places = frequent_places(found, SHOWN_LEVELS)
    shares = 100 * found.shares.values[:, places]
    k = len(shares)
    axes = axes_for(ax, 7.5, 1.4 + 0.35 * k)
    with plain_texts():
        image = axes.imshow(shares, aspect="auto", cmap="Blues", vmin=0, vmax=100)
        axes.grid(visible=False)
        names = [_drawing.short(found.labels[place]) for place in places]
        turned: dict[str, Any] = {"rotation": 45, "ha": "right", "fontsize": 8}
        axes.set_xticks(range(len(names)), names, parse_math=False, **turned)
        axes.set_yticks(range(k), [f"cluster {number}" for number in range(k)])
        scale = axes.figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02)
        scale.set_label("% of rows")
        _title(axes, found.column.name, profile.privacy_statement.dataset)
    return axes


def plot_k_path(path: KPath, ax: Axes | None = None) -> Axes:
    """Draw losses with their errors, and stabilities on a second scale at the right."""
    axes = axes_for(ax, 7, 3.8)
    with plain_texts():
        _drawing.draw_losses(axes, path)
        axes.set_xlabel("number of clusters k")
        axes.yaxis.label.set_color(BLUE)
        beside = axes.twinx()
        _drawing.draw_stabilities(beside, path, ORANGE)
        beside.yaxis.label.set_color(ORANGE)
        beside.spines["top"].set_visible(False)
        _title(axes, "loss in a band of ± 2 standard errors, and stability", path.dataset)
    return axes


def plot_statement(statement: Statement, ax: Axes | None = None) -> Axes:
    """Draw which queries the budget was spent on."""
    axes = axes_for(ax, 7, 1.2 + 0.3 * len(_drawing.shares_of(statement)))
    spent = f"epsilon = {rounded_up(statement.run.epsilon)}" if statement.private else "NOT PRIVATE"
    with plain_texts():
        _drawing.draw_shares(axes, statement)
        _title(axes, spent, statement.dataset)
    return axes


def _title(axes: Axes, text: str, dataset: str | None) -> None:
    title = text if dataset is None else f"{dataset}: {text}"
    axes.set_title(title, loc="left", fontsize=10, parse_math=False)


def plot_hierarchy(tree: Hierarchy, ax: Axes | None = None) -> Axes:
    """Draw merges as a tree: clusters below, and the higher a merge, the farther apart."""
    k = tree.n_clusters
    place, height = np.zeros(2 * k - 1), np.concatenate([np.zeros(k), tree.linkage[:, 2]])
    order = _leaves(tree, 2 * k - 2)
    place[order] = np.arange(k)
    axes = axes_for(ax, max(5.0, 1.5 + 0.5 * min(k, NAMED_CLUSTERS)), 4.2)
    for made, (one, other) in enumerate(tree.linkage[:, :2].astype(int), k):
        place[made] = (place[one] + place[other]) / 2
        across = [place[one], place[one], place[other], place[other]]
        up = [height[one], height[made], height[made], height[other]]
        axes.plot(across, up, color=BLUE, linewidth=1.4, solid_joinstyle="round")
    if k <= NAMED_CLUSTERS:
        names = [f"{leaf}\n{tree.sizes[leaf]:,.0f}" for leaf in order]
        axes.set_xticks(range(k), names, fontsize=8 if k <= 16 else 6)
    else:
        axes.set_xticks([])
    axes.set_xlabel("cluster, and its noisy size")
    axes.set_ylabel("what the merge adds to the loss\n(root, in radii of the bounds)")
    axes.set_xlim(-0.6, k - 0.4)
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    return axes


def _leaves(tree: Hierarchy, part: int) -> list[int]:
    """Return the clusters of a part so that no two lines of the tree cross."""
    waiting, found = [part], []
    while waiting:
        part = waiting.pop()
        if part < tree.n_clusters:
            found.append(part)
        else:
            one, other = tree.linkage[part - tree.n_clusters, :2].astype(int)
            waiting += [int(other), int(one)]
    return found


def plot_series(series: Series) -> tuple[Axes, Axes]:
    """Draw where clusters went, and how large they were; those that drifted are in colour.

    If none drifted and there are few, each has a colour of its own.
    """
    flat, labels = _flat(series)
    places, sizes = side_by_side(10, 4.6, (1.2, 1))
    drifted, colors = np.asarray(series.drifted.any(axis=0)), _colors(series)
    crowded = len(colors) > BARS
    ends: list[_End] = []
    for number, color in enumerate(colors):
        there = np.flatnonzero(~np.isnan(series.sizes[:, number]))
        _draw_path(places, flat[there, number], there / max(1, len(series.sizes) - 1), color)
        weight = "bold" if drifted[number] else "normal"
        beside: dict[str, Any] = {"xytext": (5, 5), "textcoords": "offset points"}
        end = flat[there[-1], number]
        places.annotate(str(number), end, color=color, fontsize=9, weight=weight, **beside)
        rows = series.sizes[there, number]
        if crowded and not drifted[number]:
            sizes.plot(there, rows, color=color, linewidth=0.5)
            continue
        errors = 2 * series.size_stderr[there, number]
        sizes.errorbar(there, rows, yerr=errors, color=color, linewidth=1.2, capsize=2)
        ends.append(_End(str(number), int(there[-1]), float(rows[-1]), color))
    places.set(xlabel=labels[0], ylabel=labels[1])
    found = "colours drifted" if drifted.any() else "none drifted"
    places.set_title(f"centres; larger dots are later, {found}", loc="left", fontsize=10)
    sizes.set(xlabel="model", ylabel="noisy size, ± 2 standard errors", ylim=(0, None))
    sizes.set_title("sizes", loc="left", fontsize=10)
    sizes.xaxis.set_major_locator(MaxNLocator(integer=True))
    _label_ends(sizes, ends)
    return places, sizes


class _End(NamedTuple):
    """Where the line of a cluster ends, and what is written there."""

    name: str
    across: int
    up: float
    color: str


def _colors(series: Series) -> list[str]:
    """Return each cluster's colour: grey for those that did not drift where others did."""
    drifted = np.asarray(series.drifted.any(axis=0))
    if not drifted.any() and drifted.size <= BARS:
        return [*PALETTE[: drifted.size]]
    colors = cycle(COLORS)
    return [next(colors) if one else GREY for one in drifted]


def _draw_path(axes: Axes, line: FloatArray, times: FloatArray, color: str) -> None:
    """Draw where one cluster went; `times` are from 0 to 1."""
    across, up = line.T
    axes.plot(across, up, "-", color=color, linewidth=0.6 if color == GREY else 1.2)
    axes.scatter(across, up, color=color, s=6 + 26 * times, linewidth=0)


def _label_ends(axes: Axes, ends: Sequence[_End]) -> None:
    """Name lines at their ends, each beside the others that end there."""
    _, top = axes.get_ylim()
    for time in {end.across for end in ends}:
        here = [end for end in ends if end.across == time]
        apart = spaced([end.up for end in here], LABEL_PART * top)
        for end, up in zip(here, apart, strict=True):
            at: dict[str, Any] = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
            axes.annotate(end.name, (time, up), color=end.color, fontsize=9, **at)


def spaced(values: Sequence[float], gap: float) -> list[float]:
    """Return the nearest places to values of which no two are closer than `gap`.

    Those that would be closer lie around their middle.

    Examples
    --------
    >>> spaced([5.0, 1.0, 5.0], 1.0)
    [4.5, 1.0, 5.5]
    """
    order = np.argsort(values, kind="stable")
    blocks: list[list[float]] = []  # of values less their places' gaps, which must not fall
    for place, number in enumerate(order):
        blocks.append([values[number] - place * gap])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    levels = np.concatenate([np.full(len(block), np.mean(block)) for block in blocks])
    found = np.empty(len(order))
    found[order] = levels + gap * np.arange(len(order))
    return [float(one) for one in found]


def _flat(series: Series) -> tuple[FloatArray, Sequence[str]]:
    """Return centres in two dimensions: the columns, or the two directions they differ in most."""
    shape = series.centers.shape
    points = series.centers.reshape(-1, shape[2])
    if shape[2] == 1:
        times = np.repeat(np.arange(shape[0], dtype=float), shape[1])
        return np.column_stack([times, points]).reshape(*shape[:2], 2), ["model", series.names[0]]
    if shape[2] == 2:
        return series.centers, series.names
    there = points[~np.isnan(points).any(axis=1)]
    middle, width = there.mean(axis=0), np.maximum(there.std(axis=0), 1e-300)
    _, _, directions = np.linalg.svd((there - middle) / width, full_matrices=False)
    flat = (points - middle) / width @ directions[:2].T
    labels = [f"direction {number} (columns in standard deviations)" for number in (1, 2)]
    return flat.reshape(*shape[:2], 2), labels
