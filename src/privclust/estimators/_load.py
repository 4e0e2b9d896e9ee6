"""Fitted estimators from model files."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from privclust import estimators as library
from privclust.errors import ModelFileError, ParameterError, safe_repr
from privclust.estimators.base import PrivateClusterer
from privclust.models.cluster_model import ClusterModel
from privclust.models.model_file import NOT_SAVED, read_model

GROUP = "privclust.estimators"
"""Entry points of this group name the estimators that other packages bring."""


def load(path: str | Path, *, estimators: Iterable[type[PrivateClusterer]] = ()) -> Any:
    """Return the fitted estimator that a model file describes; nothing in it is executed.

    `save` shows both.

    Parameters
    ----------
    path : str or Path
        A file that `save` or ``privclust fit`` wrote, maybe somebody else's.
    estimators : iterable of classes, optional
        Estimators of your own that the file may be of: subclasses of `PrivateClusterer`. Those that
        an installed package registers as entry points of the group "privclust.estimators" are known
        without.
    """
    model = read_model(path)
    kind = _class_of(model, tuple(estimators), Path(path).name)
    unknown = set(model.parameters) - (set(inspect.signature(kind).parameters) - NOT_SAVED)
    if unknown:
        raise ModelFileError(
            f"the file {Path(path).name!r} has the parameter {safe_repr(min(unknown))}, which "
            f"{model.estimator} does not take. Load it with the estimator that wrote it."
        )
    return kind.from_model(model)


def _class_of(
    model: ClusterModel, given: tuple[type[PrivateClusterer], ...], file: str
) -> type[PrivateClusterer]:
    """Return the class of a model's estimator, which somebody must have named beside the file."""
    wrong: list[object] = [kind for kind in given if not _is_estimator(kind)]
    if wrong:
        got = (kind.__name__ if isinstance(kind, type) else safe_repr(kind) for kind in wrong)
        raise ParameterError(
            "estimators must be classes, subclasses of PrivateClusterer, such as "
            f"estimators=[MyKMeans]; got {', '.join(got)}."
        )
    for kind in given:
        if kind.__name__ == model.estimator:
            return kind
    if model.estimator in library.__all__:
        ours: type[PrivateClusterer] = getattr(library, model.estimator)
        return ours
    for entry_point in entry_points(group=GROUP, name=model.estimator):
        registered: type[PrivateClusterer] = entry_point.load()
        if not _is_estimator(registered):
            raise ModelFileError(
                f"the file {file!r} is a model of {safe_repr(model.estimator)}, and the entry "
                f"point of that name, {entry_point.value!r}, is no subclass of PrivateClusterer. "
                "Correct the package that registers it, or give the class: load(path, "
                "estimators=[MyKMeans])."
            )
        return registered
    raise ModelFileError(
        f"the file {file!r} is a model of the estimator {safe_repr(model.estimator)}, which is not "
        "one of privclust. If it is yours, give its class: load(path, estimators=[MyKMeans]). If "
        f"it is from a package, install that; it registers it in the entry-point group {GROUP!r}."
    )


def _is_estimator(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, PrivateClusterer)
