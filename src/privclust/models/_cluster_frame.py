"""Clusters, profiles and comparisons as pandas DataFrames: a line for each cluster, or pair."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from privclust.domains.reader import Use
from privclust.kernels.grid import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from privclust.models.cluster_model import ClusterModel
    from privclust.models.compare import Comparison
    from privclust.models.intervals import Intervals
    from privclust.models.profile import Profile


def cluster_frame(model: ClusterModel) -> pd.DataFrame:
    """Return a line for each cluster: its size and its centre, each with its standard error."""
    frame = _Frame("clusters")
    frame.add("cluster_size", model.cluster_sizes, model.size_stderr)
    errors = model.center_stderr
    for place, (name, use) in enumerate(
        zip(model.coordinate_names, model.domain.coordinate_uses, strict=True)
    ):
        values = frame.read(model.cluster_centers[:, place], use)
        frame.add(name, values, None if errors is None else errors[:, place])
    return frame.build("cluster")


def profile_frame(profile: Profile) -> pd.DataFrame:
    """Return a line for each cluster: its size, means and shares, each with its 95 % interval."""
    frame = _Frame("a profile")
    frame.add_interval("cluster_size", profile.sizes)
    for found in profile.columns:
        column = found.column
        if found.means is not None:
            frame.add_interval(column.name, found.means, column.use)
        for place, label in enumerate(found.labels):
            frame.add_interval(f"{column.name}={label}", found.shares, place=place)
    return frame.build("cluster")


def comparison_frame(comparison: Comparison) -> pd.DataFrame:
    """Return a line for each pair of clusters: how far it moved, each with its standard error."""
    frame = _Frame("a comparison")
    frame.add("before", comparison.pairs[:, 0])
    frame.add("after", comparison.pairs[:, 1])
    frame.add("moved", comparison.moved)
    frame.add("distance", comparison.distances)
    frame.add("size_shift", comparison.size_shifts, comparison.size_errors)
    errors = comparison.errors
    for place, name in enumerate(comparison.names):
        frame.add(f"{name}_shift", comparison.shifts[:, place], errors[:, place])
    return frame.build("pair")


class _Frame:
    """Columns of a frame, put together by their places: two may have one name."""

    def __init__(self, what: str) -> None:
        self._pandas = _pandas(what)
        self._columns: list[tuple[str, object]] = []

    def read(self, values: FloatArray, use: Use) -> object:
        """Return values as pandas has them: days as dates."""
        if use != "date":
            return values
        return self._pandas.to_datetime(values, unit="D").round("D")

    def add(self, name: str, values: object, errors: FloatArray | None = None) -> None:
        """Add values, and their standard errors beside them if they are known."""
        self._columns.append((name, values))
        if errors is not None:
            self._columns.append((f"{name}_stderr", errors))

    def add_interval(
        self, name: str, found: Intervals, use: Use = "number", place: int | None = None
    ) -> None:
        """Add values, those of one `place` if it is given, and the ends of their intervals."""
        sides = {"": found.values, "_lower": found.lower, "_upper": found.upper}
        for ending, values in sides.items():
            chosen = values if place is None else values[:, place]
            self._columns.append((f"{name}{ending}", self.read(np.asarray(chosen), use)))

    def build(self, index: str) -> pd.DataFrame:
        """Return the frame."""
        values = {place: values for place, (_, values) in enumerate(self._columns)}
        frame: pd.DataFrame = self._pandas.DataFrame(values)
        frame.index.name = index
        names = self._pandas.Index([name for name, _ in self._columns])
        return frame.set_axis(names, axis="columns")


def _pandas(what: str) -> ModuleType:
    try:
        return import_module("pandas")
    except ImportError:
        raise ImportError(f"a frame of {what} needs pandas: pip install pandas") from None
