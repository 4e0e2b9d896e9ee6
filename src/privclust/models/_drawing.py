"""Pictures of models, numbers of clusters and statements, on axes that somebody made."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from numpy.typing import NDArray

from privclust.kernels.grid import FloatArray
from privclust.models._canvas import BLUE, ORANGE
from privclust.models._cluster_table import ClusterTable
from privclust.models._coordinates import format_coordinate
from privclust.models.cluster_model import ClusterModel
from privclust.models.k_path import KPath
from privclust.models.statement import Statement

WRITTEN_CLUSTERS = 10
"""With more, the numbers in a heat map would overlap."""
_BELOW_ABOVE = LinearSegmentedColormap.from_list(
    "", ["#f2a15f", "#ffffff", "#6cadd9"]
).with_extremes(bad="#e5e7eb")
"""Orange and blue, so light that black texts can be read; grey is not reported."""
NORTHERNMOST = 85.0
"""Degrees up to which maps are drawn with the aspect of their latitude."""
_LATITUDE = re.compile(r"(.*?)(lat|latitude)", re.IGNORECASE)
_LONGITUDE = re.compile(r"(.*?)(lon|lng|long|longitude)", re.IGNORECASE)


def map_columns(names: tuple[str, ...]) -> list[int] | None:
    """Return which coordinates are longitude and latitude by their names, if there is one of each.

    Examples
    --------
    >>> map_columns(("pickup_lat", "pickup_lon", "fare")), map_columns(("plat", "height"))
    ([1, 0], None)
    """
    found = []
    for pattern in (_LONGITUDE, _LATITUDE):
        matches = [(place, pattern.fullmatch(name)) for place, name in enumerate(names)]
        found.append([(place, match[1]) for place, match in matches if match and _ends(match[1])])
    pairs = [
        [across, up]
        for across, of_longitude in found[0]
        for up, of_latitude in found[1]
        if of_longitude == of_latitude
    ]
    return pairs[0] if len(pairs) == 1 else None


def _ends(prefix: str) -> bool:
    """Tell whether a word ends here: 'plat' is no latitude."""
    return not prefix[-1:].isalnum()


def has_map(model: ClusterModel) -> bool:
    """Tell whether two of the user's own columns say where clusters lie."""
    names = model.coordinate_names
    return map_columns(names) is not None or (len(names) == 2 and model.domain.is_linear)


def draw_map(
    axes: Axes, model: ClusterModel, hidden: NDArray[np.bool_], chosen: list[int] | None = None
) -> None:
    """Draw centres, and the coreset behind them, as a map or along their main directions.

    `chosen` are the two coordinates to draw; by default those that are a map.
    """
    is_map = chosen is None and map_columns(model.coordinate_names) is not None
    labels, flat, flat_centers = _flat(model, chosen)
    if model.coreset is not None:
        weights = np.maximum(model.coreset.weights, 0.0)
        largest = max(float(weights.max(initial=0.0)), 1e-9)
        sizes = 20 + 400 * weights / largest
        axes.scatter(flat[:, 0], flat[:, 1], s=sizes, color=BLUE, alpha=0.25, linewidth=0)
    crosses = flat_centers[~hidden]
    axes.scatter(crosses[:, 0], crosses[:, 1], marker="x", color=ORANGE, s=60)
    for number in np.flatnonzero(~hidden):
        beside: dict[str, Any] = {"xytext": (6, 6), "textcoords": "offset points"}
        axes.annotate(str(number), flat_centers[number], fontsize=10, weight="bold", **beside)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    if is_map:
        middle = np.clip(flat_centers[:, 1].mean(), -NORTHERNMOST, NORTHERNMOST)
        # A degree of longitude is shorter than one of latitude, but for the equator.
        axes.set_aspect(1 / float(np.cos(np.radians(middle))), adjustable="datalim")


def _flat(
    model: ClusterModel, chosen: list[int] | None = None
) -> tuple[list[str], FloatArray, FloatArray]:
    """Return names of two directions, and where cells and centres lie along them."""
    names, centers = model.coordinate_names, model.cluster_centers
    coreset = model.coreset
    points = np.empty((0, len(names))) if coreset is None else coreset.points
    chosen = chosen or map_columns(names)
    if chosen is None and len(names) == 2 and model.domain.is_linear:
        chosen = [0, 1]
    if chosen is not None:
        return [names[place] for place in chosen], points[:, chosen], centers[:, chosen]
    in_ball = model.domain.to_ball
    weights = np.ones(len(centers)) if coreset is None else np.maximum(coreset.weights, 0.0)
    cells = in_ball(centers if coreset is None else points)
    middle = np.average(cells, axis=0, weights=weights + 1e-9)
    apart = cells - middle
    _, directions = np.linalg.eigh((weights * apart.T) @ apart)
    turned = [(in_ball(some) - middle) @ directions[:, :-3:-1] for some in (points, centers)]
    labels = [f"direction {number} (in radii of the bounds)" for number in (1, 2)]
    return labels, turned[0], turned[1]


def draw_heat_map(axes: Axes, table: ClusterTable) -> None:
    """Draw centres with their values: the darker, the farther from the mean of all rows.

    One scale is for all columns, so that those stand out that tell clusters apart most. Where noise
    explains how the centres of a column differ, all are white.
    """
    k, columns = table.centers.shape
    image = axes.imshow(table.relative.T, aspect="auto", cmap=_BELOW_ABOVE, vmin=-1, vmax=1)
    axes.grid(visible=False)
    if k <= WRITTEN_CLUSTERS:
        size = 8 if k <= 6 else 6
        for cluster, column in np.ndindex(k, columns):
            place = (cluster, column)
            if table.hidden[cluster]:
                continue
            numbers = float(table.centers[place]), float(table.errors[place])
            cell = format_coordinate(table.uses[column], *numbers)
            text = cell.replace(" ± ", "\n± ")
            axes.text(cluster, column, text, ha="center", va="center", fontsize=size)
    names = [short(name) for name in table.names]
    axes.set_yticks(range(columns), names, parse_math=False)
    axes.set_xticks(range(k), [str(number) for number in range(k)], fontsize=8 if k < 40 else 5)
    axes.set_xlabel("cluster")
    scale = axes.figure.colorbar(image, ax=axes, ticks=[-1, 0, 1], fraction=0.05, pad=0.02)
    scale.set_ticklabels(["far\nbelow", "mean of\nall rows", "far\nabove"])
    scale.set_label("all columns on one scale, as they count in the clustering", fontsize=7)
    scale.ax.tick_params(labelsize=7)


def draw_losses(axes: Axes, path: KPath) -> None:
    """Draw losses against the number of clusters, within a band of two standard errors.

    A band and no bars, since most of the error moves all losses together.
    """
    ks = [choice.n_clusters for choice in path.choices]
    losses = np.array([choice.loss for choice in path.choices])
    errors = np.array([2 * choice.stderr for choice in path.choices])
    name = "capped loss" if path.is_capped else "loss"
    axes.plot(ks, losses, color=BLUE, marker=".")
    axes.fill_between(ks, losses - errors, losses + errors, color=BLUE, alpha=0.15, linewidth=0)
    axes.set_ylabel(f"{name}, squared radii")
    axes.set_ylim(bottom=0)


def draw_stabilities(axes: Axes, path: KPath, color: str = BLUE) -> None:
    """Draw against the number of clusters how far another fit would find the same."""
    ks = [choice.n_clusters for choice in path.choices]
    axes.plot(ks, [choice.stability for choice in path.choices], color=color, marker=".")
    axes.set_ylabel("stability")
    axes.set_ylim(0, 1.05)


def draw_shares(axes: Axes, statement: Statement) -> None:
    """Draw which queries the budget of the fit was spent on."""
    parts = shares_of(statement)
    axes.barh(list(parts), list(parts.values()), color=BLUE)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    owner = "the fit it follows from" if statement.kind == "refit" else f"this {statement.kind}"
    axes.set_xlabel(f"share of the budget of {owner}")


def shares_of(statement: Statement) -> dict[str, float]:
    """Return the share of each kind of query."""
    parts: dict[str, float] = {}
    for release in statement.releases:
        query = release.slot.split(" ")[0]
        parts[query] = parts.get(query, 0.0) + release.share
    return parts


def short(name: str) -> str:
    """Return a name, or as much of it as fits beside a picture."""
    return name if len(name) <= 18 else f"{name[:17]}…"
