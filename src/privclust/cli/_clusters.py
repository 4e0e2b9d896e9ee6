"""Clusters of a model: as a table at a terminal, and as JSON."""

from __future__ import annotations

import json

import numpy as np

from privclust.kernels.grid import FloatArray
from privclust.models._coordinates import format_coordinate
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import with_error
from privclust.models.model_file import to_json

_SUMMARY = (
    "columns",
    "cluster_centers",
    "cluster_sizes",
    "size_stderr",
    "quality",
    "fit_warning",
    "n_rows",
    "statement",
)


def clusters_json(model: ClusterModel) -> str:
    """Return what is of interest in a model: its file without coreset and results."""
    content = json.loads(to_json(model))
    content["statement"] = json.loads(model.privacy_statement.to_json())
    return json.dumps({key: content[key] for key in _SUMMARY})


def cluster_table(model: ClusterModel) -> tuple[list[str], list[list[str]]]:
    """Return clusters side by side with their columns below each other: header and lines."""
    centers, sizes = model.cluster_centers, model.cluster_sizes
    size_errors = _known(model.size_stderr, sizes)
    rows = [["rows", *(with_error(*size) for size in zip(sizes, size_errors, strict=True))]]
    columns = zip(
        model.coordinate_names,
        model.domain.coordinate_uses,
        centers.T,
        _known(model.center_stderr, centers).T,
        strict=True,
    )
    rows += [
        [name, *(format_coordinate(use, *cell) for cell in zip(values, errors, strict=True))]
        for name, use, values, errors in columns
    ]
    return ["", *cluster_names(len(sizes))], rows


def cluster_names(count: int) -> list[str]:
    """Return what clusters are called at a terminal."""
    return [f"cluster {number}" for number in range(count)]


def _known(errors: FloatArray | None, values: FloatArray) -> FloatArray:
    """Return standard errors; NaN where a model does not know its own."""
    return np.full(values.shape, np.nan) if errors is None else errors
