"""Model files: JSON that holds what was released, is safe to load and comes back as it was."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from privclust._files import write_text
from privclust._frames import clears_frames
from privclust.domains.base import Domain, domain_from_dict
from privclust.errors import ParameterError
from privclust.kernels.grid import FloatArray
from privclust.models import _json_file
from privclust.models._json_file import array_of, format_name, made_from, read_json, schema_of
from privclust.models._json_schema import fault
from privclust.models._release_file import release_content, release_from, statement_from
from privclust.models.cluster_model import (
    ClusterModel,
    FittedClusters,
    FittedEstimator,
    model_of,
)
from privclust.models.clustering import ADVICE_MAX, Coreset, Precision
from privclust.models.private_run import check_printable
from privclust.models.quality import Quality
from privclust.models.statement import Statement

NOT_SAVED = frozenset({"bounds", "radius", "ledger", "dataset", "period", "server_data", "init"})
"""Parameters that the domain says better, that name places, which do not leave, or that are
tables or models."""
WARNING_MAX = 2 * ADVICE_MAX
"""Characters of an advice, and of what a fit adds to it about columns and unit."""
_ROUNDING = 1e-3
"""Logarithms are read off a ruler one way, and are exact the other."""


@clears_frames
def save(
    model: ClusterModel | FittedEstimator, path: str | Path, *, overwrite: bool = False
) -> None:
    """Write a model to a JSON file (model.schema.json describes it).

    It holds what was released and what is public, and no path, time or place.

    Parameters
    ----------
    model : fitted estimator or ClusterModel
        Of this library, or an estimator of your own.
    path : str or Path
        Where to write.
    overwrite : bool, default=False
        Write over a file that is there and not empty, which may be a model that was paid for.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from privclust import PrivateKMeans, load
    >>> model = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> with tempfile.NamedTemporaryFile(suffix=".json") as file:
    ...     save(model, file.name)
    ...     bool((load(file.name).cluster_centers_ == model.cluster_centers_).all())
    True
    """
    write_text(to_json(model), Path(path), overwrite)


def read_model(path: str | Path) -> ClusterModel:
    """Return the model that a file describes; nothing in it is executed.

    `privclust.load` makes an estimator of it, which can label rows; reports, exports and
    comparisons take the model itself.

    Parameters
    ----------
    path : str or Path
        A file that `save` or ``privclust fit`` wrote, maybe somebody else's.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from privclust import PrivateKMeans
    >>> fitted = PrivateKMeans(2, delta=1e-6, radius=1.0).fit(np.zeros((1000, 2)))
    >>> with tempfile.NamedTemporaryFile(suffix=".json") as file:
    ...     save(fitted, file.name)
    ...     read_model(file.name).estimator
    'PrivateKMeans'
    """
    return read_json(Path(path), "model", _model_from)


def model_from_bytes(content: bytes, name: str) -> ClusterModel:
    """Return the model of a file that came over a network, and is called `name` in messages."""
    return made_from(content, name, "model", _model_from)


def to_json(model: ClusterModel | FittedEstimator) -> str:
    """Return the text of a model file."""
    model = model_of(model)
    names = model.feature_names_in
    content = {
        "format": format_name("model"),
        "estimator": model.estimator,
        "private": model.privacy_statement.private,
        "parameters": _parameters_content(model.parameters),
        "columns": None if names is None else list(names),
        "domain": model.domain.to_dict(),
        "n_rows": model.n_rows,
        "cluster_centers": model.cluster_centers.tolist(),
        "cluster_sizes": model.cluster_sizes.tolist(),
        "center_stderr": _values(model.center_stderr),
        "size_stderr": _values(model.size_stderr),
        "cluster_radii": _values(model.cluster_radii),
        "coreset": _coreset_content(model.coreset),
        "quality": _quality_content(model.quality),
        "fit_warning": model.fit_warning,
        **({} if model.decimal == "." else {"decimal": model.decimal}),
        "refit_from": _fitted_content(model.refit_from),
        "releases": [release_content(release) for release in model.releases],
        "statement": model.privacy_statement.to_dict(),
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def _model_from(content: Mapping[str, Any]) -> ClusterModel:
    domain = domain_from_dict(content["domain"])
    _check_number_of_points(content)
    found = _clusters_from(content, domain)
    k = len(found.centers)
    n_columns, names = _columns(domain, content["columns"])
    coreset = _coreset_from(content["coreset"], domain)
    releases = tuple(release_from(release) for release in content["releases"])
    statement = statement_from(content, "fit", k, n_columns if names is None else names, releases)
    parameters = _parameters_from(content["parameters"])
    _check_budget(parameters, statement)
    return ClusterModel(
        estimator=content["estimator"],
        parameters=parameters,
        domain=domain,
        n_features_in=n_columns,
        feature_names_in=names,
        n_rows=content["n_rows"],
        cluster_centers=found.centers,
        cluster_sizes=found.sizes,
        releases=releases,
        privacy_statement=statement,
        center_stderr=found.center_stderr,
        size_stderr=found.size_stderr,
        cluster_radii=found.radii,
        coreset=coreset,
        quality=found.quality,
        fit_warning=_checked_warning(content["fit_warning"]),
        decimal=content.get("decimal", "."),
        refit_from=_refit_from(content["refit_from"], statement, domain),
    )


def _check_number_of_points(content: Mapping[str, Any]) -> None:
    coreset, fitted = content["coreset"] or {}, content["refit_from"] or {}
    lists = content["cluster_centers"], coreset.get("points"), fitted.get("cluster_centers")
    if max(len(points or ()) for points in lists) > _json_file.POINTS_MAX:
        raise ValueError(f"it has more than {_json_file.POINTS_MAX:,} centres or points")


def _refit_from(
    content: Mapping[str, Any] | None, statement: Statement, domain: Domain
) -> FittedClusters | None:
    if (content is None) is (statement.kind == "refit"):
        raise ValueError("a refit has the clusters of its fit, and nothing else has")
    return None if content is None else _clusters_from(content, domain)


def _clusters_from(content: Mapping[str, Any], domain: Domain) -> FittedClusters:
    """Return centres, and what is known of them."""
    centers = array_of(content["cluster_centers"], (-1, domain.center.size))
    _check_places(domain, centers)
    k = len(centers)
    return FittedClusters(
        centers,
        array_of(content["cluster_sizes"], (k,)),
        _not_negative(content, "center_stderr", centers.shape),
        _not_negative(content, "size_stderr", (k,)),
        _not_negative(content, "cluster_radii", (k,)),
        _quality_from(content["quality"]),
    )


def _check_budget(parameters: Mapping[str, object], statement: Statement) -> None:
    """Refuse parameters by which another fit would guarantee less than this one."""
    given, run = (parameters["epsilon"], parameters["delta"]), statement.run
    if given[0] != run.epsilon or (run.epsilon < math.inf and given[1] != run.delta):
        raise ValueError("its epsilon and delta are not those of its statement")


def _parameters_from(content: Mapping[str, Any]) -> dict[str, object]:
    misplaced = sorted(NOT_SAVED & set(content))
    if misplaced:
        raise ValueError(f"it has the parameter {misplaced[0]}, which is never saved")
    parameters = dict(content)
    if parameters["epsilon"] is None:
        parameters["epsilon"] = math.inf
    return parameters


def _columns(domain: Domain, given: list[str] | None) -> tuple[int, tuple[str, ...] | None]:
    """Return how many columns the table of a model has, and their names if it has any."""
    names = None if given is None else tuple(given)
    if domain.uses and names != tuple(domain.uses):
        raise ValueError("its columns are not those it declares")
    count = domain.n_features
    if names is not None:
        "".join(names).encode("utf-8")  # half a letter is no text
        if not len(names) == len(set(names)) == count:
            raise ValueError("its columns have no names of their own, or are not those it bounds")
    return count, names


def _check_places(domain: Domain, points: FloatArray) -> None:
    """Refuse points that no fit could have released: from beyond the bounds none comes back."""
    within = domain.to_units(domain.to_ball(points))
    if not np.allclose(
        within, points, rtol=_ROUNDING, atol=_ROUNDING * float(domain.half_widths.max())
    ):
        raise ValueError("it has a centre or a point beyond its own bounds")


def _not_negative(
    content: Mapping[str, Any], name: str, shape: tuple[int, ...]
) -> FloatArray | None:
    if content[name] is None:
        return None
    found = array_of(content[name], shape)
    if (found < 0).any():
        raise ValueError(f"{name} has a negative number, which no error or radius is")
    return found


def _coreset_content(coreset: Coreset | None) -> dict[str, Any] | None:
    if coreset is None:
        return None
    precision = coreset.precision
    parts = {
        "points": coreset.points,
        "weights": coreset.weights,
        "center_stderr": precision.center_stderr,
        "size_stderr": precision.size_stderr,
        "radii": precision.radii,
    }
    return {name: part.tolist() for name, part in parts.items()}


def _fitted_content(fitted: FittedClusters | None) -> dict[str, Any] | None:
    if fitted is None:
        return None
    return {
        "cluster_centers": fitted.centers.tolist(),
        "cluster_sizes": fitted.sizes.tolist(),
        "center_stderr": _values(fitted.center_stderr),
        "size_stderr": _values(fitted.size_stderr),
        "cluster_radii": _values(fitted.radii),
        "quality": _quality_content(fitted.quality),
    }


def _coreset_from(content: Mapping[str, Any] | None, domain: Domain) -> Coreset | None:
    if content is None:
        return None
    points = array_of(content["points"], (-1, domain.center.size))
    _check_places(domain, points)
    rest = {
        name: array_of(value, (len(points),)) for name, value in content.items() if name != "points"
    }
    return Coreset(points, rest.pop("weights"), Precision(**rest))


def _quality_content(quality: Quality | None) -> dict[str, Any] | None:
    return None if quality is None else asdict(quality)


def _quality_from(content: Mapping[str, Any] | None) -> Quality | None:
    return None if content is None else Quality(**content)


def _checked_warning(warning: str | None) -> str | None:
    """Return what the fit warned of; refuse what no fit says."""
    if warning is not None and len(warning) > WARNING_MAX:
        raise ValueError(f"fit_warning has more than {WARNING_MAX:,} characters")
    check_printable(warning or "")
    return warning


def _values(array: FloatArray | None) -> Any:
    return None if array is None else array.tolist()


def _parameters_content(parameters: Mapping[str, object]) -> dict[str, Any]:
    """Return parameters as JSON has them; refuse to write what could not be loaded again."""
    content = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in parameters.items()
    }
    if content["epsilon"] == math.inf:
        content["epsilon"] = None
    wrong = fault(content, schema_of("model")["properties"]["parameters"], "parameters")
    if wrong is not None:
        raise ParameterError(
            f"the model has a parameter that no model file can hold: {wrong}. Files hold finite "
            "numbers, texts, True, False and None. Leave other values out of the model's "
            "parameters."
        )
    return content
