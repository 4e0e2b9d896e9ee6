"""The report's part about profiles: a table and a picture for each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from privclust.errors import ModelFileError
from privclust.kernels.grid import IntArray
from privclust.models._canvas import BLUE, ORANGE
from privclust.models.cluster_model import ClusterModel
from privclust.models.profile import (
    ColumnProfile,
    Profile,
    clusters_of,
    format_interval,
    frequent_places,
    mean_name,
)
from privclust.models.report._pictures import draw_panels
from privclust.models.report._range_names import drawn_labels
from privclust.models.report._wide_table import WideTable
from privclust.models.statement import Statement

SHOWN_PLACES = 12
"""Levels of a category that are shown: the most frequent ones."""
DRAWN_CLUSTERS = 8
"""With more, the bars of a histogram would be too thin."""


@dataclass(frozen=True)
class ShownColumn:
    """One profiled column as texts, and its picture.

    Attributes
    ----------
    name : str
        Of the column.
    table : WideTable
        The mean of each cluster, or shares of its levels, with intervals.
    left_out : int
        How many levels are not shown.
    picture : bytes or None
        Shares of levels or ranges in each cluster that is reported.
    """

    name: str
    table: WideTable
    left_out: int
    picture: bytes | None


@dataclass(frozen=True)
class ShownProfile:
    """One profile: its columns, and its privacy guarantee."""

    columns: list[ShownColumn]
    statement: Statement


def shown_profiles(
    model: ClusterModel, profiles: Sequence[Profile], hidden: NDArray[np.bool_]
) -> list[ShownProfile]:
    """Return profiles as the page shows them, if they are those of the model.

    Clusters that are `hidden` are too small to be reported.
    """
    run = model.privacy_statement.run.name
    if any(
        profile.clusters != clusters_of(model)
        or run not in {one.run.name for one in profile.privacy_statement.dependencies}
        for profile in profiles
    ):
        raise ModelFileError(
            "a profile belongs to another model: its clusters have other centres. Give profiles "
            "of this model."
        )
    return [
        ShownProfile(
            [_column(column, hidden) for column in profile.columns],
            profile.privacy_statement,
        )
        for profile in profiles
    ]


def profile_files(profiles: Sequence[Profile]) -> str:
    """Say what files of profiles hold that a table of means and frequent levels does not show."""
    one = "The profile" if len(profiles) == 1 else "Each profile"
    columns = [column for profile in profiles for column in profile.columns]
    # The last label of each is that of missing cells.
    ranges = sorted({len(one.labels) - 1 for one in columns if one.means is not None})
    held = ["how many rows it has"]
    if any(column.means is None for column in columns):
        held.append("the share of its rows that have each level of a category")
    if ranges:
        held.append(
            f"the share of its rows in each of {' or '.join(map(str, ranges))} ranges of a column "
            "of numbers or dates"
        )
    return (
        f"{one} holds more, too: for each cluster, also those that are not reported here, "
        f"{', '.join(held)}, and the share where the cell is missing; and every measured result."
    )


def _column(column: ColumnProfile, hidden: NDArray[np.bool_]) -> ShownColumn:
    shares = column.shares.values
    places = frequent_places(column, SHOWN_PLACES)
    labels = [column.labels[place] for place in places]
    if column.means is None:
        header = labels
        rows = [
            [format_interval(column, cluster, place) for place in places]
            for cluster in range(len(shares))
        ]
    else:
        header = [mean_name(column)]
        rows = [[format_interval(column, cluster)] for cluster in range(len(shares))]
    for cluster in np.flatnonzero(hidden):
        rows[cluster] = ["not reported"] * len(header)
    drawn = np.flatnonzero(~hidden)[:DRAWN_CLUSTERS]
    return ShownColumn(
        column.column.name,
        WideTable(
            ["cluster"], header, [([str(number)], cells) for number, cells in enumerate(rows)]
        ),
        len(column.labels) - len(places),
        _picture(column, drawn, places, labels) if len(drawn) else None,
    )


def _picture(
    column: ColumnProfile, clusters: IntArray, places: IntArray, labels: list[str]
) -> bytes:
    """Draw the shares of each place, clusters side by side, with their intervals."""
    drawn = drawn_labels(column.column, labels)
    parts = np.ix_(clusters, places)
    values, lower, upper = (
        100 * side[parts]
        for side in (column.shares.values, column.shares.lower, column.shares.upper)
    )

    def draw(axes: Axes, panel: int) -> None:
        down, up = values[panel] - lower[panel], upper[panel] - values[panel]
        # By number: cut as they are, two names may be alike, and a level may be called "missing".
        rows = range(len(labels))
        axes.barh(rows, values[panel], xerr=[down, up], color=BLUE, ecolor=ORANGE, capsize=2)
        axes.set_yticks(rows, drawn)
        axes.set_title(f"cluster {clusters[panel]}", fontsize=9)

    return draw_panels(len(clusters), draw, 1.0 + 0.2 * len(places), "% of rows")
