"""Clusters of a model: as a table at a terminal, and as JSON."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np

from privclust.cli.messages import INDENT
from privclust.errors import safe_repr
from privclust.kernels.grid import FloatArray
from privclust.models._border_note import border_note
from privclust.models._coordinates import format_coordinate
from privclust.models._fit_notes import columns_of
from privclust.models._missing_cells import missing_note
from privclust.models._notebook import OF_REFIT
from privclust.models.cluster_model import ClusterModel
from privclust.models.formatting import cluster_names, with_error
from privclust.models.model_file import to_json
from privclust.models.statement import Statement
from privclust.models.verdict import verdict

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


def quality_sentences(model: ClusterModel, file: Path) -> list[str]:
    """Return how good clusters are, a verdict first; of a refit, where to see what it is like."""
    borders = border_note(model)
    bounded = columns_of(model)
    gaps = [missing_note(bounded)] if bounded else []
    sentences = [*([borders] if borders else []), *model.quality_sentences, *gaps]
    if model.refit_from is None:
        return [verdict(model), *sentences]
    fitted, path = len(model.refit_from.centers), shlex.join(["privclust", "k-path", str(file)])
    return [
        f"{verdict(model)} The fit measured that of its own {fitted} cluster(s). {OF_REFIT} What "
        f"each number of clusters is like:\n{INDENT}{path}",
        *sentences,
    ]


def protected_unit(statement: Statement) -> str:
    """Return who is protected, in words."""
    if statement.counted_as is None:
        return (
            "The protected unit is one row. If a person may have several, fit with --unit COLUMN, "
            "which protects all rows of one together."
        )
    more = ""
    if statement.run.unit.rows == 1:
        more = " More of them count with --max-rows-per-unit, and noise grows with it."
    return (
        f"The protected unit is all rows of one {safe_repr(statement.unit)}. "
        f"{statement.counted_as}{more}"
    )


def _known(errors: FloatArray | None, values: FloatArray) -> FloatArray:
    """Return standard errors; NaN where a model does not know its own."""
    return np.full(values.shape, np.nan) if errors is None else errors
