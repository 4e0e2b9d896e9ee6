"""The report's pictures: of Releases, and of what follows from them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from privclust.domains.reader import Use
from privclust.kernels.grid import FloatArray
from privclust.models._center_text import all_written, uses_of, written
from privclust.models._number_text import with_error
from privclust.models.k_path import KPath
from privclust.models.statement import Statement
from privclust.models.suppression import min_sizes

BLUE, ORANGE, GREY = "#33638d", "#c2570c", "#6b7280"
WRITTEN_CLUSTERS = 10
"""With more, the numbers in a heat map would overlap."""


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """Centres and sizes with their errors, of the columns that tell clusters apart most.

    Attributes
    ----------
    names : list of str
        Columns; a category has one for each level.
    uses : list of str
        What each column is declared as.
    left_out : int
        How many others there are.
    centers, errors : array of shape (k, columns)
        In the user's units; errors may be missing (NaN).
    sizes, size_errors : array of shape (k,)
        Rows, or units.
    relative : array of shape (k, columns)
        Centres between 0, the smallest of all centres in a column, and 1, the largest; shares as
        they are, since those of a rare level differ by noise alone.
    least : array of shape (k,)
        Clusters that seem to have fewer rows are not reported.
    """

    names: list[str]
    uses: list[Use]
    left_out: int
    centers: FloatArray
    errors: FloatArray
    sizes: FloatArray
    size_errors: FloatArray
    relative: FloatArray
    least: FloatArray

    @classmethod
    def of(cls, model: Any, most: int, min_size: float | None = None) -> ClusterTable:
        """Return the table of a model, with `most` columns at most."""
        least = min_sizes(model, min_size)
        hidden = model.cluster_sizes_ < least
        names, centers = names_of(model), model.cluster_centers_
        errors = getattr(model, "center_stderr_", np.full(centers.shape, np.nan))
        domain, uses = model.domain_, uses_of(model.domain_)
        seen = centers if hidden.all() else centers[~hidden]
        telling = np.ptp(domain.to_ball(seen), axis=0) * domain.spread / domain.reach
        chosen = np.sort(np.argsort(-telling, kind="stable")[:most])
        some = np.where(hidden[:, None], np.nan, centers[:, chosen])
        is_share = np.array([uses[place] == "category" for place in chosen])
        low = np.where(is_share, 0.0, seen[:, chosen].min(axis=0))
        span = np.where(is_share, 1.0, np.ptp(seen[:, chosen], axis=0))
        return cls(
            [names[place] for place in chosen],
            [uses[place] for place in chosen],
            len(names) - len(chosen),
            some,
            errors[:, chosen],
            model.cluster_sizes_,
            getattr(model, "size_stderr_", np.full(len(centers), np.nan)),
            (some - low) / np.where(span > 0, span, 1.0),
            least,
        )

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which clusters are not reported."""
        return np.asarray(self.sizes < self.least)

    def rows(self) -> list[tuple[str, list[str]]]:
        """Return the size and the centre of each cluster as texts."""
        clusters = zip(
            self.sizes, self.size_errors, self.centers, self.errors, self.least, strict=True
        )
        return [
            (
                with_error(size, error),
                all_written(self.uses, center, errors),
            )
            if size >= least
            else (f"below {least:,.0f}", ["not reported"] * len(center))
            for size, error, center, errors, least in clusters
        ]


def names_of(model: Any) -> list[str]:
    """Return what the columns of centres are called, or numbers for them."""
    names = getattr(model, "center_names_", None)
    count = model.cluster_centers_.shape[1]
    return [f"column {place}" for place in range(count)] if names is None else list(map(str, names))


def sizes(table: ClusterTable, unit: str) -> bytes:
    """Draw how large clusters are, with error bars of two standard errors."""
    k = len(table.sizes)
    figure, axes = _figure(7, 1.2 + 0.28 * k)
    errors = None if np.isnan(table.size_errors).any() else 2 * table.size_errors
    bars = np.where(table.hidden, np.nan, table.sizes)
    axes.barh(range(k), bars, xerr=errors, color=BLUE, ecolor=ORANGE, capsize=3)
    marks = [", not reported" if hidden else "" for hidden in table.hidden]
    axes.set_yticks(range(k), [f"cluster {number}{mark}" for number, mark in enumerate(marks)])
    axes.invert_yaxis()
    axes.set_xlabel(f"{unit}s" if unit == "row" else f"weight, in rows; one {unit!r} is a unit")
    axes.set_xlim(left=0)
    return _png(figure)


def heat_map(table: ClusterTable) -> bytes:
    """Draw centres with their values: columns from smallest to largest, shares from none to all."""
    k, columns = table.centers.shape
    figure, axes = _figure(7, 1.2 + 0.45 * columns)
    axes.imshow(table.relative.T, aspect="auto", cmap="Blues", vmin=-0.15, vmax=1.3)
    axes.grid(visible=False)
    if k <= WRITTEN_CLUSTERS:
        size = 8 if k <= 6 else 6
        for cluster, column in np.ndindex(k, columns):
            place = (cluster, column)
            if table.hidden[cluster]:
                continue
            numbers = float(table.centers[place]), float(table.errors[place])
            cell = written(table.uses[column], *numbers)
            color = "white" if table.relative[cluster, column] > 0.75 else "black"
            text = cell.replace(" ± ", "\n± ")
            axes.text(cluster, column, text, ha="center", va="center", fontsize=size, color=color)
    axes.set_yticks(range(columns), [short(name) for name in table.names])
    axes.set_xticks(range(k), [str(number) for number in range(k)], fontsize=8 if k < 40 else 5)
    axes.set_xlabel("cluster; the larger of a column's centres are darker")
    return _png(figure)


def map_of(model: Any, hidden: NDArray[np.bool_]) -> bytes | None:
    """Draw centres, and the coreset behind them, along their two main directions."""
    names = names_of(model)
    if len(names) < 2 or not hasattr(model, "coreset_"):
        return None
    coreset = model.coreset_
    weights = np.maximum(coreset.weights, 0.0)
    points, centers = (
        model.domain_.to_ball(some) for some in (coreset.points, model.cluster_centers_)
    )
    if len(names) == 2 and model.domain_.is_linear:
        labels = names
        flat, flat_centers = coreset.points, model.cluster_centers_
    else:
        middle = np.average(points, axis=0, weights=weights + 1e-9)
        apart = points - middle
        _, directions = np.linalg.eigh((weights * apart.T) @ apart)
        labels = [f"direction {number} (in radii of the bounds)" for number in (1, 2)]
        flat, flat_centers = ((some - middle) @ directions[:, :-3:-1] for some in (points, centers))
    figure, axes = _figure(6.4, 5.2)
    largest = max(float(weights.max(initial=0.0)), 1e-9)
    axes.scatter(*flat.T, s=20 + 400 * weights / largest, color=BLUE, alpha=0.25, linewidth=0)
    axes.scatter(*flat_centers[~hidden].T, marker="x", color=ORANGE, s=60)
    for number in np.flatnonzero(~hidden):
        point = flat_centers[number]
        beside = {"xytext": (6, 6), "textcoords": "offset points"}
        axes.annotate(str(number), point, fontsize=10, weight="bold", **beside)
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    return _png(figure)


def path_of_k(path: KPath, chosen: int) -> bytes:
    """Draw loss and silhouette against the number of clusters."""
    ks = [choice.n_clusters for choice in path.choices]
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    losses, errors = zip(*((c.loss, 2 * c.stderr) for c in path.choices), strict=True)
    above.errorbar(ks, losses, yerr=errors, color=BLUE, marker=".", capsize=2)
    above.set_ylabel("loss, squared radii")
    below.plot(ks, [choice.silhouette for choice in path.choices], color=BLUE, marker=".")
    below.set_ylabel("silhouette")
    below.set_xlabel("number of clusters k")
    for axes in (above, below):
        _plain(axes)
        if path.elbow > 1:
            axes.axvline(path.elbow, color=ORANGE, linestyle="--", label=f"elbow: {path.elbow}")
        if chosen != path.elbow:
            axes.axvline(chosen, color=GREY, linestyle=":", label=f"this model: {chosen}")
    if above.get_legend_handles_labels()[0]:
        above.legend(frameon=False)
    return _png(figure)


def shares(statement: Statement) -> bytes:
    """Draw which questions the budget of the fit was spent on."""
    parts: dict[str, float] = {}
    for release in statement.releases:
        question = release.slot.split(" ")[0]
        parts[question] = parts.get(question, 0.0) + release.share
    figure, axes = _figure(7, 1.0 + 0.3 * len(parts))
    axes.barh(list(parts), list(parts.values()), color=BLUE)
    axes.invert_yaxis()
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share of this fit's budget")
    return _png(figure)


def panels(count: int, draw: Callable[[Any, int], None], height: float, label: str) -> bytes:
    """Draw several pictures of one kind, four beside each other, with the same axes."""
    across = min(4, count)
    down = -(-count // across)
    figure = Figure(figsize=(7, height * down), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for number, axes in enumerate(grid.ravel()):
        if number < count:
            _plain(axes)
            draw(axes, number)
            axes.tick_params(labelsize=7)
        else:
            axes.set_visible(False)
    grid[0, 0].invert_yaxis()
    figure.supxlabel(label, fontsize=9)
    return _png(figure)


def short(name: str) -> str:
    """Return a name, or as much of it as fits beside a picture."""
    return name if len(name) <= 18 else f"{name[:17]}…"


def _figure(width: float, height: float) -> tuple[Figure, Any]:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    _plain(axes)
    return figure, axes


def _plain(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="#e5e7eb", linewidth=0.6)
    axes.set_axisbelow(True)


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130, metadata={"Software": None})
    return buffer.getvalue()
