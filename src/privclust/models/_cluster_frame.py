"""Clusters as a pandas DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privclust.kernels.grid import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from privclust.models.cluster_model import ClusterModel


def cluster_frame(model: ClusterModel) -> pd.DataFrame:
    """Return a line for each cluster: its size and its centre, each with its standard error."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("a frame of clusters needs pandas: pip install pandas") from None
    columns: list[tuple[str, object]] = []

    def add(name: str, values: object, errors: FloatArray | None) -> None:
        columns.append((name, values))
        if errors is not None:
            columns.append((f"{name}_stderr", errors))

    add("cluster_size", model.cluster_sizes, model.size_stderr)
    errors = model.center_stderr
    for place, (name, use) in enumerate(
        zip(model.coordinate_names, model.domain.coordinate_uses, strict=True)
    ):
        values: object = model.cluster_centers[:, place]
        if use == "date":
            values = pd.to_datetime(values, unit="D").round("D")
        add(name, values, None if errors is None else errors[:, place])
    names = pd.Index([name for name, _ in columns])
    frame = pd.DataFrame({place: values for place, (_, values) in enumerate(columns)})
    frame.index.name = "cluster"
    return frame.set_axis(names, axis="columns")
