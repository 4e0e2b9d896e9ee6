"""What parameters beside the common ones hold: values that a statement and a ledger can name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields

import numpy as np

from privclust.errors import ParameterError, safe_repr
from privclust.estimators._common_parameters import Parameters, held_model
from privclust.models.cluster_model import ClusterModel

_COMMON = frozenset(parameter.name for parameter in fields(Parameters))
"""Parameters that hold no points; bounds may be an array."""
_NUMBERS = (int, float, np.integer, np.floating)
_PLAIN = (type(None), str, np.bool_, *_NUMBERS)


def own_parameters(given: Mapping[str, object]) -> dict[str, object]:
    """Return those parameters that not every estimator has."""
    return {name: value for name, value in given.items() if name not in _COMMON}


def check_own_parameters(estimator: Parameters) -> None:
    """Refuse values in which models, points or differences could not be seen."""
    # Estimators of the library check theirs, each with its own words.
    if type(estimator).__module__.startswith("privclust."):
        return
    for name, value in own_parameters(estimator.get_params(deep=False)).items():
        for part in parts_of(value):
            if not _can_be_named(part):
                what = safe_repr(part)
                if isinstance(part, np.ndarray):
                    what = f"an array of {part.dtype.name}"
                raise ParameterError(
                    f"{name} {'is' if part is value else 'holds'} {what}: no statement could say "
                    "what that depends on, and no resumed fit compare it. Parameters of an "
                    "estimator of your own may be None, text, truth values, numbers, NumPy arrays "
                    "of numbers, fitted models of privclust, and tuples or lists of these. Convert "
                    "it, for instance with numpy.asarray(value, dtype=float), or declare a "
                    "parameter for each part. Models that clone() copied are no longer fitted."
                )


def parts_of(value: object) -> Iterator[object]:
    """Return a value, or what the tuples and lists that it is made of hold."""
    if isinstance(value, tuple | list) and held_model(value) is None:
        for item in value:
            yield from parts_of(item)
    else:
        yield value


def models_in(value: object) -> list[ClusterModel]:
    """Return the models that a value is, or holds."""
    return [model for model in map(held_model, parts_of(value)) if model is not None]


def n_points_in(value: object) -> int:
    """Return how many points a value holds: rows of arrays, and lists of numbers read as arrays.

    Examples
    --------
    >>> n_points_in(np.zeros((3, 2))), n_points_in([[0.0, 0.5], [0.5, 0.0]]), n_points_in([0.2])
    (3, 2, 1)
    """
    if isinstance(value, np.ndarray):
        return len(value) if value.ndim else 1
    if not isinstance(value, tuple | list):
        return 0
    return sum(1 if _is_number(item) or _is_point(item) else n_points_in(item) for item in value)


def _is_point(value: object) -> bool:
    return isinstance(value, tuple | list) and len(value) > 0 and all(map(_is_number, value))


def _is_number(value: object) -> bool:
    return isinstance(value, _NUMBERS) and not isinstance(value, bool)


def _can_be_named(part: object) -> bool:
    if isinstance(part, np.ndarray):
        return part.dtype.kind in "biuf"
    return isinstance(part, _PLAIN) or held_model(part) is not None
