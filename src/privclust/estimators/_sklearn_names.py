"""What people look for by other names, mostly scikit-learn's, and what there is instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_STARTS = "starts that read rows would each cost budget, and those that are free are made anyway"
_STEPS = "how often rows are read is planned from the budget"
_PARAMETERS = {
    "n_init": f"{_STARTS}. Leave it out",
    "max_iter": f"{_STEPS}. Leave it out",
    "tol": f"{_STEPS}. Leave it out",
    "verbose": "a bar of queries is shown; PRIVCLUST_PROGRESS=off in the environment turns it off",
    "copy_x": "rows are never changed. Leave it out",
    "algorithm": "each algorithm has an estimator of its own. Leave it out",
    "k": "the number of clusters is n_clusters",
    "eps": "the privacy parameter is epsilon",
    "seed": "public choices follow from random_state, and noise from no seed",
}


class Absent:
    """An attribute that people look for and that is not here; `hasattr` is false.

    Parameters
    ----------
    instead : str
        Why it is not here, and what is.

    Examples
    --------
    >>> class Estimator:
    ...     labels_ = Absent("predict(rows) gives labels.")
    >>> hasattr(Estimator(), "labels_")
    False
    """

    def __init__(self, instead: str) -> None:
        self._instead = instead
        self.__doc__ = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: object | None, owner: type) -> Self:
        if estimator is None:
            return self
        raise AttributeError(f"{owner.__name__} has no {self._name}: {self._instead}")


def naming_others(init: Callable[..., None]) -> Callable[..., None]:
    """Return an `__init__` that says of parameters of other names why it does not take them."""
    known = inspect.signature(init).parameters

    @functools.wraps(init)
    def checked(self: object, *args: Any, **given: Any) -> None:
        for name in given:
            if name in _PARAMETERS and name not in known:
                raise TypeError(f"{type(self).__name__} takes no {name}: {_PARAMETERS[name]}.")
        init(self, *args, **given)

    return checked


def refusing_weights(fit: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a `fit` that says of weights of rows why it does not take them; None is none.

    Examples
    --------
    >>> @refusing_weights
    ... def fit(estimator, X):
    ...     return len(X)
    >>> fit("mine", [40, 50], sample_weight=None)
    2
    """

    @functools.wraps(fit)
    def checked(*args: Arguments.args, **given: Arguments.kwargs) -> Result:
        if given.pop("sample_weight", None) is not None:
            raise TypeError(
                f"{fit.__name__} takes no sample_weight: noise is sized for rows that count once, "
                "and a weight would multiply what one of them adds. Leave it out, or None. A "
                "column counts more by its weight in the bounds; a person may count for several "
                "rows by unit and max_rows_per_unit."
            )
        return fit(*args, **given)

    return checked
