"""The table of centres and sizes that reports, notebooks and pictures show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privclust.domains.reader import Use
from privclust.kernels.grid import FloatArray
from privclust.models._column_notes import same_but_for_noise
from privclust.models._coordinates import format_center
from privclust.models._fit_notes import columns_of, is_on_logarithms, parts_of_columns
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import with_error
from privclust.models.suppression import min_sizes

SHOWN_COLUMNS = 12
"""Columns in the table of centres and the heat map: those that tell clusters apart most."""


class ColumnHeader(str):
    """A column's name, with a mark that stands on a line of its own below it, or none."""

    __slots__ = ("mark",)
    mark: str

    def __new__(cls, name: str, mark: str = "") -> ColumnHeader:
        header = super().__new__(cls, name)
        header.mark = mark
        return header


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
        How far centres lie above the mean of all rows, or below it, as columns count in the
        clustering: 1 or -1 is the farthest of all columns here, and 0 stands where noise explains
        how the centres of a column differ.
    on_logarithms : list of bool
        Which columns have means of logarithms for centres.
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
    on_logarithms: list[bool]
    least: FloatArray

    @classmethod
    def of(cls, model: ClusterModel, most: int, min_size: float | None = None) -> ClusterTable:
        """Return the table of a model, with `most` columns at most."""
        least = min_sizes(model, min_size)
        hidden = model.cluster_sizes < least
        names, centers = model.coordinate_names, model.cluster_centers
        errors, size_errors = model.center_stderr, model.size_stderr
        if errors is None:
            errors = np.full(centers.shape, np.nan)
        if size_errors is None:
            size_errors = np.full(len(centers), np.nan)
        domain, uses = model.domain, model.domain.coordinate_uses
        kept = ~hidden | hidden.all()
        seen = centers[kept]
        ranges = np.ptp(domain.to_ball(seen), axis=0) * domain.scales / domain.half_widths
        chosen = np.sort(np.argsort(-ranges, kind="stable")[:most])
        some = np.where(hidden[:, None], np.nan, centers[:, chosen])
        same = same_but_for_noise(seen[:, chosen], errors[kept][:, chosen])
        apart = _deviations(domain.to_ball(centers)[:, chosen], model.cluster_sizes, kept)
        apart[:, same] = 0.0
        farthest = float(np.abs(apart[kept]).max(initial=0.0))
        return cls(
            [names[place] for place in chosen],
            [uses[place] for place in chosen],
            len(names) - len(chosen),
            some,
            errors[:, chosen],
            model.cluster_sizes,
            size_errors,
            np.where(hidden[:, None], np.nan, apart / (farthest or 1.0)),
            _on_logarithms(model)[chosen].tolist(),
            least,
        )

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Which clusters are not reported."""
        return np.asarray(self.sizes < self.least)

    @property
    def headers(self) -> list[ColumnHeader]:
        """What columns are called above their numbers: with what these are, if not plain means."""
        marks = ["(mean of logarithms)" if logs else "" for logs in self.on_logarithms]
        return [ColumnHeader(*pair) for pair in zip(self.names, marks, strict=True)]

    def rows(self) -> list[tuple[str, list[str]]]:
        """Return the size and the centre of each cluster as texts."""
        clusters = zip(
            self.sizes, self.size_errors, self.centers, self.errors, self.least, strict=True
        )
        return [
            (with_error(size, error), format_center(self.uses, center, errors))
            if size >= least
            else (f"below {least:,.0f}", ["not reported"] * len(center))
            for size, error, center, errors, least in clusters
        ]


def _on_logarithms(model: ClusterModel) -> NDArray[np.bool_]:
    """Tell of each coordinate whether it is a mean of logarithms."""
    found = np.zeros(len(model.coordinate_names), dtype=bool)
    columns = columns_of(model)
    for column, part in zip(columns, parts_of_columns(columns), strict=True):
        found[part] = is_on_logarithms(column)
    return found


def _deviations(points: FloatArray, sizes: FloatArray, kept: NDArray[np.bool_]) -> FloatArray:
    """Return how far points lie from the mean of the `kept` ones, of which larger ones count more.

    Examples
    --------
    >>> points, sizes = np.array([[0.0], [1.0], [9.0]]), np.array([3.0, 1.0, 0.0])
    >>> _deviations(points, sizes, np.array([True, True, False])).ravel().tolist()
    [-0.25, 0.75, 8.75]
    """
    weights = np.maximum(sizes[kept], 0.0)
    if not weights.any():
        weights = np.ones(len(weights))
    return points - np.average(points[kept], axis=0, weights=weights)
